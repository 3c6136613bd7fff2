//! Experts in main memory, GPU by GPU.

use plimsoll::catalog::gpus::GpuCatalog;
use plimsoll::catalog::machines::MachineCatalog;
use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::{self, Memo};
use plimsoll::hardware::Machine;
use plimsoll::model::Model;
use plimsoll::plan::{FitOptions, LaunchOptions, ModelRef, Settings, Value};
use plimsoll::report::{DeviceReport, Request, expert_prices, experts, place_experts, report};
use plimsoll::source;

struct Case {
    model: Model,
    machine: Machine,
    fit: FitOptions,
    launch: LaunchOptions,
}

impl Case {
    fn new(preset: &str, machine: &str) -> Self {
        let reference = ModelRef {
            preset: Some(preset.to_owned()),
            ..ModelRef::default()
        };
        let machines = MachineCatalog::embedded().unwrap();
        let gpus = GpuCatalog::embedded().unwrap();
        Self {
            model: source::model(&reference, &ModelCatalog::embedded()).unwrap(),
            machine: machines.find(machine).unwrap().machine(&gpus).unwrap(),
            fit: FitOptions::default(),
            launch: LaunchOptions::default(),
        }
    }

    fn request<'a>(&'a self, settings: &'a Settings) -> Request<'a> {
        Request {
            engine: engine::find("llama.cpp").unwrap(),
            model: &self.model,
            draft: None,
            beside: &[],
            machine: &self.machine,
            settings,
            fit: &self.fit,
            launch: &self.launch,
        }
    }
}

fn settings(pairs: &[(&str, Value)]) -> Settings {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect()
}

#[test]
fn layers_move_on_one_gpu_and_stay_on_the_others() {
    let case = Case::new("DeepSeek-R1", "8x-h200");
    let memo = Memo::default();
    let mut plan = settings(&[
        ("n_gpu_layers", Value::Text("all".to_owned())),
        ("ctx_size", Value::Integer(8192)),
    ]);
    let before = experts(&case.request(&plan), &memo);
    assert_eq!(before.len(), 8);
    // 61 layers, of which the first three are dense.
    assert_eq!(before.iter().map(|gpu| gpu.layers).sum::<u64>(), 58);
    assert!(before.iter().all(|gpu| gpu.in_ram == 0));
    let free = |plan: &Settings| {
        let report = report(&case.request(plan), &memo).unwrap();
        report
            .devices
            .iter()
            .map(DeviceReport::free)
            .collect::<Vec<_>>()
    };
    let free_before = free(&plan);
    for (gpu, in_ram) in [(5, 3), (5, 1), (0, 2), (5, 0)] {
        let change = place_experts(&case.request(&plan), gpu, in_ram, &memo).unwrap();
        change.apply(&mut plan);
        let now = experts(&case.request(&plan), &memo);
        assert_eq!(now[gpu].in_ram, in_ram, "{plan:?}");
        assert_eq!(now[gpu].layers, before[gpu].layers);
    }
    // The first of all have a flag of their own.
    assert_eq!(plan.get("n_cpu_moe"), Some(&Value::Integer(5)), "{plan:?}");
    assert_eq!(plan.get("override_tensor"), None);
    let free_now = free(&plan);
    assert!(free_now[0] > free_before[0] + (1 << 30));
    assert!((free_now[5] - free_before[5]).abs() < 1 << 28);
    let change = place_experts(&case.request(&plan), 0, 0, &memo).unwrap();
    change.apply(&mut plan);
    assert!(
        experts(&case.request(&plan), &memo)
            .iter()
            .all(|gpu| gpu.in_ram == 0)
    );
    assert_eq!(plan.len(), 2, "{plan:?}");
}

#[test]
fn a_price_is_what_the_projection_says() {
    let case = Case::new("DeepSeek-R1", "8x-h200");
    let memo = Memo::default();
    let plan = settings(&[("n_gpu_layers", Value::Text("all".to_owned()))]);
    let prices = expert_prices(&case.request(&plan), &memo);
    assert_eq!(prices.len(), 8);
    for price in prices {
        assert!(price.bytes > 1 << 30, "{price:?}");
        let (before, after) = (price.before.unwrap(), price.after.unwrap());
        assert!(after.likely < before.likely, "{price:?}");
    }
}

#[test]
fn other_overrides_stay_and_automatic_layers_are_written_out() {
    let case = Case::new("DeepSeek-V2-Lite", "1x-rtx-4090");
    let memo = Memo::default();
    let rules = vec![
        Value::Text("attn_k=CPU".to_owned()),
        Value::Text(r"\.ffn_(up|down)_exps\.=CPU".to_owned()),
    ];
    let mut plan = settings(&[
        ("n_gpu_layers", Value::Text("auto".to_owned())),
        ("override_tensor", Value::List(rules)),
    ]);
    let all = experts(&case.request(&plan), &memo);
    assert_eq!(all[0].in_ram, all[0].layers);
    let change = place_experts(&case.request(&plan), 0, 4, &memo).unwrap();
    change.apply(&mut plan);
    assert_eq!(experts(&case.request(&plan), &memo)[0].in_ram, 4);
    let kept = Value::List(vec![Value::Text("attn_k=CPU".to_owned())]);
    assert_eq!(plan.get("override_tensor"), Some(&kept));
    assert_ne!(
        plan.get("n_gpu_layers"),
        Some(&Value::Text("auto".to_owned()))
    );
}

#[test]
fn a_dense_model_has_no_experts_to_move() {
    let case = Case::new("DeepSeek-R1-Distill-Qwen-14B", "1x-rtx-4090");
    assert!(experts(&case.request(&Settings::new()), &Memo::default()).is_empty());
}
