//! What must hold of any plan for llama.cpp, whatever its settings.

use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::Margin;
use plimsoll::engine::llamacpp::LlamaCpp;
use plimsoll::engine::setting::Kind;
use plimsoll::engine::{Engine as _, Inputs, Memo, Outcome};
use plimsoll::hardware::{Machine, Os, Vendor};
use plimsoll::model::Model;
use plimsoll::plan::{Settings, Value};
use plimsoll::projection::{Category, DeviceTerms, Moment};
use plimsoll::units::Bytes;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq};
use proptest::{collection, proptest, sample};

use crate::modelled::machine;

/// One of each kind: dense, windows, latent with dense lead, experts with windows, recurrent, two mixers at once.
const MODELS: [&str; 6] = [
    "Qwen2.5-0.5B-Instruct",
    "gemma-3-1b-it",
    "DeepSeek-V2-Lite",
    "gpt-oss-20b",
    "Qwen3.5-27B",
    "Falcon-H1-0.5B-Instruct",
];

fn model(id: &str) -> Model {
    let catalog = ModelCatalog::embedded();
    let preset = catalog.find(id).unwrap();
    preset.model(&serde_json::Map::default()).unwrap()
}

fn cards(number: usize, gib: u64) -> Machine {
    machine(&vec![Bytes::from_gib(gib); number], (8, 9))
}

fn project(model: &Model, machine: &Machine, settings: &Settings, memo: &Memo) -> Outcome {
    LlamaCpp.project(&Inputs {
        model,
        draft: None,
        machine,
        settings,
        margin: Margin::DEFAULT,
        memo,
    })
}

/// As many slots as fit with everything on the card and so much context each.
fn most_users(model: &Model, machine: &Machine, context: i64, memo: &Memo) -> Option<u64> {
    let settings = settings([
        ("ctx_size", Value::Integer(context)),
        ("parallel", Value::Integer(1)),
        ("n_gpu_layers", text("all")),
    ]);
    LlamaCpp
        .most_users(&Inputs {
            model,
            draft: None,
            machine,
            settings: &settings,
            margin: Margin::DEFAULT,
            memo,
        })
        .map(|users| users.most)
}

fn settings<const N: usize>(pairs: [(&str, Value); N]) -> Settings {
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

fn run(outcome: &Outcome) -> Option<&Moment> {
    outcome.projection.peak_moment()
}

fn total(outcome: &Outcome) -> u64 {
    let devices = run(outcome).map(|moment| moment.devices.as_slice());
    let devices = devices.unwrap_or_default().iter();
    devices.map(|device| device.total().get()).sum()
}

fn of(outcome: &Outcome, categories: &[Category]) -> u64 {
    let devices = run(outcome).map(|moment| moment.devices.as_slice());
    devices
        .unwrap_or_default()
        .iter()
        .flat_map(|device| &device.terms)
        .filter(|term| categories.contains(&term.category))
        .map(|term| term.bytes.get())
        .sum()
}

/// Values of the right kind, sensible and absurd.
fn value(kind: &Kind) -> proptest::strategy::BoxedStrategy<Value> {
    match kind {
        Kind::Toggle => any::<bool>().prop_map(Value::Bool).boxed(),
        Kind::Integer { words, .. } => {
            let words: Vec<Value> = words.iter().map(|word| text(word)).collect();
            let odd = [0, 1, -1, 7, 512, 4096, 99_999, 1 << 40, i64::MAX, i64::MIN];
            let numbers: Vec<Value> = odd.into_iter().map(Value::Integer).collect();
            sample::select([words, numbers].concat()).boxed()
        }
        Kind::Choice { .. } => sample::select(vec![
            "auto",
            "on",
            "off",
            "none",
            "layer",
            "row",
            "tensor",
            "f16",
            "q8_0",
            "q4_0",
            "iq4_nl",
            "f32",
            "Q4_K_M",
            "Q8_0",
            "IQ1_S",
            "MXFP4_MOE",
            "TQ1_0",
            "nonsense",
            "",
        ])
        .prop_map(text)
        .boxed(),
        Kind::Proportions => collection::vec(
            sample::select(vec![0.0, 1.0, 3.5, 1e300, f64::MIN_POSITIVE]),
            0..5,
        )
        .prop_map(|shares| Value::List(shares.into_iter().map(Value::Number).collect()))
        .boxed(),
        Kind::Lines { .. } => sample::select(vec![
            vec![],
            vec![text(r"\.ffn_(up|down)_exps\.=CPU")],
            vec![text("("), text("=")],
            vec![text("no equals sign")],
            vec![text(".*=CUDA7")],
        ])
        .prop_map(Value::List)
        .boxed(),
        Kind::Text { .. } => sample::select(vec!["2026-05", "b8000", "0.6.0", "", "later"])
            .prop_map(text)
            .boxed(),
    }
}

/// A handful of settings with any values.
fn any_settings() -> impl Strategy<Value = Settings> {
    let pairs: Vec<_> = LlamaCpp
        .settings()
        .iter()
        .map(|setting| (Just(setting.name.to_owned()), value(&setting.kind)))
        .collect();
    let pair = sample::select((0..pairs.len()).collect::<Vec<_>>())
        .prop_flat_map(move |index| pairs[index].clone());
    collection::vec(pair, 0..8).prop_map(|pairs| pairs.into_iter().collect())
}

fn any_machine() -> impl Strategy<Value = Machine> {
    let sizes = sample::select(vec![0, 1, 8, 24, 141]);
    (collection::vec(sizes, 0..11), any::<bool>(), any::<bool>()).prop_map(
        |(sizes, mixed, windows)| {
            let sizes: Vec<Bytes> = sizes.into_iter().map(Bytes::from_gib).collect();
            let mut machine = machine(&sizes, (8, 9));
            if mixed {
                let vendors = [Vendor::Nvidia, Vendor::Amd, Vendor::Intel, Vendor::Other];
                for (gpu, vendor) in machine.gpus.iter_mut().zip(vendors.into_iter().cycle()) {
                    gpu.vendor = vendor;
                    gpu.unified = vendor == Vendor::Intel;
                }
            }
            if windows {
                machine.os = Os::Windows;
            }
            machine.host.ram = Bytes::from_gib(64);
            machine
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_makes_it_panic(
        id in sample::select(MODELS.to_vec()),
        settings in any_settings(),
        machine in any_machine(),
    ) {
        let model = model(id);
        let outcome = project(&model, &machine, &settings, &Memo::default());
        for moment in &outcome.projection.moments {
            prop_assert_eq!(moment.devices.len(), machine.gpus.len() + 1);
            for device in &moment.devices {
                for term in &device.terms {
                    let (low, high) = term.range;
                    prop_assert!(low <= term.bytes && term.bytes <= high);
                    let text = term.why.text();
                    prop_assert!(!text.contains('{'), "{}", text);
                }
            }
        }
        let has_error = outcome
            .notes
            .iter()
            .any(|note| note.severity == plimsoll::projection::Severity::Error);
        prop_assert_eq!(outcome.refused, has_error);
        for setting in LlamaCpp.settings() {
            prop_assert!(outcome.resolved.contains_key(setting.name));
        }
    }

    #[test]
    fn more_context_never_needs_less(
        id in sample::select(MODELS.to_vec()),
        steps in 1_i64..400,
        more in 1_i64..200,
        slots in sample::select(vec![1_i64, 3, 4]),
        gpus in 0_usize..4,
    ) {
        let (model, machine, memo) = (model(id), cards(gpus, 80), Memo::default());
        let with = |tokens: i64| {
            let settings = settings([
                ("ctx_size", Value::Integer(tokens)),
                ("parallel", Value::Integer(slots)),
                ("n_gpu_layers", text("all")),
            ]);
            project(&model, &machine, &settings, &memo)
        };
        let (short, long) = (with(256 * steps), with(256 * (steps + more)));
        prop_assert!(total(&long) >= total(&short));
        let caches = [Category::KvCache];
        prop_assert!(of(&long, &caches) >= of(&short, &caches));
    }

    #[test]
    fn larger_micro_batches_never_need_less(
        id in sample::select(MODELS.to_vec()),
        tokens in 1_i64..1024,
        more in 1_i64..1024,
    ) {
        let (model, machine, memo) = (model(id), cards(1, 80), Memo::default());
        let with = |tokens: i64| {
            let settings = settings([
                ("ctx_size", Value::Integer(8192)),
                ("parallel", Value::Integer(1)),
                ("ubatch_size", Value::Integer(tokens)),
                ("n_gpu_layers", text("all")),
            ]);
            project(&model, &machine, &settings, &memo)
        };
        prop_assert!(total(&with(tokens + more)) >= total(&with(tokens)));
    }

    #[test]
    fn splitting_conserves_weights_and_caches(
        id in sample::select(MODELS.to_vec()),
        shares in collection::vec(1_i64..9, 2..5),
    ) {
        let (model, memo) = (model(id), Memo::default());
        let base = [
            ("ctx_size", Value::Integer(8192)),
            ("parallel", Value::Integer(1)),
            ("n_gpu_layers", text("all")),
        ];
        let whole = project(&model, &cards(1, 80), &settings(base.clone()), &memo);
        let mut split = settings(base);
        let gpus = shares.len();
        split.insert(
            "tensor_split".to_owned(),
            Value::List(shares.into_iter().map(Value::Integer).collect()),
        );
        let split = project(&model, &cards(gpus, 80), &split, &memo);
        let caches = [Category::KvCache, Category::RecurrentState];
        prop_assert_eq!(of(&whole, &caches), of(&split, &caches));
        // Tables of rotary factors are repeated per GPU; nothing else is.
        let weights = [Category::Weights];
        let (whole, split) = (of(&whole, &weights), of(&split, &weights));
        prop_assert!(split >= whole && split - whole < 1 << 16, "{} {}", whole, split);
    }
}

#[test]
fn limits_are_the_last_that_fit() {
    let memo = Memo::default();
    for (id, gib) in [
        ("Qwen2.5-0.5B-Instruct", 3),
        ("gemma-3-1b-it", 4),
        ("gpt-oss-20b", 16),
    ] {
        let (model, machine) = (model(id), cards(1, gib));
        let with = |tokens: u64, slots: u64| {
            let number = |number: u64| Value::Integer(i64::try_from(number).unwrap());
            let settings = settings([
                ("ctx_size", number(tokens)),
                ("parallel", number(slots)),
                ("n_gpu_layers", text("all")),
            ]);
            project(&model, &machine, &settings, &memo)
        };
        let fits = |outcome: &Outcome| {
            let gpu = buffers(&run(outcome).unwrap().devices[0]);
            gpu + Bytes::from_mib(1024) <= Bytes::from_gib(gib)
        };
        let planned = with(2048, 1);
        let longest = planned.derived.max_context_tokens.unwrap();
        assert!(fits(&with(longest, 1)), "{id} with {longest} tokens");
        assert!(
            longest >= model.max_position_embeddings || !fits(&with(longest + 256, 1)),
            "{id} with more than {longest} tokens"
        );
        let slots = most_users(&model, &machine, 2048, &memo).unwrap();
        assert!(fits(&with(2048 * slots, slots)), "{id} with {slots} slots");
        for more in slots + 1..=(slots + 20).min(256) {
            let outcome = with(2048 * more, more);
            assert!(!fits(&outcome), "{id} with {more} slots, not {slots}");
        }
    }
}

#[test]
fn new_plans_fit_where_anything_does() {
    let memo = Memo::default();
    for (id, gpus, gib) in [
        ("Qwen2.5-0.5B-Instruct", 1, 8),
        ("DeepSeek-R1-Distill-Qwen-32B", 1, 24),
        ("DeepSeek-R1-Distill-Llama-70B", 2, 24),
        ("Qwen3-30B-A3B", 1, 12),
        ("gpt-oss-120b", 1, 24),
        ("gemma-3-1b-it", 0, 0),
    ] {
        let (model, machine) = (model(id), cards(gpus, gib));
        let inputs = Inputs {
            model: &model,
            draft: None,
            machine: &machine,
            settings: &Settings::new(),
            margin: Margin::DEFAULT,
            memo: &memo,
        };
        let start = LlamaCpp.starting_settings(&inputs);
        let Some(Value::Integer(context)) = start.get("ctx_size") else {
            panic!("a plan starts with a context");
        };
        assert!((8192..=16_384).contains(context), "{id}: {context}");
        let outcome = project(&model, &machine, &start, &memo);
        assert!(!outcome.refused, "{id}: {:?}", outcome.notes);
        for device in run(&outcome).unwrap().devices.iter().take(gpus) {
            let most = Bytes::from_gib(gib).saturating_sub(Bytes::from_mib(1024));
            let buffers = buffers(device);
            assert!(buffers <= most, "{id}: {buffers} of {most}; {start:?}");
        }
    }
}

/// What the engine's own buffers take of a device: what drivers take beside them comes out of the margin.
fn buffers(device: &DeviceTerms) -> Bytes {
    let terms = device.terms.iter();
    let own = terms.filter(|term| term.category != Category::Overhead);
    own.map(|term| term.bytes).sum()
}

#[test]
fn a_fit_that_gives_up_does_not_deny_what_it_did() {
    let (model, machine) = (model("Qwen2.5-0.5B-Instruct"), {
        let mut machine = cards(1, 4);
        // Next to nothing is free, as beside another plan.
        if let Some(gpu) = machine.gpus.first_mut() {
            gpu.memory.in_use = gpu.memory.usable.saturating_sub(Bytes::from_mib(600));
        }
        machine
    });
    let settings = settings([("n_gpu_layers", text("all"))]);
    let outcome = LlamaCpp.project(&Inputs {
        model: &model,
        draft: None,
        machine: &machine,
        settings: &settings,
        margin: Margin::DEFAULT,
        memo: &Memo::default(),
    });
    let said = |code: &str| outcome.notes.iter().find(|note| note.code == code);
    assert!(said("context-fitted").is_some());
    let message = &said("fit-gives-up").unwrap().message;
    assert!(message.contains("even with the context"), "{message}");
}
