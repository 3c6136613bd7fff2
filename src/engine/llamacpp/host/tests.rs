use serde_json::json;

use super::{HostWeights, Loader, Packing, Residence};
use crate::engine::Memo;
use crate::engine::llamacpp::config::{self, Override, SplitMode};
use crate::engine::llamacpp::file_type::FileType;
use crate::engine::llamacpp::placement::{Placement, PlacementConfig};
use crate::engine::llamacpp::tensors::{Architecture, TensorTable};
use crate::hardware::{Gpu, GpuMemory, Host, Machine, Os, Vendor};
use crate::model::from_config;
use crate::plan::{Settings, Value};
use crate::units::{Bytes, MIB};

/// A machine with cards of 8 GiB.
pub(in crate::engine::llamacpp) fn machine(vendors: &[Vendor], features: &[&str]) -> Machine {
    let eight = Bytes::from_gib(8);
    Machine {
        name: String::new(),
        os: Os::Linux,
        host: Host {
            cpu_features: features.iter().map(|&feature| feature.to_owned()).collect(),
            ..Host::with_ram(Bytes::from_gib(64))
        },
        gpus: vendors
            .iter()
            .map(|&vendor| Gpu {
                name: String::new(),
                vendor,
                uuid: None,
                pci_address: None,
                memory: GpuMemory {
                    total: eight,
                    usable: eight,
                    in_use: Bytes::ZERO,
                },
                unified: vendor == Vendor::Apple,
                compute_capability: None,
                gfx_target: None,
                metal_family: None,
                fp16_tflops: None,
                bandwidth_gb_s: None,
                pcie: None,
                drives_display: false,
                driver: None,
            })
            .collect(),
        nodes: 1,
    }
}

/// What the loader does with these settings.
pub(in crate::engine::llamacpp) fn loader(machine: &Machine, settings: &[(&str, Value)]) -> Loader {
    let settings: Settings = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    let config = config::read(&settings, false, &mut Vec::new());
    let devices = config::devices(machine, &config);
    Loader::new(&config, machine, &devices, Architecture::Qwen3Moe)
}

fn word(word: &str) -> Value {
    Value::Text(word.to_owned())
}

/// Two blocks with four experts each, in Q4_K but for what the mixture makes of them.
fn table(file_type: FileType, tied: bool) -> TensorTable {
    let config = json!({
        "model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"],
        "hidden_size": 256, "num_hidden_layers": 2, "vocab_size": 1024,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
        "intermediate_size": 512, "moe_intermediate_size": 256, "num_experts": 4,
        "num_experts_per_tok": 2, "decoder_sparse_step": 1, "mlp_only_layers": [],
        "max_position_embeddings": 4096, "tie_word_embeddings": tied, "hidden_act": "silu",
    });
    let model = from_config("test", &config, &serde_json::Map::new()).expect("a model");
    TensorTable::new(&model, file_type, false).expect("a file")
}

fn host(loader: Loader, table: &TensorTable, gpus: usize, overrides: &[Override]) -> HostWeights {
    let free = vec![Bytes::from_gib(8); gpus];
    let config = PlacementConfig {
        free: &free,
        gpu_layers: 99,
        split_mode: SplitMode::Layer,
        tensor_split: &[],
        main_gpu: 0,
        overrides,
        overflows: &[],
        remote: &[],
        packing: loader.packing,
    };
    let placement = Placement::new(&config, table, &Memo::default()).expect("placed");
    HostWeights::new(loader, &placement, table)
}

#[test]
fn the_load_mode_decides_how_experts_are_held() {
    let table = table(FileType::Q4_K_M, false);
    let machine = machine(&[Vendor::Nvidia], &[]);
    let experts = [Override::AllExperts];
    let with = |mode: &str| {
        let loader = loader(&machine, &[("load_mode", word(mode))]);
        host(loader, &table, 1, &experts)
    };
    let mapped = with("auto");
    assert!(mapped.mapped > Bytes::ZERO);
    assert_eq!(mapped.pinned + mapped.repacked + mapped.read, Bytes::ZERO);
    assert_eq!(mapped.staging.bytes(), Bytes::ZERO);
    let pinned = with("none");
    assert_eq!(pinned.pinned, mapped.mapped);
    // Four buffers of 1 MiB (`load_all_data`).
    assert_eq!(pinned.staging.bytes(), Bytes::new(4 * MIB));
    let direct = with("dio");
    assert_eq!(
        direct.staging.bytes(),
        Bytes::new(4 * (64 * MIB + 2 * 4096))
    );
}

#[test]
fn locking_a_mapping_locks_what_lies_between() {
    let table = table(FileType::Q4_K_M, false);
    let machine = machine(&[Vendor::Nvidia], &[]);
    let loader = loader(&machine, &[("load_mode", word("mmap+mlock"))]);
    let held = host(loader, &table, 1, &[Override::AllExperts]);
    // From the embedding in front to the last expert matrix; norm and head of the file lie before or after.
    let on_gpu: Bytes = table
        .rows
        .iter()
        .filter(|row| row.tensor.name.starts_with("blk.") && !row.is_routed())
        .map(|row| row.bytes)
        .sum();
    assert!(held.locked_between > Bytes::ZERO);
    assert!(held.locked_between <= on_gpu + table.file_bytes());
    let unlocked = self::loader(&machine, &[]);
    let held = host(unlocked, &table, 1, &[Override::AllExperts]);
    assert_eq!(held.locked_between, Bytes::ZERO);
}

#[test]
fn the_processor_repacks_only_without_pinned_memory() {
    let table = table(FileType::Q4_K_S, false);
    let repacked = |vendors: &[Vendor], settings: &[(&str, Value)]| {
        let machine = machine(vendors, &["avx2"]);
        let loader = loader(&machine, settings);
        host(loader, &table, vendors.len(), &[Override::AllExperts])
    };
    let off = ("repack", Value::Bool(false));
    let no_host = ("host_buffer", Value::Bool(false));
    assert_eq!(repacked(&[Vendor::Nvidia], &[]).repacked, Bytes::ZERO);
    assert!(repacked(&[Vendor::Nvidia], std::slice::from_ref(&no_host)).repacked > Bytes::ZERO);
    // Metal has no host buffers.
    assert!(repacked(&[Vendor::Apple], &[]).repacked > Bytes::ZERO);
    let alone = repacked(&[], &[]);
    assert!(alone.repacked > Bytes::ZERO);
    assert_eq!(repacked(&[], &[off]).repacked, Bytes::ZERO);
    // Without a mapping a repacked tensor is read whole first.
    let read = repacked(&[], &[("load_mode", word("none"))]);
    let largest = table
        .rows
        .iter()
        .filter(|row| row.is_routed())
        .map(|row| row.bytes)
        .max();
    assert_eq!(Some(read.staging.bytes()), largest);
}

#[test]
fn layouts_follow_the_vector_units() {
    let table = table(FileType::Q4_K_M, false);
    let kinds = |features: &[&str]| {
        let packing = Packing::of(&machine(&[], features));
        let mut kinds: Vec<&str> = table
            .rows
            .iter()
            .filter(|row| packing.takes(row))
            .map(|row| row.kind.name())
            .collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    };
    assert_eq!(kinds(&["avx2"]), ["q4_K"]);
    assert_eq!(kinds(&["asimddp"]), ["q4_K", "q6_K"]);
    assert_eq!(kinds(&["sse4_2"]), [""; 0]);
    assert_eq!(
        kinds(&["amx_int8", "avx2", "avx512_vnni", "avx512f"]),
        ["q4_K", "q6_K"]
    );
}

#[test]
fn tiles_take_more_than_the_file() {
    let table = table(FileType::Q8_0, false);
    let packing = Packing::of(&machine(&[], &["amx_int8", "avx2", "avx512_vnni"]));
    let named = |name: &str| {
        table
            .rows
            .iter()
            .find(|row| row.tensor.name == name)
            .expect("there")
    };
    // 256 × 256 values in blocks of 32, each with a sum of 4 bytes.
    assert_eq!(
        packing.extra(named("blk.0.attn_q.weight")),
        Bytes::new(256 * 256 / 32 * 4)
    );
    assert_eq!(
        packing.extra(named("blk.0.ffn_up_exps.weight")),
        Bytes::ZERO
    );
    assert_eq!(packing.extra(named("token_embd.weight")), Bytes::ZERO);
}

#[test]
fn a_tied_head_is_held_twice_where_it_is_repacked() {
    let table = table(FileType::Q4_K_M, true);
    let total = |features: &[&str]| {
        let held = host(loader(&machine(&[], features), &[]), &table, 0, &[]);
        held.repacked + held.mapped
    };
    let embedding = table
        .rows
        .iter()
        .find(|row| row.tensor.name == "token_embd.weight");
    // Q6_K has a layout on Arm and none with AVX2.
    assert_eq!(
        total(&["asimddp"]),
        total(&["avx2"]) + embedding.expect("there").host_bytes
    );
}

#[test]
fn integrated_gpus_are_read_into_unless_asked() {
    let mut machine = machine(&[Vendor::Nvidia], &[]);
    machine.gpus[0].unified = true;
    let maps = |settings: &[(&str, Value)]| loader(&machine, settings).maps;
    assert!(!maps(&[]));
    assert!(maps(&[("load_mode", word("mmap"))]));
    assert!(maps(&[("engine_version", word("2026-05"))]));
    let apple = self::machine(&[Vendor::Apple], &[]);
    assert!(loader(&apple, &[]).shares_pages);
}

#[test]
fn residence_names_every_way() {
    let table = table(FileType::Q4_K_M, false);
    let row = table
        .rows
        .iter()
        .find(|row| row.is_routed())
        .expect("experts");
    let of = |vendors: &[Vendor], settings: &[(&str, Value)]| {
        loader(&machine(vendors, &["sse4_2"]), settings).residence(row)
    };
    let none = ("load_mode", word("none"));
    assert_eq!(of(&[Vendor::Amd], &[]), Residence::Mapped);
    assert_eq!(
        of(&[Vendor::Amd], std::slice::from_ref(&none)),
        Residence::Pinned
    );
    assert_eq!(of(&[], &[none]), Residence::Read);
}
