//! Projectors and adapters from files of their own.

use std::sync::Arc;

use plimsoll::engine::Memo;
use plimsoll::engine::Outcome;
use plimsoll::engine::llamacpp::file_type::FileType;
use plimsoll::engine::ollama::Ollama;
use plimsoll::model::{Attached, Checkpoint, Container, FileTensor, Model};
use plimsoll::plan::{LaunchOptions, Value};
use plimsoll::projection::{Category, Part};
use plimsoll::quant::Type;
use plimsoll::units::Bytes;

use super::{codes, opened, predicted, projected, projected_by, settings, terms};
use crate::modelled::preset_with;

const PLAN: &str = "n_gpu_layers = \"all\"\nctx_size = 4096\nparallel = 1";

fn tensor(name: &str, shape: [u64; 4], kind: Type) -> FileTensor {
    FileTensor {
        name: name.to_owned(),
        shape,
        kind: Some(kind),
        type_name: kind.name().into(),
        bytes: kind.shape_bytes(&shape).expect("whole blocks"),
        role: plimsoll::model::TensorRole::Parameters,
    }
}

fn file(tensors: Vec<FileTensor>) -> Arc<Checkpoint> {
    Arc::new(Checkpoint::new(Container::Gguf, None, tensors))
}

fn with(model: &Model, attached: Attached) -> Model {
    Model {
        attached,
        ..model.clone()
    }
    .sealed()
}

/// Bytes of a part on a device when it runs.
fn part(outcome: &Outcome, device: usize, category: Category, part: Part) -> u64 {
    let all = terms(outcome).into_iter();
    let here = all.filter(|term| (term.0, term.1, term.2, term.3) == (1, device, category, part));
    here.map(|term| term.4.get()).sum()
}

fn llama() -> Model {
    let model = preset_with("Llama-3.1-8B-Instruct", None).expect("a preset");
    let tensors = predicted(&model, FileType::Q4_K_M, false);
    opened(&model, None, tensors)
}

/// Two factors for the queries of two blocks, of ranks 16 and 64, where those blocks are.
fn adapter() -> Arc<Checkpoint> {
    let pair = |block: u64, rank: u64| {
        let name = format!("blk.{block}.attn_q.weight");
        [
            tensor(&format!("{name}.lora_a"), [4096, rank, 1, 1], Type::F16),
            tensor(&format!("{name}.lora_b"), [rank, 4096, 1, 1], Type::F32),
        ]
    };
    file(pair(3, 16).into_iter().chain(pair(31, 64)).collect())
}

#[test]
fn an_adapter_lies_with_what_it_changes() {
    let attached = Attached {
        adapters: vec![Some(adapter())],
        ..Attached::default()
    };
    let model = with(&llama(), attached);
    let cards = [Bytes::from_gib(24)];
    let (small, large) = (16 * 4096 * 6, 64 * 4096 * 6);
    let all = projected(&model, &cards, PLAN);
    assert!(!all.refused, "{:?}", all.notes);
    assert_eq!(
        part(&all, 0, Category::Weights, Part::Adapter),
        small + large
    );
    let half = projected(
        &model,
        &cards,
        "n_gpu_layers = 17\nctx_size = 4096\nparallel = 1",
    );
    assert_eq!(part(&half, 0, Category::Weights, Part::Adapter), large);
    assert_eq!(part(&half, 1, Category::Weights, Part::Adapter), small);
    // What the plan says of it in words gives way to the file; of a second one it still counts.
    let plan = format!("{PLAN}\nlora = [\"rank=32\"]");
    let worded = projected(&model, &cards, &plan);
    assert_eq!(terms(&worded), terms(&all));
    let plan = format!("{PLAN}\nlora = [\"rank=32\", \"rank=16 targets=all-linear\"]");
    let two = projected(&model, &cards, &plan);
    assert_eq!(
        part(&two, 0, Category::Weights, Part::Adapter),
        small + large + 2 * 41_943_040
    );
}

#[test]
fn an_adapter_of_another_model_is_refused() {
    let strange = tensor("blk.40.attn_q.weight.lora_a", [4096, 16, 1, 1], Type::F16);
    let attached = Attached {
        adapters: vec![Some(file(vec![strange]))],
        ..Attached::default()
    };
    let found = projected(&with(&llama(), attached), &[], "ctx_size = 512");
    assert!(found.refused);
    assert!(codes(&found).contains(&"lora-target-unknown"));
}

/// A projector beside a file that does not say what the tower computes.
#[test]
fn a_projector_has_the_bytes_of_its_file() {
    let tower = file(vec![
        tensor("v.patch_embd.weight", [14, 14, 3, 1152], Type::F32),
        tensor("v.blk.0.attn_q.weight", [1152, 1152, 1, 1], Type::F16),
        tensor("v.blk.0.ffn_up.weight", [1152, 4304, 1, 1], Type::Q8_0),
    ]);
    let attached = Attached {
        projector: Some(Arc::clone(&tower)),
        ..Attached::default()
    };
    let model = with(&llama(), attached);
    let cards = [Bytes::from_gib(24)];
    let off = projected(&model, &cards, PLAN);
    assert_eq!(part(&off, 0, Category::Weights, Part::Projector), 0);
    let on = projected(&model, &cards, &format!("{PLAN}\nmmproj = true"));
    assert!(!on.refused, "{:?}", on.notes);
    assert!(codes(&on).contains(&"projector-buffer-unknown"));
    // The rows of 1,152 elements in q8_0 end with room for 384 more, in 12 blocks of 34 bytes.
    let expected = (tower.bytes.get() + 12 * 34).next_multiple_of(128);
    assert_eq!(part(&on, 0, Category::Weights, Part::Projector), expected);
    let beside = projected(
        &model,
        &cards,
        &format!("{PLAN}\nmmproj = true\nmmproj_offload = false"),
    );
    assert_eq!(
        part(&beside, 1, Category::Weights, Part::Projector),
        tower.bytes.get()
    );
}

/// A Modelfile names adapters and a projector, and the server below loads them.
#[test]
fn ollama_counts_adapters_and_the_projector() {
    let cards = [Bytes::from_gib(24)];
    let plan = settings("num_ctx = 4096\nnum_gpu = 33");
    let memo = Memo::default();
    let project = |attached| projected_by(&Ollama, &with(&llama(), attached), &cards, &plan, &memo);
    let adapted = project(Attached {
        adapters: vec![Some(adapter())],
        ..Attached::default()
    });
    let expected = 16 * 4096 * 6 + 64 * 4096 * 6;
    assert_eq!(
        part(&adapted, 0, Category::Weights, Part::Adapter),
        expected
    );
    let tower = file(vec![tensor("v.x", [1024, 1024, 1, 1], Type::F16)]);
    let seeing = |width: u64| Attached {
        projector: Some(Arc::clone(&tower)),
        projector_width: Some(width),
        ..Attached::default()
    };
    let found = project(seeing(4096));
    assert_eq!(
        part(&found, 0, Category::Weights, Part::Projector),
        tower.bytes.get()
    );
    assert!(!found.refused, "{:?}", found.notes);
    assert!(codes(&project(seeing(1))).contains(&"projector-of-other-model"));
    // Where the server fits the layers, it keeps as much more free.
    let tight = [Bytes::from_gib(6)];
    let plan = settings("num_ctx = 4096");
    let large = file(vec![tensor("v.x", [1024, 1024, 512, 1], Type::F16)]);
    let layers = |attached| {
        let model = with(&llama(), attached);
        let found = projected_by(&Ollama, &model, &tight, &plan, &memo);
        match found.resolved.get("num_gpu") {
            Some(Value::Integer(layers)) => *layers,
            other => panic!("{other:?}"),
        }
    };
    let with_projector = layers(Attached {
        projector: Some(large),
        ..Attached::default()
    });
    assert!(with_projector < layers(Attached::default()));
}

/// Files beside the model take time to load, and adapters are read with each token.
#[test]
fn what_is_beside_the_model_counts_for_speed() {
    let cards = [Bytes::from_gib(24)];
    let traffic = |attached| {
        let found = projected(
            &with(&llama(), attached),
            &cards,
            &format!("{PLAN}\nmmproj = true"),
        );
        found.traffic.expect("known by its tensors")
    };
    let alone = traffic(Attached::default());
    let tower = file(vec![tensor("v.x", [1024, 1024, 1, 1], Type::F16)]);
    let beside = traffic(Attached {
        projector: Some(Arc::clone(&tower)),
        adapters: vec![Some(adapter())],
        ..Attached::default()
    });
    let adapter = Bytes::new(16 * 4096 * 6 + 64 * 4096 * 6);
    assert_eq!(beside.file_bytes, alone.file_bytes + tower.bytes + adapter);
    let (held, read) = (beside.gpus[0].resident, beside.gpus[0].weight_bytes(1.0));
    assert_eq!(held, alone.gpus[0].resident + tower.bytes + adapter);
    let before = alone.gpus[0].weight_bytes(1.0);
    assert_eq!((read - before) as u64, adapter.get());
}

/// The file of a model of other widths, whose matrices have the same names.
#[test]
fn an_adapter_of_other_widths_is_refused() {
    let name = "blk.0.attn_q.weight";
    for (width, height, fits) in [(4096, 4096, true), (8192, 4096, false), (4096, 8192, false)] {
        let pair = vec![
            tensor(&format!("{name}.lora_a"), [width, 16, 1, 1], Type::F16),
            tensor(&format!("{name}.lora_b"), [16, height, 1, 1], Type::F16),
        ];
        let attached = Attached {
            adapters: vec![Some(file(pair))],
            ..Attached::default()
        };
        let found = projected(&with(&llama(), attached), &[], "ctx_size = 512");
        assert_eq!(found.refused, !fits, "{width} {height}");
        assert_eq!(codes(&found).contains(&"lora-of-other-model"), !fits);
    }
}

/// A projector makes tokens as wide as those of its model; one that is named has to be loaded, too.
#[test]
fn a_projector_belongs_to_its_model_and_is_loaded_when_asked() {
    for (width, fits) in [(4096, true), (2560, false)] {
        let attached = Attached {
            projector: Some(file(vec![tensor("v.x", [64, 64, 1, 1], Type::F16)])),
            projector_width: Some(width),
            ..Attached::default()
        };
        let model = with(&llama(), attached);
        let found = projected(&model, &[], "ctx_size = 512\nmmproj = true");
        assert_eq!(found.refused, !fits, "{width}");
        assert_eq!(codes(&found).contains(&"projector-of-other-model"), !fits);
        let off = projected(&model, &[], "ctx_size = 512");
        assert!(!off.refused);
        let note = off
            .notes
            .iter()
            .find(|note| note.code == "projector-not-loaded");
        let fix = note.and_then(|note| note.fix.as_ref()).expect("a fix");
        assert!(fix.set.contains_key("mmproj"));
    }
}

/// Files that are elsewhere may be where the launch runs; what is here and is something else no engine loads.
#[test]
fn files_beside_a_model_are_read_where_they_are() {
    let asked = |mmproj: Option<&str>, lora: Option<&str>| {
        let options = LaunchOptions {
            mmproj_path: mmproj.map(str::to_owned),
            lora_paths: lora.iter().map(|path| (*path).to_owned()).collect(),
            ..LaunchOptions::default()
        };
        let model = plimsoll::source::attached(llama(), &options);
        projected(
            &model,
            &[],
            "ctx_size = 512\nmmproj = true\nmmproj_offload = false",
        )
    };
    let said = |found: &Outcome, code: &str| {
        let note = found.notes.iter().find(|note| note.code == code);
        note.unwrap_or_else(|| panic!("{code}: {:?}", found.notes))
            .message
            .clone()
    };
    let folder = tempfile::tempdir().expect("a folder");
    let broken = folder.path().join("broken.gguf");
    std::fs::write(&broken, b"not at all").expect("a file");
    let broken = broken.to_str().expect("UTF-8");
    let tiny = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/gguf/tiny.gguf");
    let here = folder.path().to_str().expect("UTF-8");
    for (mmproj, lora) in [(true, false), (false, true)] {
        let ask = |path| asked(Some(path).filter(|_| mmproj), Some(path).filter(|_| lora));
        let key = if mmproj { "mmproj_path" } else { "lora_paths" };
        let away = ask("/nowhere/x.gguf");
        let message = said(&away, "attached-file-absent");
        assert!(
            message.starts_with(key) && message.contains("no such file"),
            "{message}"
        );
        if mmproj {
            assert!(!away.refused, "{:?}", away.notes);
        }
        for (path, words) in [
            (broken, "cannot be read"),
            (tiny, "is a model"),
            (here, "no file at all"),
        ] {
            let found = ask(path);
            assert!(found.refused, "{path}");
            let message = said(&found, "attached-file-refused");
            assert!(
                message.contains(words) && message.contains("Under [launch]"),
                "{message}"
            );
        }
    }
    // Nothing is named: nothing is said.
    let model = llama();
    let same = plimsoll::source::attached(model.clone(), &LaunchOptions::default());
    assert_eq!(same.fingerprint, model.fingerprint);
}
