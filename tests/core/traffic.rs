//! What llama.cpp reads per token, against what is in the file.

use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::traffic::{DeviceTraffic, Together, Traffic};
use plimsoll::engine::{self, Inputs, Margin, Memo};
use plimsoll::hardware::Machine;
use plimsoll::model::Model;
use plimsoll::plan::{Settings, Value};
use plimsoll::speed;
use plimsoll::units::Bytes;

use crate::modelled::machine;

fn model(id: &str) -> Model {
    let preset = ModelCatalog::embedded().find(id).unwrap();
    preset.model(&serde_json::Map::default()).unwrap()
}

fn cards(count: usize) -> Machine {
    let mut machine = machine(&vec![Bytes::from_gib(1024); count], (8, 9));
    for gpu in &mut machine.gpus {
        gpu.bandwidth_gb_s = Some(1000.0);
    }
    machine
}

fn traffic(model: &Model, machine: &Machine, further: &[(&str, Value)]) -> Traffic {
    let all = ("n_gpu_layers", Value::Text("all".to_owned()));
    let context = ("ctx_size", Value::Integer(32_768));
    let settings: Settings = [all, context]
        .iter()
        .chain(further)
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    let inputs = Inputs {
        model,
        draft: None,
        machine,
        settings: &settings,
        margin: Margin::DEFAULT,
        memo: &Memo::default(),
    };
    let engine = engine::find("llama.cpp").unwrap();
    engine.traffic(&inputs).expect("it would start")
}

fn in_f16() -> (&'static str, Value) {
    ("weights", Value::Text("F16".to_owned()))
}

/// An embedding of its own is looked up, a tied one is read as the head.
#[test]
fn every_weight_of_a_dense_model_is_read_but_the_embedding() {
    for (id, tied) in [("Qwen3-32B", false), ("Llama-3.2-3B-Instruct", true)] {
        let model = model(id);
        let traffic = traffic(&model, &cards(1), &[in_f16()]);
        let embedding = 2 * model.vocab_size * model.hidden_size;
        let read = traffic.file_bytes.get() - if tied { 0 } else { embedding };
        assert_eq!(traffic.gpus[0].weight_bytes(1.0) as u64, read, "{id}");
        assert!(traffic.host.is_idle(), "{id}");
    }
}

/// Two operations per active parameter, head and embedding left out, small vectors aside.
#[test]
fn prompts_pass_through_the_active_parameters() {
    for id in [
        "Qwen3-32B",
        "DeepSeek-R1",
        "gpt-oss-120b",
        "Qwen3-Next-80B-A3B-Instruct",
    ] {
        let model = model(id);
        let parameters = model.parameters();
        let active = parameters.active() - parameters.embedding - parameters.head;
        let traffic = traffic(&model, &cards(1), &[]);
        let operations = traffic.gpus[0].operations();
        let ratio = operations / (2.0 * active as f64);
        assert!((ratio - 1.0).abs() < 0.01, "{id}: {ratio}");
    }
}

#[test]
fn experts_in_main_memory_are_read_there() {
    let model = model("DeepSeek-R1");
    let on_host = ("cpu_moe", Value::Bool(true));
    let all = traffic(&model, &cards(1), &[]);
    let split = traffic(&model, &cards(1), &[on_host]);
    let used = |device: &DeviceTraffic| device.weight_bytes(1.0);
    let sum = used(&split.gpus[0]) + used(&split.host);
    assert!((sum - used(&all.gpus[0])).abs() < 1.0);
    // 8 of 256 experts over 58 layers are most of what is active.
    assert!(used(&split.host) > used(&split.gpus[0]));
    // Every token of a large batch wants other experts, until all are wanted.
    let held: u64 = split.host.weights.iter().map(|read| read.bytes.get()).sum();
    assert!(split.host.weight_bytes(4096.0) > 0.999 * held as f64);
}

/// Window layers stop reading at their window; the depth counts for the others.
#[test]
fn windows_bound_what_is_read() {
    let model = model("gemma-3-27b-it");
    let traffic = traffic(&model, &cards(1), &[("parallel", Value::Integer(1))]);
    let read = |depth| traffic.gpus[0].cache_bytes(depth);
    let cell: u64 = traffic.gpus[0]
        .caches
        .iter()
        .map(|cache| cache.cell_bytes)
        .sum();
    assert_eq!(read(100) as u64, 100 * cell);
    let grown = read(20_000) - read(10_000);
    // Ten of 62 layers are full.
    assert!((grown / (10_000.0 * cell as f64) - 10.0 / 62.0).abs() < 1e-9);
}

#[test]
fn a_split_reads_the_same_in_total() {
    let model = model("DeepSeek-R1-Distill-Llama-70B");
    let one = traffic(&model, &cards(1), &[]);
    let four = traffic(&model, &cards(4), &[]);
    let read = |traffic: &Traffic| -> f64 {
        let gpus = traffic.gpus.iter();
        gpus.map(|gpu| gpu.weight_bytes(1.0) + gpu.cache_bytes(5_000))
            .sum()
    };
    // Tables of rotary factors are on every card.
    assert!((read(&four) / read(&one) - 1.0).abs() < 1e-6);
    assert_eq!(four.gpus_used(), 4);
    let layers: u64 = four.gpus.iter().map(|gpu| gpu.layers).sum();
    assert_eq!(layers, 80);
}

/// Four cards that each hold a part of every tensor read it at once.
#[test]
fn parts_of_tensors_are_read_at_once() {
    let model = model("DeepSeek-R1-Distill-Llama-70B");
    let machine = cards(4);
    let mode = |word: &str| ("split_mode", Value::Text(word.to_owned()));
    let layers = traffic(&model, &machine, &[mode("layer")]);
    let parts = traffic(&model, &machine, &[mode("tensor")]);
    assert_eq!(parts.together, Together::AtOnce);
    assert_eq!(parts.gpus_used(), 4);
    let read = |traffic: &Traffic| -> f64 {
        let gpus = traffic.gpus.iter();
        gpus.map(|gpu| gpu.weight_bytes(1.0)).sum()
    };
    assert!((read(&parts) / read(&layers) - 1.0).abs() < 1e-6);
    let rate = |traffic: &Traffic| {
        let estimate = speed::decode(traffic, &machine, 1, 0).expect("known");
        estimate.likely
    };
    let gain = rate(&parts) / rate(&layers);
    assert!((1.5..4.0).contains(&gain), "{gain}");
}

/// Cards of a second node count, and the way there takes time.
#[test]
fn further_nodes_have_their_part() {
    let model = model("DeepSeek-R1-Distill-Llama-70B");
    let mut machine = cards(2);
    let one = traffic(&model, &machine, &[]);
    machine.nodes = 2;
    let server = Value::List(vec![Value::Text("10.0.0.2:50052".to_owned())]);
    let two = traffic(&model, &machine, &[("rpc", server)]);
    assert_eq!(two.gpus_used(), 4);
    let rate = |traffic: &Traffic| {
        let estimate = speed::decode(traffic, &machine, 1, 0).expect("known");
        estimate.likely
    };
    assert!(rate(&two) < rate(&one));
}

#[test]
fn estimates_follow_their_causes() {
    let model = model("Qwen3-32B");
    let machine = cards(1);
    let plain = traffic(&model, &machine, &[]);
    let rate = |traffic: &Traffic, machine: &Machine, streams, depth| {
        let estimate = speed::decode(traffic, machine, streams, depth).expect("known");
        assert!(estimate.low <= estimate.likely && estimate.likely <= estimate.high);
        estimate.likely
    };
    let usual = rate(&plain, &machine, 1, 0);
    assert!(rate(&plain, &machine, 1, 30_000) < usual, "depth slows");
    assert!(
        rate(&plain, &machine, 8, 0) > 4.0 * usual,
        "streams share what is read"
    );
    let mut faster = machine.clone();
    faster.gpus[0].bandwidth_gb_s = Some(2000.0);
    assert!(rate(&plain, &faster, 1, 0) > usual);
    assert!(rate(&traffic(&model, &machine, &[in_f16()]), &machine, 1, 0) < usual);
    let mut unknown = machine.clone();
    unknown.gpus[0].bandwidth_gb_s = None;
    let missing = speed::estimate(&plain, &unknown).unwrap_err().to_string();
    assert!(missing.contains("bandwidth_gb_s"), "{missing}");
}

/// A larger micro-batch makes uploads of experts count less.
#[test]
fn uploads_bound_prompts() {
    let model = model("gpt-oss-120b");
    let machine = cards(1);
    let on_host = ("cpu_moe", Value::Bool(true));
    let rate = |tokens| {
        let batch = ["batch_size", "ubatch_size"].map(|name| (name, Value::Integer(tokens)));
        let mut settings = batch.to_vec();
        settings.push(on_host.clone());
        let traffic = traffic(&model, &machine, &settings);
        speed::prefill(&traffic, &machine, 8_192, 0)
            .expect("known")
            .likely
    };
    assert!(rate(4_096) > 2.0 * rate(512));
}
