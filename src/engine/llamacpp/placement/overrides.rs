//! Tensors sent elsewhere.

use std::sync::Arc;

// Names are bytes to the engine's own expressions (`std::regex`), where `.` is any of them.
use regex::bytes::{Regex, RegexBuilder};

use super::{Device, PlacementConfig};
use crate::engine::Memo;
use crate::engine::llamacpp::auto::{Fraction, Overflow};
use crate::engine::llamacpp::config::Override;
use crate::engine::llamacpp::tensors::{Layer, Matrix, Network, Part, Row, TensorTable};

/// Why tensors cannot be placed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::engine::llamacpp) enum Error {
    /// The pattern is no regular expression, or too large a one.
    #[error("cannot evaluate the pattern `{pattern}`: {reason}")]
    Pattern {
        /// As written.
        pattern: String,
        /// The first line of what the parser says.
        reason: String,
    },
    /// No such buffer type on this machine.
    #[error("unknown buffer type `{name}`: this machine has CPU{}", gpu_names(*.gpus))]
    Buffer {
        /// As written.
        name: String,
        /// How many GPUs there are.
        gpus: usize,
    },
    /// No such GPU.
    #[error("invalid value for main_gpu: {index}, of {count} GPUs")]
    MainGpu {
        /// As written.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// The CUDA backend of this version has no split buffers, so loading fails.
    #[error("split mode \"row\" fails to load: the device does not support split buffers")]
    RowSplit,
    /// An experimental mode whose memory is not known here.
    #[error("split mode \"tensor\" is experimental; its memory is not modelled")]
    TensorSplit,
}

fn gpu_names(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => " and CUDA0".to_owned(),
        _ => format!(" and CUDA0 to CUDA{}", count - 1),
    }
}

/// Most bytes a compiled pattern may take; a hostile one is refused instead of evaluated.
const PATTERN_LIMIT: usize = 1 << 20;

/// Rules ready to be asked.
pub(super) struct Rules<'a> {
    overrides: &'a [Override],
    overflows: &'a [Overflow],
    patterns: Option<Arc<Patterns>>,
}

/// For each row of the table, the first override by pattern that matches its name.
struct Patterns(Vec<Option<Found>>);

#[derive(Clone, Copy)]
struct Found {
    /// Index into the overrides.
    rule: usize,
    target: Device,
}

impl<'a> Rules<'a> {
    /// Patterns are matched once per table and list of overrides.
    pub(super) fn new(
        config: &PlacementConfig<'a>,
        table: &TensorTable,
        memo: &Memo,
    ) -> Result<Self, Error> {
        let by_name = config
            .overrides
            .iter()
            .any(|rule| matches!(rule, Override::Pattern { .. }));
        let patterns = if by_name {
            let gpus = config.free.len();
            let key = (config.overrides, gpus, config.remote, table.fingerprint);
            let matched = memo.get(&key, || {
                matches(config.overrides, (gpus, config.remote), table).map(Arc::new)
            });
            Some(Arc::clone(matched.as_ref().as_ref().map_err(Error::clone)?))
        } else {
            None
        };
        Ok(Self {
            overrides: config.overrides,
            overflows: config.overflows,
            patterns,
        })
    }

    /// Where the first matching rule sends the tensor.
    pub(super) fn target(&self, index: usize, row: &Row) -> Option<Device> {
        let found = self
            .patterns
            .as_ref()
            .and_then(|patterns| patterns.0.get(index).copied().flatten());
        let block = match row.tensor.layer {
            Layer::Block(block) => Some(u64::from(block)),
            _ => None,
        };
        for (rule, over) in self.overrides.iter().enumerate() {
            if let Some(found) = found.filter(|found| found.rule == rule) {
                return Some(found.target);
            }
            let below = |limit: u64| block.is_some_and(|block| block < limit);
            let matched = match over {
                Override::AllExperts => row.is_routed(),
                Override::Experts { blocks } => row.is_routed() && below(*blocks),
                Override::Dense { blocks } => row.is_dense() && below(*blocks),
                Override::Pattern { .. } => false,
            };
            if matched {
                return Some(Device::Host);
            }
        }
        self.overflows
            .iter()
            .find(|rule| {
                block == Some(rule.block) && row.part.is_some_and(|part| leaves(rule.keeps, part))
            })
            .map(|rule| rule.target.map_or(Device::Host, Device::Gpu))
    }
}

/// Whether a tensor goes where a layer keeps only so much (`Fraction::pattern`).
fn leaves(keeps: Fraction, part: Part) -> bool {
    match keeps {
        Fraction::Attention => true,
        Fraction::Up => part.matrix != Matrix::Up,
        Fraction::Gate => part.matrix == Matrix::Down,
        Fraction::Dense => part.network == Network::Experts,
    }
}

fn matches(
    overrides: &[Override],
    gpus: (usize, &[String]),
    table: &TensorTable,
) -> Result<Patterns, Error> {
    let mut compiled: Vec<(usize, Regex, Device)> = Vec::new();
    for (rule, over) in overrides.iter().enumerate() {
        if let Override::Pattern { regex, target } = over {
            let device = device(target, gpus)?;
            compiled.push((rule, compile(regex)?, device));
        }
    }
    let first = |row: &Row| {
        compiled
            .iter()
            .find(|(_, pattern, _)| pattern.is_match(row.tensor.name.as_bytes()))
            .map(|(rule, _, target)| Found {
                rule: *rule,
                target: *target,
            })
    };
    Ok(Patterns(table.rows.iter().map(first).collect()))
}

fn compile(pattern: &str) -> Result<Regex, Error> {
    RegexBuilder::new(pattern)
        .size_limit(PATTERN_LIMIT)
        .dfa_size_limit(PATTERN_LIMIT)
        .unicode(false)
        .build()
        .map_err(|error| Error::Pattern {
            pattern: pattern.chars().take(80).collect(),
            reason: reason(&error),
        })
}

/// The parser draws the pattern over several lines; its last line says what is wrong.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}

/// The memory behind a buffer type's name ("CPU", "CUDA1", "Vulkan0"); those of main memory that GPUs may read
/// directly ("CUDA_Host") included.
fn device(name: &str, (gpus, remote): (usize, &[String])) -> Result<Device, Error> {
    let unknown = || Error::Buffer {
        name: name.to_owned(),
        gpus,
    };
    if name == "CPU" || name.ends_with("_Host") || name == "CPU_REPACK" {
        return Ok(Device::Host);
    }
    if let Some(index) = remote.iter().position(|known| known == name) {
        return Ok(Device::Gpu(index));
    }
    let number = name.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let backend = name.strip_suffix(number).unwrap_or_default();
    let known = [
        "CUDA", "ROCm", "Vulkan", "SYCL", "Metal", "MUSA", "CANN", "MTL",
    ]
    .contains(&backend);
    let index = if number.is_empty() {
        Ok(0)
    } else {
        number.parse::<usize>()
    };
    index
        .ok()
        .map(|index| index.saturating_add(remote.len()))
        .filter(|index| known && *index < gpus)
        .map(Device::Gpu)
        .ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffer_names_are_devices() {
        assert_eq!(device("CPU", (0, &[])), Ok(Device::Host));
        assert_eq!(device("CUDA1", (2, &[])), Ok(Device::Gpu(1)));
        assert_eq!(device("Metal", (1, &[])), Ok(Device::Gpu(0)));
        let remote = ["RPC0[b:50052]".to_owned()];
        assert_eq!(device("RPC0[b:50052]", (2, &remote)), Ok(Device::Gpu(0)));
        assert_eq!(device("CUDA0", (2, &remote)), Ok(Device::Gpu(1)));
        assert!(device("CUDA1", (2, &remote)).is_err());
        for unknown in ["CUDA2", "cuda0", "", "0", "CUDA99999999999999999999"] {
            let refused = device(unknown, (2, &[])).unwrap_err().to_string();
            assert!(
                refused.ends_with("this machine has CPU and CUDA0 to CUDA1"),
                "{refused}"
            );
        }
    }

    #[test]
    fn hostile_patterns_are_refused() {
        for pattern in ["(", r"(a{1000}){1000}", r"\p{L}", "(?=x)"] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
        for pattern in [
            r"blk\.(\d|1\d)\.ffn_(up|down)_exps",
            ".ffn_.*_exps.",
            r"blk\.[^1]\.",
            "",
        ] {
            assert_eq!(compile(pattern).err(), None, "{pattern}");
        }
    }
}
