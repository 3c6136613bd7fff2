//! Files that are no models but go with one: projectors, adapters, matrices for quantizers, vocabularies.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;

use super::{Certainty, Figure, HyperParameters, Inspection, tensors};
use crate::model::{Checkpoint, Container};
use crate::quant::Type;
use crate::source::access::Entry;
use crate::source::checkpoint::Adapter;
use crate::source::gguf::{self, Gguf, Kind};

/// Longest text of metadata that is shown; longer ones are licences and templates.
const TEXT: usize = 120;
/// Longest list that is shown element by element.
const LIST: usize = 16;

impl Inspection {
    /// What there is to say of a GGUF file that is no model.
    pub fn of_part(file: &Gguf, files: Vec<Entry>) -> Self {
        let checkpoint = &*file.checkpoint;
        let text = |key| file.metadata.text(key).unwrap_or_default().to_owned();
        let (by_kind, by_type) = tensors::of_files(0, checkpoint);
        let elements = checkpoint.elements();
        let has_tensors = elements > 0;
        Self {
            schema: 1,
            what: word(file.kind),
            name: file.title(),
            model_type: text("general.architecture"),
            architecture: text("clip.projector_type"),
            wrapper_type: None,
            container: Some(Container::Gguf.name()),
            label: checkpoint.label.clone(),
            certainty: if file.assumptions.is_empty() {
                Certainty::Exact
            } else {
                Certainty::Assumed
            },
            hyper_parameters: metadata(file),
            layers: Vec::new(),
            params_total: elements,
            params_active: elements,
            tensor_bytes: Some(checkpoint.bytes),
            bits_per_weight: has_tensors
                .then(|| 8.0 * checkpoint.bytes.get() as f64 / elements as f64),
            by_kind,
            by_type,
            files,
            cache: None,
            cache_unknown: None,
            assumptions: file.assumptions.clone(),
        }
    }
}

impl Inspection {
    /// What there is to say of an adapter as PEFT saves it.
    pub fn of_adapter(adapter: &Adapter, name: &str, files: Vec<Entry>) -> Self {
        let checkpoint = adapter.checkpoint.as_deref();
        let (by_kind, by_type) = match checkpoint {
            Some(checkpoint) => tensors::of_files(0, checkpoint),
            None => (Vec::new(), Vec::new()),
        };
        let elements = checkpoint.map_or(0, Checkpoint::elements);
        let bytes = checkpoint.map(|checkpoint| checkpoint.bytes);
        Self {
            schema: 1,
            what: word(Kind::Adapter),
            name: name.to_owned(),
            model_type: adapter.kind.clone(),
            architecture: String::new(),
            wrapper_type: None,
            container: checkpoint.map(|checkpoint| checkpoint.container.name()),
            label: checkpoint.and_then(|checkpoint| checkpoint.label.clone()),
            certainty: match (adapter.assumptions.is_empty(), elements) {
                (false, _) => Certainty::Assumed,
                (true, 0) => Certainty::Configuration,
                (true, _) => Certainty::Exact,
            },
            hyper_parameters: settings(adapter),
            layers: Vec::new(),
            params_total: elements,
            params_active: elements,
            tensor_bytes: bytes,
            bits_per_weight: bytes
                .filter(|_| elements > 0)
                .map(|bytes| 8.0 * bytes.get() as f64 / elements as f64),
            by_kind,
            by_type,
            files,
            cache: None,
            cache_unknown: None,
            assumptions: adapter.assumptions.clone(),
        }
    }
}

/// What the configuration of an adapter says, under its own names.
fn settings(adapter: &Adapter) -> HyperParameters {
    let texts = [
        ("base_model_name_or_path", adapter.base.clone()),
        ("target_modules", listed(&adapter.targets)),
        ("modules_to_save", listed(&adapter.saved_modules)),
    ];
    let texts = texts
        .into_iter()
        .filter_map(|(name, text)| Some((name, Figure::Text(text?))));
    let rank = adapter.rank.map(|rank| ("r", Figure::Number(rank)));
    rank.into_iter()
        .chain(texts)
        .map(|(name, figure)| (Cow::Borrowed(name), figure))
        .collect()
}

/// Names in a row; of long lists how long they are.
fn listed(names: &[String]) -> Option<String> {
    match names {
        [] => None,
        _ if names.len() > LIST => Some(format!("a list of {}", names.len())),
        _ => Some(names.join(", ")),
    }
}

/// What it is, in a word or two.
const fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Model => "model",
        Kind::Projector => "projector",
        Kind::Adapter => "adapter",
        Kind::ControlVector => "control vector",
        Kind::ImportanceMatrix => "importance matrix",
        Kind::Vocabulary => "vocabulary",
        Kind::Other => "unknown",
    }
}

/// What the file says of itself, key by key; of long lists how long they are.
fn metadata(file: &Gguf) -> HyperParameters {
    let figures = file.metadata.iter().filter_map(|(key, entry)| {
        let figure = match entry {
            gguf::Entry::Value(value) => figure(value)?,
            gguf::Entry::List(count) => Figure::Text(format!("a list of {count}")),
            gguf::Entry::Text(_) => return None,
        };
        Some((Cow::Owned(key.to_owned()), figure))
    });
    figures.collect()
}

fn figure(value: &Value) -> Option<Figure> {
    Some(match value {
        Value::Bool(on) => Figure::Flag(*on),
        Value::Number(number) => match number.as_u64() {
            Some(number) => Figure::Number(number),
            None => Figure::Text(number.to_string()),
        },
        Value::String(text) if text.chars().count() <= TEXT => Figure::Text(text.clone()),
        Value::Array(list) if list.len() <= LIST => {
            let list: Vec<String> = list.iter().map(Value::to_string).collect();
            Figure::Text(list.join(", "))
        }
        Value::Array(list) => Figure::Text(format!("a list of {}", list.len())),
        Value::Null | Value::String(_) | Value::Object(_) => return None,
    })
}

/// A line that describes an adapter as plans do ("rank=16 targets=attn_q,attn_v type=f16"), from its own tensors
/// (`blk.0.attn_q.weight.lora_a`, llama.cpp 0.6.0-dev `src/llama-adapter.cpp`); `None` where it has none of these.
pub fn adapter_line(checkpoint: &Checkpoint) -> Option<String> {
    let mut targets = BTreeSet::new();
    let mut rank = 0;
    let mut kind = None;
    for tensor in &checkpoint.tensors {
        let Some(matrix) = tensor.name.strip_suffix(".weight.lora_a") else {
            continue;
        };
        // Its second dimension; the first is the width of what is adapted.
        let [_, own_rank, _, _] = tensor.shape;
        rank = rank.max(own_rank);
        kind = kind.or(tensor.kind);
        let name = matrix.strip_prefix("blk.").and_then(|rest| {
            let (_, name) = rest.split_once('.')?;
            Some(name)
        });
        targets.insert(name.unwrap_or(matrix).to_owned());
    }
    let kind = match kind? {
        kind @ (Type::F32 | Type::BF16 | Type::Q8_0) => kind.name(),
        _ => Type::F16.name(),
    };
    let targets: Vec<String> = targets.into_iter().collect();
    Some(format!(
        "rank={rank} targets={} type={kind}",
        targets.join(",")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FileTensor, TensorRole};
    use crate::units::Bytes;

    fn tensor(name: &str, shape: [u64; 4]) -> FileTensor {
        FileTensor {
            name: name.to_owned(),
            shape,
            kind: Some(Type::F32),
            type_name: Cow::Borrowed("f32"),
            bytes: Bytes::ZERO,
            role: TensorRole::Parameters,
        }
    }

    #[test]
    fn an_adapter_is_described_by_its_tensors() {
        let tensors = vec![
            tensor("blk.0.attn_q.weight.lora_a", [64, 8, 1, 1]),
            tensor("blk.0.attn_q.weight.lora_b", [8, 64, 1, 1]),
            tensor("blk.1.attn_v.weight.lora_a", [64, 16, 1, 1]),
            tensor("output.weight.lora_a", [64, 8, 1, 1]),
        ];
        let adapter = Checkpoint::new(Container::Gguf, None, tensors);
        assert_eq!(
            adapter_line(&adapter).as_deref(),
            Some("rank=16 targets=attn_q,attn_v,output type=f32")
        );
        let none = Checkpoint::new(Container::Gguf, None, Vec::new());
        assert_eq!(adapter_line(&none), None);
    }
}
