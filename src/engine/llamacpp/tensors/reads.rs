//! Which tensors the loader of an architecture asks for: the rows of `presets/tensors/llama-cpp.toml`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::Deserialize;

/// The rows.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    architectures: BTreeSet<String>,
    reads: BTreeMap<String, Reads>,
}

/// What the loader of one architecture asks for.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reads {
    /// Loading fails without it where the model has it at all.
    needs: BTreeSet<String>,
    /// It may be there.
    asks: BTreeSet<String>,
}

/// Built into the program: a mistake in it fails the test below, and means that nothing is said of files here.
static TABLE: LazyLock<Table> = LazyLock::new(|| parse().unwrap_or_default());

fn parse() -> Result<Table, toml::de::Error> {
    toml::from_str(include_str!("../../../../presets/tensors/llama-cpp.toml"))
}

/// Does the engine load files of this architecture (`general.architecture`) at all?
pub(in crate::engine::llamacpp) fn is_architecture(name: &str) -> bool {
    TABLE.architectures.contains(name)
}

/// What the loader of this architecture asks for; `None`: nobody knows here.
pub(super) fn of(architecture: &str) -> Option<&'static Reads> {
    TABLE.reads.get(architecture)
}

/// Tensors in the place of which the loader takes one that holds them all (`create_tensor_qkv`,
/// `create_tensor_gate_up_exps` in `src/llama-model.cpp`; `src/models/deepseek2.cpp`).
const JOINED: [(&str, &[&str]); 3] = [
    (
        "attn_qkv.weight",
        &["attn_q.weight", "attn_k.weight", "attn_v.weight"],
    ),
    (
        "ffn_gate_up_exps.weight",
        &["ffn_gate_exps.weight", "ffn_up_exps.weight"],
    ),
    ("attn_kv_b.weight", &["attn_k_b.weight", "attn_v_b.weight"]),
];

impl Reads {
    /// Whether the loader asks for a tensor of this name in a file that holds these.
    pub(super) fn knows(&self, name: &str, holds: impl Fn(&str) -> bool) -> bool {
        let plain = without_number(name);
        let asked = self.needs.contains(&*plain) || self.asks.contains(&*plain);
        if !asked {
            return is_sidecar(name);
        }
        let (prefix, tail) = split(name);
        let beside = |other: &str| holds(&format!("{prefix}{other}"));
        match tail {
            // Asked for where its parts are not there; Kimi K3 asks for both.
            "attn_kv_b.weight" => !self.needs.contains(&*plain) || !beside("attn_k_b.weight"),
            _ => JOINED.iter().all(|(whole, parts)| {
                *whole == "attn_kv_b.weight" || !parts.contains(&tail) || !beside(whole)
            }),
        }
    }

    /// Whether loading fails without a tensor of this name, which the model has, in a file that holds these.
    pub(super) fn requires(&self, name: &str, holds: impl Fn(&str) -> bool) -> bool {
        let plain = without_number(name);
        let (prefix, tail) = split(name);
        let beside = |other: &str| holds(&format!("{prefix}{other}"));
        let joined = JOINED
            .iter()
            .any(|(whole, parts)| parts.contains(&tail) && beside(whole));
        if joined {
            return false;
        }
        // Of the one that holds all, either it or its parts.
        let apart = JOINED
            .iter()
            .find(|(whole, _)| *whole == tail)
            .map(|(_, parts)| parts.iter().any(|part| beside(part)));
        match apart {
            Some(apart) => !apart && !beside("ssm_in.weight"),
            None => self.needs.contains(&*plain),
        }
    }

    /// Whether the loader knows blocks that predict further tokens.
    pub(super) fn predicts(&self) -> bool {
        let mut all = self.needs.iter().chain(&self.asks);
        all.any(|name| name.starts_with("blk.nextn."))
    }
}

/// Scales beside quantized matrices, which it asks for of every architecture (`load_tensors` in `src/llama-model.cpp`).
fn is_sidecar(name: &str) -> bool {
    let matrix = name
        .strip_suffix(".input_scale")
        .or_else(|| name.strip_suffix(".scale"));
    matrix.is_some_and(|matrix| matrix == "output" || matrix.starts_with("blk."))
}

/// "blk.12." and "attn_q.weight"; nothing and the name where it is no block's.
fn split(name: &str) -> (&str, &str) {
    let tail = name
        .strip_prefix("blk.")
        .and_then(|rest| rest.split_once('.'))
        .map_or(name, |(_, tail)| tail);
    (name.strip_suffix(tail).unwrap_or_default(), tail)
}

/// "blk.attn_q.weight" of "blk.12.attn_q.weight".
fn without_number(name: &str) -> Cow<'_, str> {
    match split(name) {
        ("", name) => Cow::Borrowed(name),
        (_, tail) => Cow::Owned(format!("blk.{tail}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        let table = parse().expect("the rows built in");
        assert!(table.architectures.len() > 100);
        for (name, reads) in &table.reads {
            assert!(table.architectures.contains(name), "{name}");
            assert!(reads.needs.contains("token_embd.weight"), "{name}");
            assert!(reads.needs.is_disjoint(&reads.asks), "{name}");
        }
    }

    #[test]
    fn what_is_joined_stands_for_its_parts() {
        let qwen = of("qwen3moe").expect("a row");
        let has = |names: &'static [&'static str]| move |name: &str| names.contains(&name);
        let joined = has(&["blk.3.attn_qkv.weight"]);
        assert!(!qwen.requires("blk.3.attn_k.weight", joined));
        assert!(qwen.requires("blk.3.attn_k.weight", has(&[])));
        assert!(!qwen.knows("blk.3.attn_k.weight", joined));
        assert!(qwen.knows("blk.3.attn_k.weight", has(&[])));
        assert!(qwen.knows("blk.3.attn_qkv.bias", has(&[])));
        assert!(qwen.knows("blk.3.ffn_up_exps.scale", has(&[])));
        assert!(!qwen.knows("blk.3.attn_sinks.weight", has(&[])));
        assert!(!qwen.requires("output.weight", has(&[])));
        let deepseek = of("deepseek2").expect("a row");
        let parts = has(&["blk.0.attn_k_b.weight", "blk.0.attn_v_b.weight"]);
        assert!(!deepseek.knows("blk.0.attn_kv_b.weight", parts));
        assert!(deepseek.knows("blk.0.attn_kv_b.weight", has(&[])));
        assert!(!deepseek.requires("blk.0.attn_k_b.weight", has(&["blk.0.attn_kv_b.weight"])));
    }
}
