//! Versions of Ollama, and the llama.cpp that each comes with.

/// The newest version whose rules are known; read at v0.33.0-rc2.
pub(super) const NEWEST: &str = "0.33.0";

/// First version that starts `llama-server` for every GGUF model; older ones ran an engine of their own.
const FIRST: (u64, u64, u64) = (0, 30, 0);

/// First version that comes with this build of llama.cpp (history of the file `LLAMA_CPP_VERSION` up to v0.33.0-rc2).
const BUILDS: [((u64, u64, u64), u32); 17] = [
    ((0, 30, 0), 9_452),
    ((0, 30, 1), 9_479),
    ((0, 30, 4), 9_493),
    ((0, 30, 5), 9_509),
    ((0, 30, 9), 9_626),
    ((0, 30, 10), 9_672),
    ((0, 30, 11), 9_781),
    ((0, 30, 12), 9_840),
    ((0, 31, 2), 9_888),
    ((0, 32, 2), 10_069),
    ((0, 32, 3), 10_091),
    ((0, 32, 6), 10_242),
    ((0, 32, 8), 10_353),
    ((0, 32, 10), 10_380),
    ((0, 32, 14), 10_434),
    ((0, 32, 15), 10_488),
    ((0, 33, 0), 10_488),
];

/// A version of Ollama.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(u64, u64, u64);

impl Version {
    /// The newest.
    pub(super) fn newest() -> Self {
        Self::parse(NEWEST).unwrap_or(Self(u64::MAX, 0, 0))
    }

    /// A release as written ("0.33.0", "v0.33", "0.33.0-rc2"); `None` where it is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches(['v', 'V']);
        let release = text.split_once('-').map_or(text, |(release, _)| release);
        let mut parts = release.split('.');
        let mut part = || parts.next().map(str::parse::<u64>);
        let major = part()?.ok()?;
        let minor = part()?.ok()?;
        let patch = part().unwrap_or(Ok(0)).ok()?;
        parts.next().is_none().then_some(Self(major, minor, patch))
    }

    /// Does it start `llama-server`?
    pub(super) fn starts_llama_server(self) -> bool {
        (self.0, self.1, self.2) >= FIRST
    }

    /// The llama.cpp it comes with, as llama.cpp writes its builds.
    pub(super) fn llama_cpp(self) -> String {
        let own = (self.0, self.1, self.2);
        let build = BUILDS
            .iter()
            .take_while(|(since, _)| *since <= own)
            .last()
            .or(BUILDS.first())
            .map_or(0, |(_, build)| *build);
        format!("b{build}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_names_its_llama_cpp() {
        for (text, build) in [
            ("0.33.0-rc2", "b10488"),
            ("v0.32.9", "b10353"),
            ("0.32.0", "b9888"),
            ("0.31", "b9840"),
            ("0.30.0", "b9452"),
            ("1.0.0", "b10488"),
            ("0.12.3", "b9452"),
        ] {
            let version = Version::parse(text).expect(text);
            assert_eq!(version.llama_cpp(), build, "{text}");
        }
        assert!(Version::newest().starts_llama_server());
        assert!(
            !Version::parse("0.12.3")
                .expect("a version")
                .starts_llama_server()
        );
    }

    #[test]
    fn what_is_no_version_is_none() {
        for text in ["", "latest", "b10488", "0", "0.1.2.3", "2026-05"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }
}
