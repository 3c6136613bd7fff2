//! Files as the converter writes them for every preset, opened and projected from what they hold.

use plimsoll::engine::Memo;
use plimsoll::engine::llamacpp::LlamaCpp;
use plimsoll::engine::llamacpp::file_type::FileType;
use plimsoll::engine::llamacpp::tensors::{Layer, TensorTable};
use plimsoll::model::Model;
use plimsoll::projection::{Category, Severity};
use plimsoll::units::Bytes;

use super::{projected_by, settings, terms, text};
use crate::gguf::round_trip::{Written, all, opened};

/// Where the file says something else than the preset's configuration, and why.
const OTHER: [(&str, &str); 5] = [
    ("gemma-3n-E2B-it", PADDED),
    ("gemma-3n-E4B-it", PADDED),
    ("Devstral-Small-2-24B-Instruct-2512", WRAPPED),
    ("Mistral-Medium-3.5-128B", WRAPPED),
    ("Mistral-Small-3.1-24B-Instruct-2503", WRAPPED),
];
const PADDED: &str = "the per-layer table is padded to the rows of the embedding";
const WRAPPED: &str = "the converter goes by the outer model and writes `mistral3`, whose graph scales queries by position";

/// Nothing is missing in any, nothing is too much, and every buffer is as predicted.
#[test]
fn files_of_presets_load_and_take_what_is_predicted() {
    let cards = [Bytes::from_gib(1 << 20), Bytes::from_gib(1 << 20)];
    let memo = Memo::default();
    let mut wrong: Vec<String> = Vec::new();
    let mut read = 0;
    for row in all() {
        let published = row.published();
        let Written { preset: id, kv, .. } = row;
        let Ok(table) = TensorTable::new(&published, FileType::Q8_0, false) else {
            continue;
        };
        let own = opened(&kv, &table);
        // Towers widen the embeddings of some language models, and are in files of their own.
        let published = Model {
            vision: own.vision,
            audio: own.audio,
            ..published
        }
        .sealed();
        read += 1;
        let mut plan = settings("n_gpu_layers = \"all\"\nctx_size = 4096\nparallel = 2");
        let found = projected_by(&LlamaCpp, &own, &cards, &plan, &memo);
        plan.insert("weights".to_owned(), text("Q8_0"));
        let expected = projected_by(&LlamaCpp, &published, &cards, &plan, &memo);
        for note in &found.notes {
            let said = expected.notes.iter().any(|other| other.code == note.code);
            if note.severity != Severity::Hint && !said {
                wrong.push(format!("{id}: {}", note.message));
            }
        }
        let bytes = |outcome| -> Vec<(usize, Category, Bytes)> {
            let all = terms(outcome).into_iter();
            all.map(|term| (term.1, term.2, term.4)).collect()
        };
        let (ours, theirs) = (bytes(&found), bytes(&expected));
        let differs = ours
            .iter()
            .zip(&theirs)
            .find(|(ours, theirs)| ours != theirs);
        match OTHER.iter().find(|(other, _)| *other == id) {
            Some((_, reason)) => println!("{id}: {reason}: {differs:?}"),
            None if ours == theirs => {}
            None => wrong.push(format!("{id}: {differs:?}")),
        }
        let blocks = table
            .rows
            .iter()
            .filter(|row| matches!(row.tensor.layer, Layer::Block(_)));
        assert!(blocks.count() > 0, "{id}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(read > 150, "{read}");
}
