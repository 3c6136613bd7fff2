//! An adapter as a plan describes it: "rank=16 targets=all-linear type=f16".

use std::str::FromStr;

use crate::quant::Type;

/// Rank where none is written: PEFT's usual choice in examples, and that of most published adapters.
const USUAL_RANK: u64 = 16;

/// Highest rank that is taken; beyond it an adapter is larger than what it adapts.
const HIGHEST_RANK: u64 = 8192;

/// One adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Adapter {
    pub(super) rank: u64,
    pub(super) targets: Targets,
    /// Type of its file.
    pub(super) kind: Type,
}

/// Which matrices it changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "kinds of matrices, each in or out"
)]
pub(super) struct Targets {
    attention: bool,
    feed_forward: bool,
    /// Everything else that is a matrix: state spaces, joining projections.
    rest: bool,
    experts: bool,
    names: Vec<String>,
}

impl FromStr for Adapter {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let mut adapter = Self {
            rank: USUAL_RANK,
            targets: Targets::default(),
            kind: Type::F16,
        };
        let mut targets = "all-linear";
        for word in line.split_whitespace() {
            let Some((key, value)) = word.split_once('=') else {
                return Err(format!("{word:?} is not of the form key=value"));
            };
            match key {
                "rank" | "r" => {
                    let rank = value.parse().ok();
                    let rank = rank.filter(|rank| (1..=HIGHEST_RANK).contains(rank));
                    adapter.rank = rank.ok_or_else(|| {
                        format!("a rank is a whole number from 1 to {HIGHEST_RANK}, not {value:?}")
                    })?;
                }
                "targets" => targets = value,
                "type" => {
                    let kinds = [Type::F32, Type::F16, Type::BF16, Type::Q8_0];
                    let kind = value.to_lowercase().parse().ok();
                    adapter.kind = kind.filter(|kind| kinds.contains(kind)).ok_or_else(|| {
                        format!("its type is f32, f16, bf16 or q8_0, not {value:?}")
                    })?;
                }
                _ => return Err(format!("{key:?} is none of rank, targets and type")),
            }
        }
        adapter.targets = targets.parse()?;
        Ok(adapter)
    }
}

impl FromStr for Targets {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut targets = Self::default();
        for name in text.split([',', '+']).map(str::trim) {
            match name {
                "" => {}
                "all-linear" | "all" => {
                    targets.attention = true;
                    targets.feed_forward = true;
                    targets.rest = true;
                }
                "attention" => targets.attention = true,
                "mlp" => targets.feed_forward = true,
                "experts" => {
                    targets.experts = true;
                    targets.feed_forward = true;
                }
                name => targets.names.push(name.to_owned()),
            }
        }
        if targets == Self::default() {
            return Err("it changes nothing".to_owned());
        }
        Ok(targets)
    }
}

impl Targets {
    /// A matrix by its name in a block ("attn_q").
    pub(super) fn include(&self, name: &str) -> bool {
        let kind = if name.starts_with("attn_") {
            self.attention
        } else if name.starts_with("ffn_") {
            self.feed_forward
        } else {
            self.rest
        };
        kind || self.names.iter().any(|own| own == name)
    }

    /// Matrices of routed experts too.
    pub(super) fn experts(&self) -> bool {
        self.experts || self.names.iter().any(|name| name.ends_with("_exps"))
    }

    /// Matrices that are named one by one.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Result<(u64, Type, &[&str]), &str>) {
        let probe = ["attn_q", "ffn_down", "ssm_in", "attn_output"];
        let found = line.parse::<Adapter>().map(|adapter| {
            let included: Vec<&str> = probe
                .into_iter()
                .filter(|name| adapter.targets.include(name))
                .collect();
            (adapter.rank, adapter.kind, included)
        });
        match (found, expected) {
            (Ok((rank, kind, included)), Ok(wanted)) => {
                assert_eq!((rank, kind, included.as_slice()), wanted, "{line}");
            }
            (Err(reason), Err(part)) => assert!(reason.contains(part), "{line}: {reason}"),
            (found, _) => panic!("{line}: {found:?}"),
        }
    }

    #[test]
    fn lines_say_rank_targets_and_type() {
        let all: &[&str] = &["attn_q", "ffn_down", "ssm_in", "attn_output"];
        check("", Ok((16, Type::F16, all)));
        check(
            "rank=64 targets=attention type=F32",
            Ok((64, Type::F32, &["attn_q", "attn_output"])),
        );
        check(
            "r=8 targets=attn_q,ffn_down",
            Ok((8, Type::F16, &["attn_q", "ffn_down"])),
        );
        check("rank=0", Err("from 1 to"));
        check("16", Err("key=value"));
        check("type=q4_0", Err("bf16"));
        check("alpha=2", Err("none of"));
        check("targets=", Err("changes nothing"));
    }
}
