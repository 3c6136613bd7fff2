//! How long a fit takes, and on what. Run: `cargo bench --bench fit`.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "what cannot go on should say where; figures are of a machine"
)]

use divan::Bencher;
use plimsoll::advisor::{FitRequest, Objective, fit};
use plimsoll::catalog::gpus::GpuCatalog;
use plimsoll::catalog::machines::{self, MachineCatalog};
use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::{self, Inputs, Margin, Memo};
use plimsoll::hardware::Machine;
use plimsoll::model::Model;
use plimsoll::plan::{MachineRef, Settings};

fn main() {
    if let Ok(mut system) = sysinfo::System::new() {
        system.refresh_cpu_all();
        let brand = system.cpus().first().map_or("", |cpu| cpu.brand());
        println!("{brand}, {} threads", system.cpus().len());
    }
    divan::main();
}

/// A model and a machine.
struct Case {
    model: Model,
    machine: Machine,
}

impl Case {
    fn new(model: &str, machine: &str) -> Self {
        let reference: MachineRef = toml::from_str(machine).expect("a machine");
        let gpus = GpuCatalog::embedded().expect("GPUs");
        let presets = MachineCatalog::embedded().expect("machines");
        let machine = machines::resolve(Some(&reference), None, &gpus, &presets);
        let preset = ModelCatalog::embedded().find(model).expect("a preset");
        Self {
            model: preset.model(&serde_json::Map::default()).expect("a model"),
            machine: machine.expect("a machine"),
        }
    }

    fn inputs<'a>(&'a self, settings: &'a Settings, memo: &'a Memo) -> Inputs<'a> {
        Inputs {
            model: &self.model,
            draft: None,
            machine: &self.machine,
            settings,
            margin: Margin::DEFAULT,
            memo,
        }
    }

    /// With the other choices, from an empty memo.
    fn fit(&self, bencher: Bencher<'_, '_>, objective: Objective) {
        let settings = Settings::new();
        bencher.with_inputs(Memo::default).bench_refs(|memo| {
            fit(&FitRequest {
                engine: engine::find("llama.cpp").expect("an engine"),
                inputs: self.inputs(&settings, memo),
                pinned: &[],
                objective,
            })
        });
    }
}

const CARD: &str = "ram_mib = 65536\ngpus = [{ name = \"RTX 4090\", in_use_mib = 600 }]";

/// 192 GB on eight cards of two kinds: most experts of 671 B parameters are in main memory.
const EIGHT: &str = "ram_mib = 1048576\n\
    gpus = [{ name = \"RTX 4090\", count = 4 }, { name = \"RTX 3090\", count = 4 }]";

#[divan::bench(args = Objective::ALL)]
fn dense_32b_on_one_gpu(bencher: Bencher<'_, '_>, objective: Objective) {
    Case::new("DeepSeek-R1-Distill-Qwen-32B", CARD).fit(bencher, objective);
}

#[divan::bench(args = Objective::ALL)]
fn experts_30b_on_one_gpu(bencher: Bencher<'_, '_>, objective: Objective) {
    Case::new("Qwen3-30B-A3B", CARD).fit(bencher, objective);
}

#[divan::bench(args = Objective::ALL)]
fn r1_on_8_gpus(bencher: Bencher<'_, '_>, objective: Objective) {
    Case::new("DeepSeek-R1", EIGHT).fit(bencher, objective);
}
