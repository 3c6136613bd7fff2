//! How long a report takes. Run: `cargo bench --bench report`.
#![expect(clippy::expect_used, reason = "what cannot go on should say where")]

use divan::Bencher;
use plimsoll::catalog::gpus::GpuCatalog;
use plimsoll::catalog::machines::MachineCatalog;
use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::{self, Memo};
use plimsoll::hardware::Machine;
use plimsoll::model::Model;
use plimsoll::plan::{FitOptions, LaunchOptions, Settings, Value};
use plimsoll::report::{Request, report};
use plimsoll::units::Bytes;

fn main() {
    divan::main();
}

/// DeepSeek-R1 671B over eight H200: the largest plan people make often.
fn large() -> (Model, Machine, Settings) {
    let gpus = GpuCatalog::embedded().expect("GPUs");
    let machines = MachineCatalog::embedded().expect("machines");
    let machine = machines
        .find("8x-h200")
        .expect("a preset")
        .machine(&gpus)
        .expect("a machine");
    let preset = ModelCatalog::embedded()
        .find("DeepSeek-R1")
        .expect("a preset");
    let model = preset.model(&serde_json::Map::default()).expect("a model");
    let settings = [
        ("weights", Value::Text("Q4_K_M".to_owned())),
        ("n_gpu_layers", Value::Text("all".to_owned())),
        ("parallel", Value::Integer(1)),
        ("ctx_size", Value::Integer(32_768)),
    ];
    let settings = settings
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect();
    (model, machine, settings)
}

/// DeepSeek-R1-Distill-Qwen-32B on one RTX 4090 with 16 GiB of main memory.
fn tight() -> (Model, Machine, Settings) {
    let gpus = GpuCatalog::embedded().expect("GPUs");
    let machines = MachineCatalog::embedded().expect("machines");
    let machine = machines.find("1x-rtx-4090").expect("a preset");
    let mut machine = machine.machine(&gpus).expect("a machine");
    machine.host.ram = Bytes::from_gib(16);
    let preset = ModelCatalog::embedded()
        .find("DeepSeek-R1-Distill-Qwen-32B")
        .expect("a preset");
    let model = preset.model(&serde_json::Map::default()).expect("a model");
    let settings = [
        ("parallel", Value::Integer(1)),
        ("ctx_size", Value::Integer(32_768)),
    ];
    let settings = settings
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect();
    (model, machine, settings)
}

static NO_LAUNCH: LaunchOptions = LaunchOptions {
    model_path: None,
    hf_repo: None,
    host: None,
    port: None,
    api_key_env: None,
    extra_args: Vec::new(),
    draft_path: None,
    mmproj_path: None,
    lora_paths: Vec::new(),
    control_vector_paths: Vec::new(),
    gpus: Vec::new(),
};

fn request<'a>(
    model: &'a Model,
    machine: &'a Machine,
    settings: &'a Settings,
    fit: &'a FitOptions,
) -> Request<'a> {
    Request {
        engine: engine::find("llama.cpp").expect("an engine"),
        model,
        draft: None,
        beside: &[],
        machine,
        settings,
        fit,
        launch: &NO_LAUNCH,
    }
}

#[divan::bench]
fn r1_over_8_gpus_from_nothing(bencher: Bencher<'_, '_>) {
    let (model, machine, settings) = large();
    let fit = FitOptions::default();
    bencher
        .with_inputs(Memo::default)
        .bench_refs(|memo| report(&request(&model, &machine, &settings, &fit), memo));
}

#[divan::bench]
fn r1_over_8_gpus_another_context(bencher: Bencher<'_, '_>) {
    let (model, machine, settings) = large();
    let fit = FitOptions::default();
    let memo = Memo::default();
    let mut context = 32_768;
    let mut next = || {
        context = if context > 100_000 {
            8_192
        } else {
            context + 256
        };
        let mut settings = settings.clone();
        settings.insert("ctx_size".to_owned(), Value::Integer(context));
        settings
    };
    next();
    bencher
        .with_inputs(next)
        .bench_local_refs(|settings| report(&request(&model, &machine, settings, &fit), &memo));
}

#[divan::bench]
fn r1_over_8_gpus_another_cache_type(bencher: Bencher<'_, '_>) {
    let (model, machine, settings) = large();
    let fit = FitOptions::default();
    let memo = Memo::default();
    let mut types = ["q8_0", "f16", "q4_0"].into_iter().cycle();
    let next = || {
        let mut settings = settings.clone();
        let word = types.next().unwrap_or("f16").to_owned();
        settings.insert("cache_type_k".to_owned(), Value::Text(word.clone()));
        settings.insert("cache_type_v".to_owned(), Value::Text(word));
        settings
    };
    bencher
        .with_inputs(next)
        .bench_local_refs(|settings| report(&request(&model, &machine, settings, &fit), &memo));
}

#[divan::bench]
fn r1_over_8_gpus_layers_left_to_the_engine_from_nothing(bencher: Bencher<'_, '_>) {
    let (model, machine, mut settings) = large();
    settings.insert("n_gpu_layers".to_owned(), Value::Text("auto".to_owned()));
    let fit = FitOptions::default();
    bencher
        .with_inputs(Memo::default)
        .bench_refs(|memo| report(&request(&model, &machine, &settings, &fit), memo));
}

/// A dense model of 32 B on one card of 24 GB with little main memory: the engine chooses layers anew for every context
/// that is tried.
#[divan::bench]
fn layers_left_to_the_engine_from_nothing(bencher: Bencher<'_, '_>) {
    let (model, machine, settings) = tight();
    let fit = FitOptions::default();
    bencher
        .with_inputs(Memo::default)
        .bench_refs(|memo| report(&request(&model, &machine, &settings, &fit), memo));
}

#[divan::bench]
fn layers_left_to_the_engine_another_context(bencher: Bencher<'_, '_>) {
    let (model, machine, settings) = tight();
    let fit = FitOptions::default();
    let memo = Memo::default();
    let mut contexts = (16..128).map(|steps| steps * 256).cycle();
    let next = || {
        let mut settings = settings.clone();
        let context = contexts.next().unwrap_or(4096);
        settings.insert("ctx_size".to_owned(), Value::Integer(context));
        settings
    };
    bencher
        .with_inputs(next)
        .bench_local_refs(|settings| report(&request(&model, &machine, settings, &fit), &memo));
}
