//! Where Ollama does otherwise than its settings say, and that what is said about it holds.

use plimsoll::engine::ollama::Ollama;
use plimsoll::engine::setting::{Kind, Scope};
use plimsoll::engine::{Engine as _, Inputs, Margin, Memo};
use plimsoll::hardware::{Machine, Os};
use plimsoll::plan::{Settings, Value};
use plimsoll::report::Verdict;

use super::{Vendor, cards, model, most_users, note, number, number_of, ollama, report, settings};

#[test]
fn some_architectures_serve_one_request_at_a_time() {
    let machine = cards(&[24, 24], 64);
    let outcome = ollama(
        &model("Qwen3.5-27B"),
        &machine,
        "num_ctx = 4096\nnum_parallel = 4",
    );
    assert_eq!(number(&outcome, "num_parallel"), 1);
    assert!(note(&outcome.notes, "one-request-at-a-time").is_some());
    let users = most_users(
        &model("Qwen3.5-27B"),
        &machine,
        "num_ctx = 4096\nnum_parallel = 4",
    );
    assert_eq!(users, Some(1));
    let outcome = ollama(
        &model("Qwen3-8B"),
        &machine,
        "num_ctx = 4096\nnum_parallel = 4",
    );
    assert_eq!(number(&outcome, "num_parallel"), 4);
    assert!(note(&outcome.notes, "one-request-at-a-time").is_none());
}

#[test]
fn a_context_is_cut_to_the_trained_one() {
    let machine = cards(&[24], 64);
    let outcome = ollama(&model("Qwen3-8B"), &machine, "num_ctx = 100000");
    assert_eq!(number(&outcome, "num_ctx"), 40_960);
    let cut = note(&outcome.notes, "context-cut").unwrap();
    assert_eq!(cut.setting, Some("num_ctx"));
    // The server's own context gives way to the model's, and comes before the memory.
    let own = ollama(&model("Qwen3-8B"), &machine, "context_length = 8192");
    assert_eq!(number(&own, "num_ctx"), 8192);
    let both = ollama(
        &model("Qwen3-8B"),
        &machine,
        "context_length = 8192\nnum_ctx = 2048",
    );
    assert_eq!(number(&both, "num_ctx"), 2048);
}

#[test]
fn a_model_goes_to_one_card_or_to_all() {
    let model = model("Qwen3-8B");
    let used = |text: &str| -> Vec<bool> {
        let outcome = ollama(&model, &cards(&[24, 24], 64), text);
        let moment = outcome.projection.peak_moment().unwrap();
        let gpus = moment.devices.iter().take(2);
        gpus.map(|device| !device.terms.is_empty()).collect()
    };
    assert_eq!(used("num_ctx = 8192"), [true, false]);
    assert_eq!(used("num_ctx = 8192\nsched_spread = true"), [true, true]);
    assert_eq!(used("num_ctx = 8192\nmain_gpu = 1"), [false, true]);
    assert_eq!(used("num_ctx = 8192\nnum_gpu = 0"), [false, false]);
    // 4.7 GiB of file and 18 GiB of what Ollama believes to be the cache.
    assert_eq!(used("num_ctx = 32768\nnum_parallel = 4"), [true, true]);
    let spread = ollama(&model, &cards(&[24, 24], 64), "num_ctx = 8192");
    assert!(note(&spread.notes, "one-gpu-suffices").is_some());
}

#[test]
fn the_file_is_mapped_unless_there_is_a_reason() {
    let model = model("Qwen3-8B");
    let mapped = |machine: &Machine, text: &str| {
        ollama(&model, machine, text).resolved.get("use_mmap") == Some(&Value::Bool(true))
    };
    let card = cards(&[24], 64);
    assert!(mapped(&card, ""));
    assert!(!mapped(&card, "use_mmap = false"));
    assert!(!mapped(&card, "num_gpu = 0"));
    assert!(!mapped(&cards(&[], 64), ""));
    // The file and a tenth of memory, or eight gigabytes, do not go together into what is free.
    assert!(!mapped(&cards(&[24], 12), ""));
    let windows = Machine {
        os: Os::Windows,
        ..card
    };
    assert!(!mapped(&windows, ""));
    assert!(mapped(&windows, "use_mmap = true"));
}

/// Without flash attention on the card, a quantized cache stops the server; the way out is another cache.
#[test]
fn a_quantized_cache_needs_a_card_with_flash_attention() {
    let mut machine = cards(&[12], 64);
    machine.gpus[0].compute_capability = Some((5, 2));
    let model = model("Qwen3-8B");
    let outcome = ollama(&model, &machine, "num_ctx = 8192\nkv_cache_type = \"q8_0\"");
    assert!(outcome.refused);
    let refusal = note(&outcome.notes, "quantized-values-need-flash-attention").unwrap();
    let fix = refusal.fix.as_ref().unwrap();
    assert_eq!(fix.set, settings("kv_cache_type = \"f16\""));
    let mut mended = settings("num_ctx = 8192\nkv_cache_type = \"q8_0\"");
    mended.extend(fix.set.clone());
    assert_ne!(report(&model, &machine, &mended).verdict, Verdict::Refused);
    // Switched off by hand it can be switched on again.
    machine.gpus[0].compute_capability = Some((8, 6));
    let off = "kv_cache_type = \"q8_0\"\nflash_attention = \"off\"";
    let outcome = ollama(&model, &machine, off);
    let refusal = note(&outcome.notes, "quantized-values-need-flash-attention").unwrap();
    assert_eq!(refusal.setting, Some("flash_attention"));
    assert_eq!(
        refusal.fix.as_ref().unwrap().set,
        settings("flash_attention = \"auto\"")
    );
}

#[test]
fn integrated_gpus_wait_to_be_asked() {
    let mut machine = cards(&[16], 32);
    machine.gpus[0].unified = true;
    machine.gpus[0].vendor = Vendor::Amd;
    machine.gpus[0].compute_capability = None;
    let model = model("Qwen3-0.6B");
    let on_gpu = |machine: &Machine, text: &str| {
        let outcome = ollama(&model, machine, text);
        let dropped = note(&outcome.notes, "integrated-gpu-dropped").is_some();
        (number(&outcome, "num_gpu") > 0, dropped)
    };
    assert_eq!(on_gpu(&machine, ""), (false, true));
    assert_eq!(on_gpu(&machine, "igpu_enable = \"on\""), (true, false));
    machine.gpus[0].gfx_target = Some("gfx1151".to_owned());
    assert_eq!(on_gpu(&machine, ""), (true, false));
    assert_eq!(on_gpu(&machine, "igpu_enable = \"off\""), (false, true));
}

#[test]
fn what_is_said_to_have_no_effect_has_none() {
    let (model, machine) = (model("Qwen3-8B"), cards(&[24], 64));
    let plain = ollama(&model, &machine, "num_ctx = 8192");
    let set_aside = ollama(
        &model,
        &machine,
        "num_ctx = 8192\ngpu_overhead = 4294967296",
    );
    assert_eq!(plain.projection, set_aside.projection);
    assert!(note(&set_aside.notes, "overhead-without-effect").is_some());
    // But for the default context.
    let context = |text: &str| number(&ollama(&model, &machine, text), "num_ctx");
    assert_eq!(context(""), 32_768);
    assert_eq!(context("gpu_overhead = 4294967296"), 4096);
}

/// The longest context and the most requests are the last that fit.
#[test]
fn limits_are_edges() {
    for (id, machine, text) in [
        (
            "Qwen3-8B",
            cards(&[8], 32),
            "num_ctx = 4096\nnum_gpu = \"all\"",
        ),
        (
            "Llama-3.1-8B-Instruct",
            cards(&[24], 64),
            "num_ctx = 8192\nnum_gpu = \"all\"\nnum_parallel = 2",
        ),
        (
            "Llama-3.1-8B-Instruct",
            cards(&[12, 12], 64),
            "num_ctx = 8192\nnum_gpu = \"all\"",
        ),
        (
            "gemma-3-12b-it",
            cards(&[16], 64),
            "num_ctx = 8192\nnum_gpu = \"all\"\nflash_attention = \"off\"",
        ),
        ("Qwen3-8B", cards(&[12], 32), "num_ctx = 16384"),
    ] {
        let model = model(id);
        let first = ollama(&model, &machine, text);
        for (name, step, most) in [
            ("num_ctx", 256, first.derived.max_context_tokens),
            ("num_parallel", 1, most_users(&model, &machine, text)),
        ] {
            let most = i64::try_from(most.unwrap()).unwrap();
            let fits = |value: i64| {
                let mut settings = settings(text);
                settings.insert(name.to_owned(), Value::Integer(value));
                let report = report(&model, &machine, &settings);
                let cut = number_of(&report.settings, name) != value;
                !cut && report.verdict == Verdict::Fits
                    || report.margin_kept_by_engine() && report.verdict != Verdict::Exceeds && !cut
            };
            assert!(fits(most), "{id} {text} {name} {most}");
            let next = most + step;
            let end = if name == "num_ctx" {
                i64::try_from(model.max_position_embeddings).unwrap()
            } else {
                256
            };
            assert!(next > end || !fits(next), "{id} {text} {name} {next}");
        }
    }
}

/// Every change that is said to make a plan fit does so, and is in Ollama's words.
#[test]
fn offered_changes_keep_their_promise() {
    let mut mended = 0;
    for (id, machine, text) in [
        (
            "Qwen3-8B",
            cards(&[12], 32),
            "num_ctx = 40960\nnum_parallel = 4\nnum_gpu = 37",
        ),
        (
            "Llama-3.3-70B-Instruct",
            cards(&[24, 24], 96),
            "weights = \"Q6_K\"\nnum_ctx = 8192\nnum_gpu = \"all\"",
        ),
        (
            "Qwen3-30B-A3B",
            cards(&[16], 64),
            "num_ctx = 32768\nnum_gpu = \"all\"\nnum_batch = 2048",
        ),
    ] {
        let model = model(id);
        let written = settings(text);
        let before = report(&model, &machine, &written);
        assert_eq!(before.verdict, Verdict::Exceeds, "{id}");
        let offers = before.notes.iter().filter(|note| note.code == "would-help");
        for offer in offers {
            let mut after = written.clone();
            let fix = offer.fix.as_ref().unwrap();
            for name in fix.set.keys() {
                let own = Ollama.settings().iter().any(|setting| setting.name == name);
                assert!(own, "{name}");
            }
            after.extend(fix.set.clone());
            let verdict = report(&model, &machine, &after).verdict;
            let promised = offer.message.contains("then the plan ");
            assert_eq!(
                promised,
                verdict != Verdict::Exceeds,
                "{id}: {}",
                offer.message
            );
            mended += usize::from(promised);
        }
    }
    assert!(mended > 3, "{mended}");
}

#[test]
fn a_new_plan_fits() {
    for id in [
        "Qwen3-0.6B",
        "Qwen3-8B",
        "gpt-oss-20b",
        "DeepSeek-R1-Distill-Qwen-32B",
        "Qwen3-30B-A3B",
    ] {
        for machine in [cards(&[], 64), cards(&[8], 64), cards(&[24, 24], 128)] {
            let model = model(id);
            let empty = Settings::new();
            let start = Ollama.starting_settings(&Inputs {
                model: &model,
                draft: None,
                machine: &machine,
                settings: &empty,
                margin: Margin::DEFAULT,
                memo: &Memo::default(),
            });
            assert!(start.contains_key("num_ctx") && start.contains_key("num_parallel"));
            let report = report(&model, &machine, &start);
            assert!(
                matches!(report.verdict, Verdict::Fits | Verdict::Tight),
                "{id}: {:?}",
                report.notes
            );
        }
    }
}

/// Bounds and defaults of every setting make sense on any machine.
#[test]
fn settings_describe_themselves() {
    for machine in [cards(&[], 16), cards(&[24, 24], 64)] {
        let model = model("Qwen3-8B");
        let empty = Settings::new();
        let scope = Scope {
            model: &model,
            draft: None,
            machine: &machine,
            settings: &empty,
        };
        for setting in Ollama.settings() {
            let default = (setting.default)(&scope);
            assert!(setting.accept(&default).is_ok(), "{}", setting.name);
            assert!(setting.help.ends_with('.'), "{}", setting.name);
            if let Kind::Integer { bounds, .. } = setting.kind {
                let (least, most) = bounds(&scope);
                assert!(least <= most, "{}", setting.name);
            }
        }
    }
}
