//! The machine that measured rows were made on, and models by preset.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use plimsoll::hardware::{Gpu, GpuMemory, Host, Machine, Os, Vendor};
use plimsoll::model::{Model, from_config};
use plimsoll::units::Bytes;
use serde_json::Map;

/// A machine with cards of this much usable memory each.
pub(crate) fn machine(cards: &[Bytes], compute_capability: (u32, u32)) -> Machine {
    Machine {
        name: "modelled device".to_owned(),
        os: Os::Linux,
        host: Host {
            ram: Bytes::from_gib(1 << 20),
            in_use: Bytes::ZERO,
            swap: Bytes::ZERO,
            physical_cores: None,
            cpu_name: None,
            cpu_features: Vec::new(),
            bandwidth_gb_s: None,
            disk_free: None,
        },
        gpus: cards
            .iter()
            .map(|&usable| Gpu {
                name: "modelled CUDA device".to_owned(),
                vendor: Vendor::Nvidia,
                uuid: None,
                pci_address: None,
                memory: GpuMemory {
                    total: usable,
                    usable,
                    in_use: Bytes::ZERO,
                },
                unified: false,
                compute_capability: Some(compute_capability),
                gfx_target: None,
                metal_family: None,
                bandwidth_gb_s: None,
                fp16_tflops: None,
                pcie: None,
                drives_display: false,
                driver: None,
            })
            .collect(),
        nodes: 1,
    }
}

/// The model of a preset, read once, with another trained context where one is given.
pub(crate) fn preset_with(id: &str, trained: Option<u64>) -> Option<Model> {
    type Read = BTreeMap<(String, Option<u64>), Option<Model>>;
    static READ: Mutex<Read> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().expect("no test panics with it");
    read.entry((id.to_owned(), trained))
        .or_insert_with(|| {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("presets/models");
            let families = std::fs::read_dir(folder).expect("presets are there");
            let file = families
                .filter_map(Result::ok)
                .map(|family| family.path().join(format!("{id}.toml")))
                .find(|file| file.is_file())?;
            let text = std::fs::read_to_string(file).expect("a preset can be read");
            let table: toml::Table = toml::from_str(&text).expect("a preset is TOML");
            let config = serde_json::to_value(&table["config"]).expect("a configuration");
            let mut overrides = Map::new();
            if let Some(trained) = trained {
                overrides.insert("max_position_embeddings".to_owned(), trained.into());
            }
            Some(from_config(id, &config, &overrides).expect("a known family"))
        })
        .clone()
}
