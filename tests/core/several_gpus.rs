//! Tensors split over GPUs, GPUs of other nodes, and the margin of the engine's own fit.

use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::launch::{Launch, LaunchInputs, Word};
use plimsoll::engine::llamacpp::LlamaCpp;
use plimsoll::engine::{Engine as _, Margin};
use plimsoll::hardware::Machine;
use plimsoll::plan::{LaunchOptions, Settings, Value};
use plimsoll::projection::{Category, Note};
use plimsoll::report::{Report, Verdict};
use plimsoll::units::Bytes;

use crate::report::{check, machine};

fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

fn plan(further: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
    let mut settings = vec![
        ("weights", text("Q4_K_M")),
        ("n_gpu_layers", text("all")),
        ("parallel", Value::Integer(1)),
        ("ctx_size", Value::Integer(8192)),
        ("flash_attn", text("on")),
    ];
    settings.extend_from_slice(further);
    settings
}

fn bytes(report: &Report, device: usize, category: Category) -> Bytes {
    report.devices[device]
        .terms
        .terms
        .iter()
        .filter(|term| term.category == category)
        .map(|term| term.bytes)
        .sum()
}

fn note<'a>(report: &'a Report, code: &str) -> Option<&'a Note> {
    report.notes.iter().find(|note| note.code == code)
}

fn cards(count: usize) -> Machine {
    machine(&format!(
        "ram_mib = 65536\ngpus = [{{ name = \"RTX 3090\", count = {count} }}]"
    ))
}

#[test]
fn a_tensor_split_halves_caches_and_repeats_compute() {
    let by_tensor = [("split_mode", text("tensor"))];
    for model in ["Llama-3.1-8B-Instruct", "Qwen3-30B-A3B", "Qwen3.5-27B"] {
        let alone = check(model, &cards(1), &plan(&[]), 0);
        let split = check(model, &cards(2), &plan(&by_tensor), 0);
        let one = |category| bytes(&alone, 0, category);
        let parts = |category| [bytes(&split, 0, category), bytes(&split, 1, category)];
        // Whole heads: 8, 4 and 4 of them, and 16 of the delta net.
        for category in [Category::KvCache, Category::RecurrentState] {
            assert_eq!(
                parts(category),
                [one(category).mul_ratio(1, 2); 2],
                "{model}"
            );
        }
        // One plan for whole tensors, a buffer of that size on each GPU.
        assert_eq!(
            parts(Category::Compute),
            [one(Category::Compute); 2],
            "{model}"
        );
        let [first, second] = parts(Category::Weights);
        let sum = first + second;
        assert!(sum >= one(Category::Weights), "{model}");
        // Norms, routers and shared experts are on both.
        assert!(
            sum < one(Category::Weights).mul_ratio(105, 100),
            "{model}: {sum}"
        );
        assert!(bytes(&split, 0, Category::Communication) > Bytes::ZERO);
    }
}

#[test]
fn uneven_cards_get_even_parts_unless_told() {
    let mixed =
        machine("ram_mib = 65536\ngpus = [{ name = \"RTX 3090\" }, { name = \"RTX 3060 12GB\" }]");
    let split = check(
        "Llama-3.1-8B-Instruct",
        &mixed,
        &plan(&[("split_mode", text("tensor"))]),
        0,
    );
    let weights = |report: &Report, device| bytes(report, device, Category::Weights);
    assert!(weights(&split, 0).signed_sub(weights(&split, 1)).abs() < 1 << 25);
    let fix = note(&split, "even-parts-on-uneven-gpus").expect("told");
    let fix = fix.fix.clone().expect("a fix");
    let mut settings = plan(&[("split_mode", text("tensor"))]);
    settings.push(("tensor_split", fix.set["tensor_split"].clone()));
    let shared = check("Llama-3.1-8B-Instruct", &mixed, &settings, 0);
    assert!(weights(&shared, 0) > weights(&shared, 1).mul_ratio(17, 10));
    assert!(note(&shared, "even-parts-on-uneven-gpus").is_none());
}

#[test]
fn latent_attention_is_not_split_by_tensor() {
    let report = check(
        "DeepSeek-V2-Lite",
        &cards(2),
        &plan(&[("split_mode", text("tensor"))]),
        0,
    );
    assert_eq!(report.verdict, Verdict::Refused);
    assert!(note(&report, "tensor-split-not-for-model").is_some());
}

#[test]
fn older_builds_split_rows() {
    let older = |mode: &str| {
        let further = [
            ("engine_version", text("2026-05")),
            ("split_mode", text(mode)),
            (
                "tensor_split",
                Value::List(vec![Value::Integer(3), Value::Integer(1)]),
            ),
        ];
        check("Llama-3.1-8B-Instruct", &cards(2), &plan(&further), 0)
    };
    let (layers, rows) = (older("layer"), older("row"));
    let both = |report: &Report, category| bytes(report, 0, category) + bytes(report, 1, category);
    let part = |report: &Report| {
        let all = both(report, Category::Weights).as_mib();
        bytes(report, 0, Category::Weights).as_mib() / all
    };
    // Nothing is lost, and three quarters of every matrix are three quarters.
    assert_eq!(
        both(&layers, Category::Weights),
        both(&rows, Category::Weights)
    );
    assert!((part(&rows) - 0.75).abs() < 0.002, "{}", part(&rows));
    assert!((part(&layers) - 0.75).abs() > 0.002, "{}", part(&layers));
    // Caches stay with their layers.
    for device in [0, 1] {
        let cache = |report| bytes(report, device, Category::KvCache);
        assert_eq!(cache(&layers), cache(&rows));
    }
    assert_eq!(rows.verdict, Verdict::Fits);
    let newest = check(
        "Llama-3.1-8B-Instruct",
        &cards(2),
        &plan(&[("split_mode", text("row"))]),
        0,
    );
    assert_eq!(newest.verdict, Verdict::Refused);
}

const TWO_NODES: &str = "ram_mib = 65536\nnodes = 2\ngpus = [{ name = \"RTX 3090\" }]";

fn remote(further: &[(&'static str, Value)]) -> Vec<(&'static str, Value)> {
    let mut settings = plan(&[("rpc", Value::List(vec![text("192.168.1.11:50052")]))]);
    settings.extend_from_slice(further);
    settings
}

#[test]
fn gpus_of_other_nodes_hold_the_first_layers() {
    let shares = [(
        "tensor_split",
        Value::List(vec![Value::Integer(3), Value::Integer(1)]),
    )];
    let report = check(
        "DeepSeek-R1-Distill-Qwen-32B",
        &machine(TWO_NODES),
        &remote(&shares),
        0,
    );
    let ids: Vec<&str> = report
        .devices
        .iter()
        .map(|device| device.id.as_str())
        .collect();
    assert_eq!(ids, ["gpu0", "node1/gpu0", "host"]);
    // The same as two cards of one node, whose first one is the remote one here.
    let together = check("DeepSeek-R1-Distill-Qwen-32B", &cards(2), &plan(&shares), 0);
    for category in [Category::Weights, Category::KvCache, Category::Compute] {
        assert_eq!(bytes(&report, 1, category), bytes(&together, 0, category));
        assert_eq!(bytes(&report, 0, category), bytes(&together, 1, category));
    }
    assert!(note(&report, "rpc-order").is_some());
    assert!(note(&report, "one-node").is_none());
}

#[test]
fn nodes_without_servers_are_not_used() {
    let report = check(
        "DeepSeek-R1-Distill-Qwen-32B",
        &machine(TWO_NODES),
        &plan(&[]),
        0,
    );
    assert_eq!(report.devices[1].total(), Bytes::ZERO);
    let fix = note(&report, "one-node")
        .expect("told")
        .fix
        .clone()
        .expect("a fix");
    assert_eq!(fix.set["rpc"], Value::List(vec![text("node1:50052")]));
}

fn launch(machine: &Machine, settings: &[(&'static str, Value)]) -> Launch {
    let model = ModelCatalog::embedded().find("Qwen3-8B").expect("a preset");
    let model = model.model(&serde_json::Map::default()).expect("a model");
    let report = check("Qwen3-8B", machine, settings, 1024);
    let settings: Settings = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    LlamaCpp.launch(&LaunchInputs {
        model: &model,
        draft: None,
        machine,
        settings: &settings,
        resolved: &report.settings,
        options: &LaunchOptions::default(),
        margin: Margin::DEFAULT,
        repository: None,
        file: None,
        opened: None,
        revision: None,
        opened_draft: None,
    })
}

fn words(launch: &Launch, step: usize) -> Vec<String> {
    let arguments = launch.steps[step].arguments.iter();
    arguments
        .flat_map(|argument| &argument.words)
        .map(|word| match word {
            Word::Literal(text) | Word::Variable(text) => text.clone(),
        })
        .collect()
}

#[test]
fn the_launch_starts_the_other_nodes_first() {
    let launch = launch(&machine(TWO_NODES), &remote(&[]));
    assert_eq!(launch.steps.len(), 2);
    assert_eq!((launch.steps[0].node, launch.steps[0].role), (1, "worker"));
    assert_eq!(launch.steps[0].program, "ggml-rpc-server");
    assert_eq!(
        words(&launch, 0),
        ["--host", "192.168.1.11", "--port", "50052", "--cache"]
    );
    let server = words(&launch, 1);
    let at = server
        .iter()
        .position(|word| word == "--rpc")
        .expect("an option");
    assert_eq!(server[at + 1], "192.168.1.11:50052");
    let told = launch.remarks.iter().any(|remark| {
        remark.contains("On node 1 start first: ggml-rpc-server --host 192.168.1.11 --port 50052")
    });
    assert!(told, "{:?}", launch.remarks);
}

#[test]
fn fit_leaves_what_a_plan_says_on_each_gpu() {
    let automatic = |targets: &[i64]| {
        let targets = targets.iter().map(|mib| Value::Integer(*mib));
        vec![
            ("weights", text("Q4_K_M")),
            ("ctx_size", Value::Integer(8192)),
            ("parallel", Value::Integer(1)),
            ("fit_target", Value::List(targets.collect())),
        ]
    };
    let card = machine("ram_mib = 65536\ngpus = [{ name = \"RTX 3060 12GB\" }]");
    let weights = |targets: &[i64]| {
        let report = check("Qwen3-32B", &card, &automatic(targets), 1024);
        bytes(&report, 0, Category::Weights)
    };
    assert_eq!(weights(&[]), weights(&[1024]));
    // Three GiB more are left: fewer layers are on the card.
    let less = weights(&[1024]).signed_sub(weights(&[4096]));
    assert!((2 << 30..4 << 30).contains(&less), "{less}");
    let two = cards(2);
    let uneven = check(
        "Llama-3.3-70B-Instruct",
        &two,
        &automatic(&[1024, 8192]),
        1024,
    );
    let total = |device: usize| uneven.devices[device].total();
    assert!(
        total(0) > total(1) + Bytes::from_gib(4),
        "{} {}",
        total(0),
        total(1)
    );
    let server = launch(&two, &automatic(&[1024, 8192]));
    let server = words(&server, 0);
    let at = server
        .iter()
        .position(|word| word == "--fit-target")
        .expect("an option");
    assert_eq!(server[at + 1], "1024,8192");
}
