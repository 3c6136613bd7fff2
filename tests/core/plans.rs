//! Whole plans to whole reports: what must hold between the parts of any of them.

use plimsoll::catalog::gpus::GpuCatalog;
use plimsoll::catalog::machines::{self, MachineCatalog};
use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::{self, Memo};
use plimsoll::plan::{Plan, Value};
use plimsoll::report::{self, DeviceReport, Report, Request, Verdict};
use plimsoll::source;

/// A plan for an engine, a preset and a described machine.
fn plan(model: &str, machine: &str, settings: &str) -> Plan {
    let text = format!(
        "schema = 1\nengine = \"llama.cpp\"\n[model]\npreset = \"{model}\"\n[machine]\n{machine}\n[settings]\n{settings}\n"
    );
    Plan::from_toml(&text).expect(&text)
}

fn project(plan: &Plan) -> Report {
    let gpus = GpuCatalog::embedded().unwrap();
    let presets = MachineCatalog::embedded().unwrap();
    let machine = machines::resolve(plan.machine.as_ref(), None, &gpus, &presets).unwrap();
    let model = source::model(&plan.model, &ModelCatalog::embedded()).unwrap();
    let request = Request {
        engine: engine::find(&plan.engine).unwrap(),
        model: &model,
        draft: None,
        beside: &[],
        machine: &machine,
        settings: &plan.settings,
        fit: &plan.fit,
        launch: &plan.launch,
    };
    report::report(&request, &Memo::default()).unwrap()
}

fn reported(model: &str, machine: &str, settings: &str) -> Report {
    project(&plan(model, machine, settings))
}

const WORKSTATION: &str = "preset = \"1x-rtx-4090-512gb\"";

/// Weights of a device in whole GiB.
fn weights(device: &DeviceReport) -> u64 {
    let weights = device
        .terms
        .terms
        .iter()
        .filter(|term| term.category == plimsoll::projection::Category::Weights);
    weights.map(|term| term.bytes.get()).sum::<u64>() >> 30
}

#[test]
fn any_character_in_an_override_matches_as_in_the_engine() {
    // The spellings that people copy from one another.
    for rule in [
        r"\\.ffn_.*_exps\\.=CPU",
        ".ffn_.*_exps.=CPU",
        "exps=CPU",
        "[^_]_exps=CPU",
    ] {
        let settings =
            format!("ctx_size = 4096\noverride_tensor = [\"{rule}\"]\nn_gpu_layers = \"all\"");
        let report = reported("DeepSeek-R1", WORKSTATION, &settings);
        assert_ne!(report.verdict, Verdict::Refused, "{}", report.sentence());
        let [gpu, host] = report.devices.as_slice() else {
            panic!("{} devices", report.devices.len())
        };
        assert!(weights(gpu) < 20, "{rule}: {}", weights(gpu));
        assert!(weights(host) > 300, "{rule}: {}", weights(host));
    }
}

/// What fitting chose, written out as a plan, is what was projected.
#[test]
fn a_fitted_plan_written_out_is_the_same_plan() {
    for (model, machine) in [
        ("Mixtral-8x22B-Instruct-v0.1", "preset = \"1x-l40s\""),
        ("Qwen3-Coder-30B-A3B-Instruct", "preset = \"1x-rtx-4090\""),
        ("Qwen2.5-72B-Instruct", "preset = \"2x-rtx-3090\""),
        // With prediction blocks, which the loader counts and fitting does not.
        ("GLM-4.6", "preset = \"1x-rtx-pro-6000\""),
        ("GLM-5", "preset = \"1x-h100\""),
        ("GLM-4.6", "preset = \"4x-rtx-3090\""),
    ] {
        let fitted = reported(model, machine, "ctx_size = 8192");
        let mut written = plan(model, machine, "");
        written.settings.clone_from(&fitted.settings);
        written
            .settings
            .insert("fit".to_owned(), Value::Bool(false));
        let again = project(&written);
        assert_eq!(
            again.verdict,
            fitted.verdict,
            "{model}: {}",
            again.sentence()
        );
        let totals = |report: &Report| -> Vec<u64> {
            report
                .devices
                .iter()
                .map(|device| device.total().get())
                .collect()
        };
        assert_eq!(totals(&again), totals(&fitted), "{model}");
    }
}

const MAC: &str = "preset = \"macbook-pro-m4-max-128gb\"";

/// Of one memory for everything the GPU may take a share; beyond it nothing fits, however much is left.
#[test]
fn the_share_of_a_unified_gpu_limits_what_it_holds() {
    let weights = "weights = \"Q8_0\"\nparallel = 1\n";
    let over = reported(
        "Qwen2.5-72B-Instruct",
        MAC,
        &format!("{weights}ctx_size = 131072\nn_gpu_layers = \"all\""),
    );
    assert_eq!(over.verdict, Verdict::Exceeds);
    let [pool, host] = over.devices.as_slice() else {
        panic!("{} devices", over.devices.len())
    };
    assert!(pool.free() < 0, "{}", over.sentence());
    assert!(
        pool.total() < host.capacity,
        "the pool itself would hold it"
    );
    assert!(over.notes.iter().any(|note| note.code == "over-gpu-share"));
    // What the processor holds is not of the GPU's share.
    let beside = reported(
        "Qwen2.5-72B-Instruct",
        MAC,
        &format!("{weights}ctx_size = 131072\nn_gpu_layers = \"all\"\nkv_offload = false"),
    );
    assert_eq!(beside.verdict, Verdict::Fits, "{}", beside.sentence());
}

/// The figures beside a report are true of the reports they speak of.
#[test]
fn the_longest_context_fits_and_the_next_does_not() {
    for (model, machine, settings) in [
        (
            "Qwen2.5-32B-Instruct",
            "preset = \"1x-rtx-3090\"",
            "ctx_size = 4096\nparallel = 1",
        ),
        (
            "Qwen2.5-32B-Instruct",
            MAC,
            "ctx_size = 4096\nparallel = 8\nweights = \"F16\"",
        ),
        (
            "Qwen2.5-72B-Instruct",
            MAC,
            "ctx_size = 4096\nparallel = 64\nweights = \"Q8_0\"",
        ),
        (
            "Qwen2.5-Coder-32B-Instruct",
            "preset = \"strix-halo-128gb\"",
            "ctx_size = 4096\nparallel = 140\nkv_offload = false",
        ),
        (
            "Llama-3.3-70B-Instruct",
            "preset = \"cpu-only-128gb\"",
            "ctx_size = 4096\nparallel = 4",
        ),
        (
            "DeepSeek-R1",
            WORKSTATION,
            "ctx_size = 4096\nparallel = 1\ncpu_moe = true",
        ),
    ] {
        let settings = format!("{settings}\nn_gpu_layers = \"all\"\nflash_attn = \"on\"");
        longest_is_the_last(model, &plan(model, machine, &settings));
    }
}

fn longest_is_the_last(model: &str, planned: &Plan) {
    let report = project(planned);
    let longest = report
        .derived
        .max_context_tokens
        .expect("some context fits");
    let with_context = |tokens: u64| {
        let mut changed = planned.clone();
        let tokens = Value::Integer(i64::try_from(tokens).unwrap());
        changed.settings.insert("ctx_size".to_owned(), tokens);
        project(&changed)
    };
    let at = with_context(longest);
    assert_eq!(
        at.verdict,
        Verdict::Fits,
        "{model}, {longest}: {}",
        at.sentence()
    );
    let slots = match report.settings.get("parallel") {
        Some(Value::Integer(slots)) => u64::try_from(*slots).unwrap(),
        other => panic!("{other:?}"),
    };
    let beyond = with_context(longest + 256 * slots);
    let trained = beyond
        .notes
        .iter()
        .any(|note| note.code == "context-above-trained");
    assert!(
        trained || beyond.verdict != Verdict::Fits,
        "{model}, {longest}: {}",
        beyond.sentence()
    );
}

/// The change that a note offers removes what it notes.
#[test]
fn fixes_mend_what_they_are_offered_for() {
    for settings in [
        "cache_type_v = \"iq4_nl\"",
        "cache_type_k = \"iq4_nl\"",
        "cache_type_k = \"iq4_nl\"\ncache_type_v = \"iq4_nl\"",
        "cache_type_v = \"q8_0\"\nflash_attn = \"off\"",
        "weights = \"IQ2_XXS\"",
        "ctx_size = 1000000\nparallel = 1",
        "split_mode = \"row\"",
        "split_mode = \"none\"\nmain_gpu = 7",
    ] {
        let planned = plan("Qwen3-8B", "preset = \"2x-rtx-3090\"", settings);
        let report = project(&planned);
        let fixed: Vec<_> = report
            .notes
            .iter()
            // What would help may help in part, and says what is still missing.
            .filter(|note| note.fix.is_some() && note.code != "would-help")
            .collect();
        assert!(!fixed.is_empty(), "{settings} has no fix");
        for note in fixed {
            let mut mended = planned.clone();
            for (name, value) in &note.fix.as_ref().unwrap().set {
                mended.settings.insert(name.clone(), value.clone());
            }
            let after = project(&mended);
            let remains = after.notes.iter().any(|other| other.code == note.code);
            assert!(!remains, "{settings}: {} is still there", note.code);
        }
    }
}

/// A number that no engine could take is refused at once, whatever it stands for.
#[test]
fn absurd_numbers_are_refused_and_cost_nothing() {
    let engine = engine::find("llama.cpp").unwrap();
    let started = std::time::Instant::now();
    for setting in engine.settings() {
        if !matches!(setting.kind, engine::setting::Kind::Integer { .. }) {
            continue;
        }
        for number in [i64::MIN, i64::MAX, 1 << 40, i64::from(i32::MAX)] {
            for model in ["Qwen3-0.6B", "Qwen3-Coder-Next"] {
                let settings = format!("{} = {number}", setting.name);
                let report = reported(model, WORKSTATION, &settings);
                let known = report
                    .notes
                    .iter()
                    .any(|note| note.code == "number-out-of-range");
                assert_eq!(
                    known,
                    number.unsigned_abs() > i32::MAX.unsigned_abs().into(),
                    "{settings}: {:?}",
                    report.notes
                );
            }
        }
    }
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}
