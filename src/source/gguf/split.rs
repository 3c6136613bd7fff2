//! Models in several files: `name-00001-of-00009.gguf` (`llama_split_path` in `src/llama.cpp`, 0.6.0-dev).

/// What the name of a part says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part<'a> {
    pub(super) prefix: &'a str,
    /// From 1.
    pub(super) number: u64,
    pub(super) count: u64,
    ending: &'a str,
}

/// Most parts: `split.count` has 16 bits.
pub(super) const PARTS: u64 = 1 << 16;

impl<'a> Part<'a> {
    /// Takes a name apart.
    pub(super) fn of(name: &'a str) -> Option<Self> {
        let dot = name.len().checked_sub(".gguf".len())?;
        let (stem, ending) = name.split_at_checked(dot)?;
        if !ending.eq_ignore_ascii_case(".gguf") {
            return None;
        }
        let (stem, count) = stem.rsplit_once("-of-")?;
        let (prefix, number) = stem.rsplit_once('-')?;
        let part = Self {
            prefix,
            number: digits(number)?,
            count: digits(count)?,
            ending,
        };
        (1..=part.count).contains(&part.number).then_some(part)
    }

    /// The name of another part.
    pub(super) fn name(self, number: u64) -> String {
        let Self {
            prefix,
            count,
            ending,
            ..
        } = self;
        format!("{prefix}-{number:05}-of-{count:05}{ending}")
    }
}

fn digits(text: &str) -> Option<u64> {
    let all = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| all)?;
    (number <= PARTS).then_some(number)
}

/// A name as some give pieces that were cut without regard to tensors and must be joined.
pub(super) fn is_piece(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.contains(".part") || lower.contains("-split-") || lower.contains(".split-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_parts_lead_to_each_other() {
        let part = Part::of("x-00002-of-00003.gguf").unwrap();
        assert_eq!((part.prefix, part.number, part.count), ("x", 2, 3));
        assert_eq!(part.name(3), "x-00003-of-00003.gguf");
        for other in [
            "x.gguf",
            "x-00000-of-00003.gguf",
            "x-00004-of-00003.gguf",
            "x-2-of-3.gguf",
            "x-00002-of-00003",
            "-of-.gguf",
            "é.gguf",
            "",
        ] {
            assert_eq!(Part::of(other), None, "{other}");
        }
        assert!(is_piece("a.gguf.part1of2") && is_piece("a.Q6_K.gguf-split-a"));
        assert!(!is_piece("a-00001-of-00002.gguf"));
    }
}
