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
        machine: &machine,
        settings: &plan.settings,
        fit: &plan.fit,
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
