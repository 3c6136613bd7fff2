//! The longest context that fits is the last that does, whatever context is planned.

use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::{self, Memo};
use plimsoll::hardware::Machine;
use plimsoll::model::Model;
use plimsoll::plan::{FitOptions, LaunchOptions, Settings, Value};
use plimsoll::report::{Report, Request, Verdict, report, with_users};
use plimsoll::units::Bytes;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert_eq};
use proptest::{collection, option, proptest, sample};

use crate::modelled::machine;

/// Dense, windows, latent, experts with windows, recurrent.
const MODELS: [&str; 6] = [
    "Qwen2.5-0.5B-Instruct",
    "gemma-3-1b-it",
    "DeepSeek-V2-Lite",
    "gpt-oss-20b",
    "Qwen3.5-27B",
    "DeepSeek-R1-Distill-Qwen-32B",
];

fn model(id: &str) -> Model {
    let preset = ModelCatalog::embedded().find(id).unwrap();
    preset.model(&serde_json::Map::default()).unwrap()
}

fn cards(gib: &[u64], ram: u64) -> Machine {
    let sizes: Vec<Bytes> = gib.iter().map(|gib| Bytes::from_gib(*gib)).collect();
    let mut machine = machine(&sizes, (8, 9));
    machine.host.ram = Bytes::from_gib(ram);
    machine
}

fn with_context(settings: &Settings, tokens: u64) -> Settings {
    let mut settings = settings.clone();
    let tokens = Value::Integer(i64::try_from(tokens).unwrap());
    settings.insert("ctx_size".to_owned(), tokens);
    settings
}

fn project(model: &Model, machine: &Machine, settings: &Settings, memo: &Memo) -> Report {
    asked(model, machine, settings, |request| {
        report(request, memo).unwrap()
    })
}

fn asked<T>(
    model: &Model,
    machine: &Machine,
    settings: &Settings,
    ask: impl Fn(&Request<'_>) -> T,
) -> T {
    ask(&Request {
        engine: engine::find("llama.cpp").unwrap(),
        model,
        draft: None,
        beside: &[],
        machine,
        settings,
        fit: &FitOptions::default(),
        launch: &LaunchOptions::default(),
    })
}

/// What is wrong with the most users that a report of a plan counts.
fn miscounted(model: &Model, machine: &Machine, settings: &Settings) -> Result<(), String> {
    let memo = Memo::default();
    let report = asked(model, machine, settings, |request| {
        with_users(request, &memo).unwrap()
    });
    let derived = &report.derived;
    let automatic = settings
        .get("n_gpu_layers")
        .is_none_or(|layers| *layers == text("auto"))
        && !machine.gpus.is_empty();
    let Some(each) = derived.max_batch_tokens_each else {
        return Ok(());
    };
    let served = |users: u64, on_gpus: bool| {
        let mut settings = with_context(settings, users * each);
        let users = Value::Integer(i64::try_from(users).unwrap());
        settings.insert("parallel".to_owned(), users);
        if on_gpus {
            settings.insert("n_gpu_layers".to_owned(), text("all"));
        }
        let report = project(model, machine, &settings, &memo);
        (good(&report, automatic && !on_gpus), report.sentence())
    };
    for (most, on_gpus) in [
        (derived.max_batch, false),
        (derived.max_batch_on_gpus, true),
    ] {
        let Some(most) = most else { continue };
        let kind = if on_gpus { "on GPUs" } else { "in all" };
        if let (false, sentence) = served(most, on_gpus) {
            return Err(format!("{most} of {each} {kind}, but {sentence}"));
        }
        if let (true, sentence) = served(most + 1, on_gpus)
            && most < 256
        {
            return Err(format!("{most} of {each} {kind}, and one more: {sentence}"));
        }
    }
    Ok(())
}

/// A plan is good where it fits; where the engine chooses layers, where it does not exceed, because the engine fills
/// the margin up to what it does not count itself.
fn good(report: &Report, automatic: bool) -> bool {
    match report.verdict {
        Verdict::Fits => true,
        Verdict::Tight => automatic,
        Verdict::Exceeds | Verdict::Refused => false,
    }
}

/// What is wrong with the longest context that reports of a plan at these contexts name.
fn wrong(
    model: &Model,
    machine: &Machine,
    settings: &Settings,
    contexts: &[u64],
) -> Result<(), String> {
    let automatic = settings
        .get("n_gpu_layers")
        .is_none_or(|layers| *layers == text("auto"))
        && !machine.gpus.is_empty();
    let slots = match settings.get("parallel") {
        Some(Value::Integer(slots)) => u64::try_from(*slots).unwrap(),
        _ => 1,
    };
    let mut longest = None;
    for context in contexts {
        // Not even the order of questions may matter.
        let memo = Memo::default();
        let planned = project(model, machine, &with_context(settings, *context), &memo);
        let answer = planned.derived.max_context_tokens;
        if *longest.get_or_insert(answer) != answer {
            return Err(format!(
                "{longest:?}, but {answer:?} when {context} is planned"
            ));
        }
    }
    let Some(Some(longest)) = longest else {
        let least = project(
            model,
            machine,
            &with_context(settings, 256 * slots),
            &Memo::default(),
        );
        if good(&least, automatic) {
            return Err("none, but the least one fits".to_owned());
        }
        return Ok(());
    };
    let memo = Memo::default();
    let at = project(model, machine, &with_context(settings, longest), &memo);
    if !good(&at, automatic) {
        return Err(format!("{longest} does not fit: {}", at.sentence()));
    }
    let next = longest + 256 * slots;
    let after = project(model, machine, &with_context(settings, next), &memo);
    if next <= model.max_position_embeddings * slots && good(&after, automatic) {
        return Err(format!("{longest}, but {next} fits: {}", after.sentence()));
    }
    Ok(())
}

fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

fn any_settings() -> impl Strategy<Value = Settings> {
    let layers = sample::select(vec![
        None,
        Some(text("auto")),
        Some(text("all")),
        Some(Value::Integer(0)),
        Some(Value::Integer(9)),
    ]);
    let slots = sample::select(vec![1_i64, 2, 5]);
    let cache = sample::select(vec!["f16", "q8_0", "q4_0"]);
    let micro_batch = option::of(sample::select(vec![64_i64, 2048]));
    (layers, slots, cache, micro_batch, any::<bool>()).prop_map(
        |(layers, slots, cache, micro_batch, experts)| {
            let mut settings = Settings::from([
                ("parallel".to_owned(), Value::Integer(slots)),
                ("kv_unified".to_owned(), Value::Bool(false)),
                ("cache_type_k".to_owned(), text(cache)),
                ("cache_type_v".to_owned(), text(cache)),
            ]);
            settings.extend(layers.map(|layers| ("n_gpu_layers".to_owned(), layers)));
            settings.extend(
                micro_batch.map(|tokens| ("ubatch_size".to_owned(), Value::Integer(tokens))),
            );
            // Overrides keep the engine from moving layers; with them layers are said.
            if experts && settings.contains_key("n_gpu_layers") {
                settings.insert("n_gpu_layers".to_owned(), text("all"));
                settings.insert("cpu_moe".to_owned(), Value::Bool(true));
            }
            settings
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_longest_context_is_the_last_that_fits(
        id in sample::select(MODELS.to_vec()),
        gib in collection::vec(sample::select(vec![4, 8, 12, 24]), 0..4),
        ram in sample::select(vec![8, 16, 64, 256]),
        settings in any_settings(),
        context in 256_u64..200_000,
    ) {
        let (model, machine) = (model(id), cards(&gib, ram));
        let answer = wrong(&model, &machine, &settings, &[8192, context]);
        prop_assert_eq!(answer, Ok(()), "{} on {:?} with {} GiB: {:?}", id, gib, ram, settings);
    }
}

#[test]
fn where_the_engine_chooses_layers_it_does_so_for_every_context() {
    let weights = ("weights".to_owned(), text("Q4_K_M"));
    let one = ("parallel".to_owned(), Value::Integer(1));
    let settings = Settings::from([weights, one]);
    let contexts = [4096, 16_384, 32_768, 131_072];
    let machine = cards(&[24], 64);
    let model = model("DeepSeek-R1-Distill-Qwen-32B");
    assert_eq!(wrong(&model, &machine, &settings, &contexts), Ok(()));
    // What does not fit on the card goes to main memory.
    let report = project(
        &model,
        &machine,
        &with_context(&settings, 16_384),
        &Memo::default(),
    );
    assert_eq!(report.derived.max_context_tokens, Some(131_072));
    let machine = cards(&[24], 16);
    assert_eq!(wrong(&model, &machine, &settings, &contexts), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn as_many_users_are_counted_as_then_fit(
        id in sample::select(MODELS.to_vec()),
        gib in collection::vec(sample::select(vec![8, 12, 24]), 0..3),
        ram in sample::select(vec![8, 16, 64]),
        settings in any_settings(),
        slots_are_open in any::<bool>(),
        context in 256_u64..40_000,
    ) {
        let (model, machine) = (model(id), cards(&gib, ram));
        let mut settings = with_context(&settings, context);
        if slots_are_open {
            settings.shift_remove("parallel");
            settings.shift_remove("kv_unified");
        }
        let answer = miscounted(&model, &machine, &settings);
        prop_assert_eq!(answer, Ok(()), "{} on {:?} with {} GiB: {:?}", id, gib, ram, settings);
    }
}

#[test]
fn users_are_counted_with_as_many_tokens_as_each_has() {
    let (model, machine) = (model("Qwen3-8B"), cards(&[24], 32));
    let count = |lines: &[(&str, i64)]| {
        let settings: Settings = lines
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Value::Integer(*value)))
            .collect();
        assert_eq!(miscounted(&model, &machine, &settings), Ok(()));
        let memo = Memo::default();
        let report = asked(&model, &machine, &settings, |request| {
            with_users(request, &memo).unwrap()
        });
        let derived = report.derived;
        (
            derived.max_batch_on_gpus.unwrap(),
            derived.max_batch_tokens_each.unwrap(),
        )
    };
    // Slots left to the engine share one cache: each may hold all of it.
    let (open, each) = count(&[("ctx_size", 8192)]);
    assert_eq!(each, 8192);
    let (split, each) = count(&[("ctx_size", 8192), ("parallel", 4)]);
    assert_eq!(each, 2048);
    assert!(split > 3 * open, "{split} and {open}");
    let (same, each) = count(&[("ctx_size", 32_768), ("parallel", 4)]);
    assert_eq!((same, each), (open, 8192));
}

#[test]
fn the_longest_context_on_gpus_is_that_of_all_layers_there() {
    let model = model("DeepSeek-R1-Distill-Qwen-32B");
    let machine = cards(&[24], 64);
    let weights = ("weights".to_owned(), text("Q4_K_M"));
    let one = ("parallel".to_owned(), Value::Integer(1));
    let open = Settings::from([weights, one]);
    let mut whole = open.clone();
    whole.insert("n_gpu_layers".to_owned(), text("all"));
    let memo = Memo::default();
    let open = project(&model, &machine, &with_context(&open, 16_384), &memo);
    let whole = project(&model, &machine, &with_context(&whole, 16_384), &memo);
    assert_eq!(open.derived.max_context_tokens, Some(131_072));
    assert_eq!(open.context_on_gpus(), whole.derived.max_context_tokens);
    assert!(open.context_on_gpus().is_some());
    assert_eq!(whole.derived.max_context_tokens_on_gpus, None);
    assert_eq!(whole.derived.max_context_tokens_per_second, None);
}
