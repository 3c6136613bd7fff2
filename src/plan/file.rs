//! The plan as a file: reading with clear refusals, migration of older schemas, writing.

mod words;

use toml::{Table, Value as Toml};

use super::{Objective, Plan, SCHEMA};

/// Largest plan file that is read. A real one has a few hundred bytes.
pub const MAX_BYTES: u64 = 1 << 20;

/// Why a text is not a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not TOML, or a value of the wrong kind.
    #[error("{0}")]
    Syntax(String),
    /// A key that no plan has.
    #[error("unknown key `{key}`{}{}", suggestion(.nearest.as_deref()), place(*.line))]
    UnknownKey {
        /// As written.
        key: String,
        /// The nearest valid one.
        nearest: Option<String>,
        /// Line in the file, from 1.
        line: Option<usize>,
    },
    /// Written by a newer version.
    #[error(
        "this plan has schema {found}, and this version reads schemas up to {SCHEMA}; open it with a newer version"
    )]
    TooNew {
        /// As written.
        found: i64,
    },
    /// `schema` is not a version.
    #[error("`schema` must be a whole number from 0 to {SCHEMA}, not {found}")]
    BadSchema {
        /// As written.
        found: String,
    },
    /// Fitting knows no such aim.
    #[error("`objective` cannot be {found:?}; it is one of {}", Objective::words())]
    Objective {
        /// As written.
        found: String,
    },
    /// No way to name a model, or several.
    #[error("[{table}] needs exactly one of `preset`, `path` and `repo`")]
    Model {
        /// "model" or "draft".
        table: &'static str,
    },
    /// A part of a repository that is not named.
    #[error("`{key}` under [{table}] belongs to a repository; add `repo = \"owner/name\"`")]
    NoRepository {
        /// "model" or "draft".
        table: &'static str,
        /// "file" or "revision".
        key: &'static str,
    },
    /// Two margins.
    #[error("keep one of `margin_mib` and `margin_percent` under [fit]")]
    Margins,
    /// A margin that leaves nothing.
    #[error("`margin_percent` is a part of each GPU from 0 to 99, not {found}")]
    Percent {
        /// As written.
        found: u8,
    },
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest
        .map(|key| format!("; did you mean `{key}`?"))
        .unwrap_or_default()
}

fn place(line: Option<usize>) -> String {
    line.map(|line| format!(" (line {line})"))
        .unwrap_or_default()
}

/// From schema `index` to `index + 1`.
const MIGRATIONS: [fn(&mut Table); SCHEMA as usize] = [from_0_to_1];

impl Plan {
    /// Reads a plan, migrating an older schema.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place and the nearest valid key.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut table: Table = text
            .parse()
            .map_err(|error: toml::de::Error| refusal(&error, text))?;
        let schema = schema(&table)?;
        let plan: Self = if schema == SCHEMA as usize {
            // From the text, so that errors know their line.
            toml::from_str(text).map_err(|error| refusal(&error, text))?
        } else {
            for migrate in MIGRATIONS.iter().skip(schema) {
                migrate(&mut table);
            }
            table.insert("schema".to_owned(), Toml::Integer(i64::from(SCHEMA)));
            table.try_into().map_err(|error| refusal(&error, ""))?
        };
        let objective = plan.fit.objective.as_deref();
        if let Some(found) = objective.filter(|word| word.parse::<Objective>().is_err()) {
            return Err(Error::Objective {
                found: found.to_owned(),
            });
        }
        plan.check_models()?;
        plan.check_margin()?;
        Ok(plan)
    }

    fn check_models(&self) -> Result<(), Error> {
        let draft = self.draft.iter().map(|draft| ("draft", draft));
        for (table, model) in std::iter::once(("model", &self.model)).chain(draft) {
            let named = [&model.preset, &model.path, &model.repo];
            if named.into_iter().flatten().count() != 1 {
                return Err(Error::Model { table });
            }
            for (key, value) in [("file", &model.file), ("revision", &model.revision)] {
                if value.is_some() && model.repo.is_none() {
                    return Err(Error::NoRepository { table, key });
                }
            }
        }
        Ok(())
    }

    fn check_margin(&self) -> Result<(), Error> {
        match (self.fit.margin_mib, self.fit.margin_percent) {
            (Some(_), Some(_)) => Err(Error::Margins),
            (_, Some(found)) if found > 99 => Err(Error::Percent { found }),
            _ => Ok(()),
        }
    }

    /// The plan as a file.
    ///
    /// # Errors
    /// A value that TOML cannot hold.
    pub fn to_toml(&self) -> Result<String, Error> {
        toml::to_string_pretty(self).map_err(|error| Error::Syntax(error.to_string()))
    }
}

fn schema(table: &Table) -> Result<usize, Error> {
    match table.get("schema") {
        // A file from before the key existed.
        None => Ok(0),
        Some(Toml::Integer(found)) if *found > i64::from(SCHEMA) => {
            Err(Error::TooNew { found: *found })
        }
        Some(Toml::Integer(found)) if *found >= 0 => {
            Ok(usize::try_from(*found).unwrap_or_default())
        }
        Some(other) => Err(Error::BadSchema {
            found: other.to_string(),
        }),
    }
}

/// Schema 0 named model and machine presets by a bare text.
fn from_0_to_1(table: &mut Table) {
    for key in ["model", "machine"] {
        if let Some(Toml::String(preset)) = table.get(key).cloned() {
            let mut reference = Table::new();
            reference.insert("preset".to_owned(), Toml::String(preset));
            table.insert(key.to_owned(), Toml::Table(reference));
        }
    }
}

/// serde's message, as ours: an unknown key gets the nearest of the ones serde lists.
fn refusal(error: &toml::de::Error, text: &str) -> Error {
    let line = error
        .span()
        .and_then(|span| text.get(..span.start))
        .map(|before| before.matches('\n').count() + 1);
    let message = error.message();
    let Some(rest) = message.strip_prefix("unknown field `") else {
        let key = error.span().and_then(|span| words::key(text, span.start));
        let text = words::plain(&flat(message), key);
        return Error::Syntax(format!("{text}{}", place(line)));
    };
    let mut names = rest.split('`');
    let key = names.next().unwrap_or_default().to_owned();
    let nearest = names
        .skip(1)
        .step_by(2)
        .map(|name| (strsim::jaro_winkler(&key, name), name))
        .filter(|(similarity, _)| *similarity > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_owned());
    Error::UnknownKey { key, nearest, line }
}

/// A message over several lines as one, for one line of standard error.
fn flat(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Value;

    const MINIMAL: &str = "schema = 1\nengine = \"llama.cpp\"\n[model]\npreset = \"Qwen3-8B\"\n";

    fn check(text: &str, expected: &str) {
        match Plan::from_toml(text) {
            Ok(_) => panic!("accepted: {text}"),
            Err(error) => assert_eq!(error.to_string(), expected),
        }
    }

    #[test]
    fn a_plan_survives_the_round_trip() {
        let text = format!(
            "{MINIMAL}\n[machine]\nram_mib = 65536\ngpus = [{{ name = \"RTX 4090\", count = 2 }}]\n\
             [settings]\nweights = \"Q4_K_M\"\nctx_size = 32768\nkv_offload = false\ntensor_split = [3, 1]\n\
             [launch]\nport = 8081\n[fit]\nmargin_mib = 512\n"
        );
        let plan = Plan::from_toml(&text).expect("a plan");
        assert_eq!(plan.settings.get("ctx_size"), Some(&Value::Integer(32_768)));
        assert_eq!(plan.settings.get("kv_offload"), Some(&Value::Bool(false)));
        let written = plan.to_toml().expect("TOML");
        assert_eq!(Plan::from_toml(&written), Ok(plan));
    }

    #[test]
    fn an_unknown_key_is_named_with_its_neighbour() {
        check(
            &format!("{MINIMAL}presett = 1\n"),
            "unknown key `presett`; did you mean `preset`? (line 5)",
        );
        check(
            &format!("enginee = 1\n{MINIMAL}"),
            "unknown key `enginee`; did you mean `engine`? (line 1)",
        );
        check(
            &format!("{MINIMAL}[machine]\nzzz = 1\n"),
            "unknown key `zzz` (line 6)",
        );
    }

    #[test]
    fn schemas_are_told_apart() {
        check(
            "schema = 2\n",
            "this plan has schema 2, and this version reads schemas up to 1; open it with a newer version",
        );
        check(
            "schema = -1\n",
            "`schema` must be a whole number from 0 to 1, not -1",
        );
        check(
            "schema = \"1\"\n",
            "`schema` must be a whole number from 0 to 1, not \"1\"",
        );
    }

    #[test]
    fn an_older_schema_is_migrated() {
        let plan = Plan::from_toml(
            "engine = \"llama.cpp\"\nmodel = \"Qwen3-8B\"\nmachine = \"4x-a100-40gb\"\n",
        )
        .expect("a plan");
        assert_eq!(plan.schema, SCHEMA);
        assert_eq!(plan.model.preset.as_deref(), Some("Qwen3-8B"));
        assert_eq!(
            plan.machine.and_then(|machine| machine.preset).as_deref(),
            Some("4x-a100-40gb")
        );
    }

    #[test]
    fn the_model_is_named_once() {
        check(
            "schema = 1\nengine = \"x\"\n[model]\n",
            "[model] needs exactly one of `preset`, `path` and `repo`",
        );
        check(
            &format!("{MINIMAL}path = \"a\"\n"),
            "[model] needs exactly one of `preset`, `path` and `repo`",
        );
    }

    #[test]
    fn a_repository_is_a_model_too() {
        let text = "schema = 1\nengine = \"llama.cpp\"\n[model]\nrepo = \"owner/name-GGUF\"\n\
                    file = \"name-Q4_K_M.gguf\"\nrevision = \"main\"\n";
        let plan = Plan::from_toml(text).expect("a plan");
        assert_eq!(
            plan.model.published(),
            Some(("owner/name-GGUF", Some("name-Q4_K_M.gguf")))
        );
        assert_eq!(Plan::from_toml(&plan.to_toml().expect("TOML")), Ok(plan));
        check(
            &text.replace("repo =", "reppo ="),
            "unknown key `reppo`; did you mean `repo`? (line 4)",
        );
        check(
            &format!("{text}preset = \"Qwen3-8B\"\n"),
            "[model] needs exactly one of `preset`, `path` and `repo`",
        );
        check(
            &format!("{MINIMAL}revision = \"main\"\n"),
            "`revision` under [model] belongs to a repository; add `repo = \"owner/name\"`",
        );
    }

    #[test]
    fn a_draft_and_neighbours_survive_the_round_trip() {
        let text = format!(
            "beside = [\"embedding.toml\"]\n{MINIMAL}\n[draft]\npreset = \"Qwen3-0.6B\"\n[fit]\nmargin_percent = 5\n"
        );
        let plan = Plan::from_toml(&text).expect("a plan");
        assert_eq!(plan.beside, ["embedding.toml"]);
        let written = plan.to_toml().expect("TOML");
        assert_eq!(Plan::from_toml(&written), Ok(plan));
    }

    #[test]
    fn a_draft_and_a_margin_are_named_once() {
        check(
            &format!("{MINIMAL}[draft]\n"),
            "[draft] needs exactly one of `preset`, `path` and `repo`",
        );
        check(
            &format!("{MINIMAL}[fit]\nmargin_mib = 1\nmargin_percent = 1\n"),
            "keep one of `margin_mib` and `margin_percent` under [fit]",
        );
        check(
            &format!("{MINIMAL}[fit]\nmargin_percent = 100\n"),
            "`margin_percent` is a part of each GPU from 0 to 99, not 100",
        );
    }

    #[test]
    fn nonsense_is_refused_on_one_line() {
        for text in [
            "",
            "[",
            "schema = 1",
            "schema = 1\nengine = 4",
            "\0",
            "schema = 1\nengine = \"x\"\nmodel = 3",
        ] {
            let error = Plan::from_toml(text).expect_err(text).to_string();
            assert!(!error.contains('\n'), "{error:?}");
        }
    }
}
