//! A plan with all that an export needs, made by hand so that these tests depend on no projection.

use plimsoll::engine::launch::{Launch, LaunchInputs, Word};
use plimsoll::engine::setting::Scope;
use plimsoll::engine::{self, Derived, Engine};
use plimsoll::export::{self, Error, Export};
use plimsoll::hardware::{Gpu, GpuMemory, Host, Machine, Os, Vendor};
use plimsoll::model::Model;
use plimsoll::plan::{Plan, Settings, Value};
use plimsoll::projection::{Category, DeviceTerms, Term, Why};
use plimsoll::report::{DeviceKind, DeviceReport, Report, Verdict};
use plimsoll::units::Bytes;

pub(super) struct Case {
    pub(super) plan: Plan,
    pub(super) machine: Machine,
    pub(super) repository: Option<&'static str>,
    pub(super) file: Option<&'static str>,
    pub(super) revision: Option<&'static str>,
    pub(super) margin: Bytes,
    /// What automatic choices became, on top of defaults and plan.
    pub(super) chosen: Settings,
    pub(super) model: Model,
}

impl Case {
    /// One RTX 4090, and a plan for llama.cpp with these lines under `[settings]` (and further tables).
    pub(super) fn new(settings: &str) -> Self {
        Self::of("llama.cpp", settings)
    }

    /// The same for another engine.
    pub(super) fn of(engine: &str, settings: &str) -> Self {
        let plan = format!(
            "schema = 1\nengine = \"{engine}\"\n[model]\npreset = \"DeepSeek-R1-Distill-Qwen-32B\"\n[settings]\n{settings}"
        );
        Self {
            plan: Plan::from_toml(&plan).unwrap(),
            machine: machine(&[gpu("NVIDIA GeForce RTX 4090", Vendor::Nvidia, None)]),
            repository: None,
            file: None,
            revision: None,
            margin: Bytes::from_mib(1024),
            chosen: Settings::new(),
            model: Model {
                name: "DeepSeek-R1-Distill-Qwen-32B".to_owned(),
                ..Model::default()
            },
        }
    }

    /// What a person gets who picks a 32B model on a 24 GB card and saves.
    pub(super) fn everyday() -> Self {
        Self {
            repository: Some("bartowski/DeepSeek-R1-Distill-Qwen-32B-GGUF"),
            ..Self::new(
                "weights = \"Q4_K_M\"\nctx_size = 16384\nparallel = 1\nn_gpu_layers = 65\ncache_type_k = \"q8_0\"\n\
                 cache_type_v = \"q8_0\"\nflash_attn = \"on\"\n",
            )
        }
    }

    pub(super) fn chosen(mut self, settings: &str) -> Self {
        self.chosen = toml::from_str(settings).unwrap();
        self
    }

    pub(super) fn published_in(mut self, repository: &'static str) -> Self {
        self.repository = Some(repository);
        self
    }

    pub(super) fn on(mut self, machine: Machine) -> Self {
        self.machine = machine;
        self
    }

    pub(super) fn model_path(mut self, path: &str) -> Self {
        self.plan.launch.model_path = Some(path.to_owned());
        self
    }

    pub(super) fn extra_args<T: AsRef<str>>(mut self, words: &[T]) -> Self {
        self.plan.launch.extra_args = words.iter().map(|word| word.as_ref().to_owned()).collect();
        self
    }

    fn engine(&self) -> &'static dyn Engine {
        engine::find(&self.plan.engine).unwrap()
    }

    pub(super) fn resolved(&self) -> Settings {
        let mut resolved = Settings::new();
        for setting in self.engine().settings() {
            let scope = Scope {
                model: &self.model,
                draft: None,
                machine: &self.machine,
                settings: &self.plan.settings,
            };
            resolved.insert(setting.name.to_owned(), (setting.default)(&scope));
        }
        resolved.extend(self.plan.settings.clone());
        resolved.extend(self.chosen.clone());
        resolved
    }

    pub(super) fn launch(&self) -> Launch {
        self.engine().launch(&LaunchInputs {
            model: &self.model,
            draft: None,
            machine: &self.machine,
            settings: &self.plan.settings,
            resolved: &self.resolved(),
            options: &self.plan.launch,
            margin: plimsoll::engine::Margin::Bytes(self.margin),
            repository: self.repository,
            file: self.file,
            opened: None,
            revision: self.revision,
            opened_draft: None,
        })
    }

    /// The arguments, flat, a variable as `$NAME`.
    pub(super) fn words(&self) -> Vec<String> {
        let launch = self.launch();
        launch.steps[0]
            .arguments
            .iter()
            .flat_map(|argument| &argument.words)
            .map(shown)
            .collect()
    }

    /// The environment as `NAME=value`.
    pub(super) fn environment(&self) -> Vec<String> {
        self.launch().steps[0]
            .environment
            .iter()
            .map(|(name, value)| format!("{name}={}", shown(value)))
            .collect()
    }

    /// What a target's file says.
    pub(super) fn write(&self, target: &str) -> Result<String, Error> {
        let launch = self.launch();
        self.write_launch(target, &launch)
    }

    pub(super) fn write_launch(&self, target: &str, launch: &Launch) -> Result<String, Error> {
        let report = self.report();
        let export = Export {
            plan: &self.plan,
            model: &self.model,
            report: &report,
            launch,
        };
        export::find(report.engine, target).unwrap().write(&export)
    }

    /// A report of round numbers.
    pub(super) fn report(&self) -> Report {
        let mut devices: Vec<DeviceReport> = self
            .machine
            .gpus
            .iter()
            .enumerate()
            .map(|(index, gpu)| DeviceReport {
                id: format!("gpu{index}"),
                kind: DeviceKind::Gpu,
                name: gpu.name.clone(),
                capacity: gpu.memory.usable,
                driver_total: gpu.memory.total,
                in_use: gpu.memory.in_use,
                beside: Vec::new(),
                margin: Bytes::ZERO,
                terms: terms(&[(Category::Weights, 18_000), (Category::KvCache, 2_176)]),
            })
            .collect();
        devices.push(DeviceReport {
            id: "host".to_owned(),
            kind: DeviceKind::Host,
            name: "RAM".to_owned(),
            capacity: self.machine.host.ram,
            driver_total: self.machine.host.ram,
            in_use: Bytes::ZERO,
            beside: Vec::new(),
            margin: Bytes::ZERO,
            terms: terms(&[(Category::Weights, 417), (Category::Compute, 42)]),
        });
        let resolved = self.resolved();
        let Some(Value::Text(version)) = resolved.get("engine_version").cloned() else {
            panic!("no version");
        };
        Report {
            speed: None,
            quality: plimsoll::quality::Quality::default(),
            engine: self.engine().id(),
            engine_version: version,
            model: self.model.name.clone(),
            lower_bound: false,
            verdict: Verdict::Fits,
            devices,
            peak: "run",
            moments: Vec::new(),
            notes: Vec::new(),
            settings: resolved,
            derived: Derived {
                file_bytes: Bytes::new(19_851_335_872),
                ..Derived::default()
            },
        }
    }
}

fn shown(word: &Word) -> String {
    match word {
        Word::Literal(text) => text.clone(),
        Word::Variable(name) => format!("${name}"),
    }
}

fn terms(mib: &[(Category, u64)]) -> DeviceTerms {
    let term = |&(category, mib): &(Category, u64)| {
        Term::exact(
            category,
            Bytes::from_mib(mib),
            Why::new("test", "round", "here"),
        )
    };
    DeviceTerms {
        terms: mib.iter().map(term).collect(),
    }
}

pub(super) fn gpu(name: &str, vendor: Vendor, uuid: Option<&str>) -> Gpu {
    Gpu {
        name: name.to_owned(),
        vendor,
        uuid: uuid.map(str::to_owned),
        pci_address: None,
        memory: GpuMemory {
            total: Bytes::from_mib(24_564),
            usable: Bytes::from_mib(24_080),
            in_use: Bytes::from_mib(600),
        },
        unified: false,
        compute_capability: None,
        gfx_target: None,
        metal_family: None,
        bandwidth_gb_s: None,
        fp16_tflops: None,
        pcie: None,
        drives_display: false,
        driver: None,
    }
}

pub(super) fn machine(gpus: &[Gpu]) -> Machine {
    Machine {
        name: "Workstation".to_owned(),
        os: Os::Linux,
        host: Host::with_ram(Bytes::from_gib(64)),
        gpus: gpus.to_vec(),
        nodes: 1,
    }
}
