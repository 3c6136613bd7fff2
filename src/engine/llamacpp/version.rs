//! Versions of llama.cpp: builds ("b9842"), releases ("0.6.0") and months ("2026-05"), on one scale.

/// The newest version whose rules are known.
pub(super) const NEWEST: &str = "0.6.0";

/// First month whose builds feed token and embedding inputs in one batch, reserve logits only for the rows a server
/// asks for, and count the converted K and V of flash attention in the compute buffer (upstream pull requests 23861
/// and 23988, around the beginning of June 2026).
const LEAN_OUTPUTS: Version = Version::month(2026, 6);

/// A version, as the number of the build that it is or is nearest to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Version {
    build: u32,
}

/// Builds with a known date: (build, year, month, day), by the release pages and public logs that name both.
const DATED_BUILDS: [(u32, u32, u32, u32); 6] = [
    (4_400, 2025, 1, 1),
    (6_660, 2025, 10, 1),
    (8_117, 2026, 2, 20),
    (9_842, 2026, 6, 30),
    (10_434, 2026, 8, 14),
    (11_739, 2026, 10, 19),
];

/// Releases and the first build that calls itself so: `0.7.0-dev` began with b11739, `0.6.0-dev` is older.
const RELEASES: [(&str, u32); 2] = [("0.6.0", 11_226), ("0.7.0", 11_739)];

impl Version {
    /// What a plan without a version means.
    pub(super) fn newest() -> Self {
        Self::parse(NEWEST).unwrap_or(Self { build: u32::MAX })
    }

    /// A build, release or month as written; `None` where it is none of them.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(build) = text.strip_prefix(['b', 'B']) {
            return build.parse().ok().map(|build| Self { build });
        }
        if let Some((year, month)) = text.split_once('-')
            && let (Ok(year), Ok(month)) = (year.parse::<u32>(), month.parse::<u32>())
        {
            let known = (2023..=2100).contains(&year) && (1..=12).contains(&month);
            return known.then(|| Self::month(year, month));
        }
        let release = text.trim_start_matches(['v', 'V']);
        let release = release.strip_suffix("-dev").unwrap_or(release);
        RELEASES
            .iter()
            .find(|(name, _)| *name == release)
            .map(|&(_, build)| Self { build })
    }

    /// The last build before a month begins, between dated builds by days.
    const fn month(year: u32, month: u32) -> Self {
        let day = day_number(year, month, 1);
        let mut index = 0;
        let mut build = 0;
        while index + 1 < DATED_BUILDS.len() {
            #[expect(clippy::indexing_slicing, reason = "bounded by the condition; const")]
            let ((from, y0, m0, d0), (to, y1, m1, d1)) =
                (DATED_BUILDS[index], DATED_BUILDS[index + 1]);
            let (start, end) = (day_number(y0, m0, d0), day_number(y1, m1, d1));
            let last = index + 2 == DATED_BUILDS.len();
            if day <= end || last {
                let days = day.saturating_sub(start);
                build = from + (to - from) * days / (end - start);
                break;
            }
            index += 1;
        }
        Self { build }
    }

    /// Is it as new as `since`, written like any version? A text that is none counts as always there.
    pub(super) fn at_least(self, since: &str) -> bool {
        Self::parse(since).is_none_or(|since| self >= since)
    }

    /// Does it reserve logits only for the rows a server needs, with the inputs and scratch that came with it?
    pub(super) fn lean_outputs(self) -> bool {
        self >= LEAN_OUTPUTS
    }
}

/// Days since the beginning of year 0, months of 31 days counted evenly enough for an estimate of builds.
const fn day_number(year: u32, month: u32, day: u32) -> u32 {
    year * 372 + (month - 1) * 31 + day
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_builds_releases_and_months() {
        let parse = |text| Version::parse(text).unwrap();
        assert!(parse("b8117") < parse("2026-05"));
        assert!(parse("2026-05") < parse("b9842"));
        assert!(parse("b9842") < parse("2026-08"));
        assert!(parse("2026-08") < parse("0.6.0"));
        assert!(parse("0.6.0-dev") < parse("0.7.0"));
        assert!(parse("2025-02") < parse("2025-12"));
        assert!(parse("2026-10") < parse("2027-03"));
    }

    #[test]
    fn knows_when_outputs_became_lean() {
        assert!(!Version::parse("2026-05").unwrap().lean_outputs());
        assert!(Version::parse("2026-06").unwrap().lean_outputs());
        assert!(Version::parse("b9842").unwrap().lean_outputs());
        assert!(Version::newest().lean_outputs());
    }

    #[test]
    fn refuses_what_is_no_version() {
        for text in ["", "b", "latest", "2026-13", "1.2.3", "b-1"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }
}
