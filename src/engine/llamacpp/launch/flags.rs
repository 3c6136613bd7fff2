//! How `llama-server` spells a setting in a version: the rows of `presets/flags/llama-server.toml`.

use std::sync::LazyLock;

use indexmap::IndexMap;
use serde::Deserialize;

use super::super::version::Version;
use crate::plan::Value;

/// The rows, in the order of a command line.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FlagTable {
    #[serde(rename = "flag")]
    flags: Vec<Flag>,
    /// Settings that are no options, with the reason.
    unwritten: IndexMap<String, String>,
}

/// One spelling of one setting.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Flag {
    setting: String,
    /// First version with this spelling.
    #[serde(default)]
    since: Option<String>,
    /// First version without it.
    #[serde(default)]
    before: Option<String>,
    /// Written even where it equals the engine's default.
    #[serde(default)]
    pub(super) always: bool,
    /// Words, with `{}` for the value.
    #[serde(default)]
    words: Vec<String>,
    /// Words of single values; they go first.
    #[serde(default)]
    values: IndexMap<String, Vec<String>>,
    /// Where the spelling stands.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for readers of the table; the tests demand it")
    )]
    source: String,
}

/// Built into the program: a mistake in it fails the test below, and means no rows here.
static TABLE: LazyLock<FlagTable> = LazyLock::new(|| parse().unwrap_or_default());

fn parse() -> Result<FlagTable, toml::de::Error> {
    toml::from_str(include_str!("../../../../presets/flags/llama-server.toml"))
}

impl FlagTable {
    /// The rows built in.
    pub(super) fn built_in() -> &'static Self {
        &TABLE
    }

    /// Names of the settings that have a row in any version, each once, in the order of a command line.
    pub(super) fn settings(&self) -> impl Iterator<Item = &str> {
        self.flags.iter().enumerate().filter_map(|(index, flag)| {
            let first = self
                .flags
                .iter()
                .position(|other| other.setting == flag.setting);
            (first == Some(index)).then_some(flag.setting.as_str())
        })
    }

    /// How a version spells a setting; `None` where it does not have it.
    pub(super) fn find(&self, setting: &str, version: Version) -> Option<&Flag> {
        self.flags.iter().find(|flag| {
            flag.setting == setting
                && flag
                    .since
                    .as_deref()
                    .is_none_or(|since| version.at_least(since))
                && flag
                    .before
                    .as_deref()
                    .is_none_or(|before| !version.at_least(before))
        })
    }

    /// Why a setting is not an option, where it is none in any version.
    pub(super) fn unwritten(&self, setting: &str) -> Option<&str> {
        self.unwritten.get(setting).map(String::as_str)
    }
}

impl Flag {
    /// The words for a value, empty where there is nothing to write; `None` where this version cannot be told.
    pub(super) fn spell(&self, value: &Value) -> Option<Vec<String>> {
        let text = text(value)?;
        if let Some(words) = self.values.get(&text) {
            return Some(words.clone());
        }
        if self.words.is_empty() {
            return None;
        }
        Some(
            self.words
                .iter()
                .map(|word| {
                    if word == "{}" {
                        text.clone()
                    } else {
                        word.clone()
                    }
                })
                .collect(),
        )
    }
}

/// A value as one word of a command line; `None` for a list whose items would fall apart at their commas.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::Bool(on) => Some(on.to_string()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Text(text) => Some(text.clone()),
        Value::List(items) => {
            let items: Option<Vec<String>> = items
                .iter()
                .map(|item| text(item).filter(|item| !item.contains(',')))
                .collect();
            items.map(|items| items.join(","))
        }
    }
}

/// A value as a plan writes it, for messages.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("{text:?}"),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(describe).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Bool(_) | Value::Integer(_) | Value::Number(_) => text(value).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `value` as TOML writes it.
    fn check(setting: &str, version: &str, value: &str, expected: Option<&[&str]>) {
        let value = match value.parse::<i64>() {
            Ok(number) => Value::Integer(number),
            Err(_) if value == "true" || value == "false" => Value::Bool(value == "true"),
            Err(_) => Value::Text(value.to_owned()),
        };
        let found = FlagTable::built_in()
            .find(setting, Version::parse(version).unwrap())
            .and_then(|flag| flag.spell(&value));
        let found: Option<Vec<&str>> = found
            .as_ref()
            .map(|words| words.iter().map(String::as_str).collect());
        assert_eq!(found.as_deref(), expected, "{setting} in {version}");
    }

    #[test]
    fn follows_the_version() {
        for version in ["b10434", "b10884", "0.6.0", "0.7.0", "2026-08"] {
            check("load_mode", version, "none", Some(&["--load-mode", "none"]));
            check(
                "n_gpu_layers",
                version,
                "all",
                Some(&["--n-gpu-layers", "all"]),
            );
        }
        for version in ["b9123", "2026-05", "b6089"] {
            check("load_mode", version, "none", Some(&["--no-mmap"]));
            check("load_mode", version, "mmap+mlock", Some(&["--mlock"]));
            check(
                "n_gpu_layers",
                version,
                "all",
                Some(&["--n-gpu-layers", "999"]),
            );
        }
        check("load_mode", "2026-05", "dio", Some(&["--direct-io"]));
        check("load_mode", "2025-05", "dio", None);
        check("fit", "2026-05", "false", Some(&["--fit", "off"]));
        check("fit", "2025-06", "false", Some(&[]));
        check("fit", "2025-06", "true", None);
        check("flash_attn", "b6326", "on", Some(&["--flash-attn"]));
        check("flash_attn", "b6327", "on", Some(&["--flash-attn", "on"]));
        check("n_cpu_moe", "b6088", "3", None);
        check("n_cpu_moe", "b6089", "3", Some(&["--n-cpu-moe", "3"]));
    }

    #[test]
    fn every_row_is_whole() {
        let table = parse().unwrap();
        for flag in &table.flags {
            let name = &flag.setting;
            assert!(!flag.source.is_empty(), "{name} has no source");
            for version in flag.since.iter().chain(&flag.before) {
                assert!(Version::parse(version).is_some(), "{name}: {version}");
            }
            assert!(
                !flag.words.is_empty() || !flag.values.is_empty(),
                "{name} says nothing"
            );
            for words in flag.values.values().chain([&flag.words]) {
                assert!(words.first().is_none_or(|word| word.starts_with("--")));
            }
        }
    }

    #[test]
    fn no_version_finds_two_rows() {
        let table = FlagTable::built_in();
        for build in [5000, 6088, 6089, 6327, 7000, 8117, 9123, 10_434, 11_739] {
            let version = Version::parse(&format!("b{build}")).unwrap();
            for setting in table.settings() {
                let rows = table
                    .flags
                    .iter()
                    .filter(|flag| {
                        flag.setting == setting
                            && flag.since.as_deref().is_none_or(|at| version.at_least(at))
                            && !flag
                                .before
                                .as_deref()
                                .is_some_and(|at| version.at_least(at))
                    })
                    .count();
                assert!(rows <= 1, "{setting} has {rows} rows in b{build}");
            }
        }
    }

    #[test]
    fn lists_are_joined_unless_an_item_has_a_comma() {
        let list = |items: &[&str]| {
            Value::List(
                items
                    .iter()
                    .map(|&item| Value::Text(item.to_owned()))
                    .collect(),
            )
        };
        assert_eq!(text(&list(&["a=CPU", "b=CPU"])).unwrap(), "a=CPU,b=CPU");
        assert_eq!(text(&list(&["a{1,2}=CPU"])), None);
    }
}
