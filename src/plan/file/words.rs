//! The reader's messages in the words of a plan.

/// What a plan cannot do without, and how it is written.
const NEEDED: [(&str, &str); 2] = [
    ("engine", "write engine = \"llama.cpp\""),
    ("model", "name one under [model], as preset or path"),
];

/// The reader's names of kinds, in words.
const KINDS: [(&str, &str); 15] = [
    ("u8", "a whole number from 0 to 255"),
    ("u16", "a whole number from 0 to 65535"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u64", "a whole number from 0"),
    ("i64", "a whole number"),
    ("f64", "a number"),
    ("a string", "a text in quotes"),
    ("a sequence", "a list in [ ]"),
    ("sequence", "a list"),
    ("a map", "a table"),
    ("map", "a table"),
    ("struct Plan", "a plan"),
    ("struct ModelRef", "a table with `preset` or `path`"),
    ("struct MachineRef", "a table such as { preset = \"...\" }"),
    ("struct GpuRef", "a table such as { name = \"...\" }"),
];

/// A message of the reader, on one line, without its own vocabulary.
pub(super) fn plain(message: &str, key: Option<&str>) -> String {
    if let Some(field) = quoted(message, "missing field `") {
        let how = NEEDED.iter().find(|(needed, _)| *needed == field);
        let how = how.map(|(_, how)| format!(": {how}")).unwrap_or_default();
        return format!("`{field}` is missing{how}");
    }
    if message.contains("untagged enum Value") {
        return "a setting is true or false, a number, a text in quotes or a list".to_owned();
    }
    if let Some(number) = quoted(message, "invalid type: integer `")
        .filter(|_| message.ends_with("expected any valid TOML value"))
    {
        return format!("{number} is more than a number can be");
    }
    let found = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))
        .and_then(|rest| rest.rsplit_once(", expected "));
    if let Some((found, expected)) = found {
        let this = key.map_or_else(|| "this".to_owned(), |key| format!("`{key}`"));
        return format!("{this} must be {}, not {}", kind(expected), value(found));
    }
    match quoted(message, "unknown variant `") {
        Some(word) => {
            let known = message
                .split_once("expected ")
                .map_or("", |(_, known)| known);
            format!("`{word}` is not known here; it is {known}")
        }
        None => message.to_owned(),
    }
}

/// The key whose value begins at a place of a text: before the equals sign, or in the head of a table.
pub(super) fn key(text: &str, start: usize) -> Option<&str> {
    let before = text.get(..start)?;
    let line = before.rsplit('\n').next()?;
    let named = match line.trim_end().strip_suffix('=') {
        Some(named) => named.rsplit(['{', ',']).next()?,
        // The whole head, whatever part of it the place is in.
        None if line.trim_start().starts_with('[') || line.trim().is_empty() => {
            let line_start = before.len() - line.len();
            let head = text.get(line_start..)?.lines().next()?;
            let head = head.trim().strip_prefix('[')?.trim_start_matches('[');
            head.split(']').next()?.rsplit('.').next()?
        }
        None => return None,
    };
    let named = named.trim();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    (!named.is_empty() && named.chars().all(plain)).then_some(named)
}

/// What stands between a beginning and the next backtick.
fn quoted<'a>(message: &'a str, beginning: &str) -> Option<&'a str> {
    message.strip_prefix(beginning)?.split('`').next()
}

fn kind(expected: &str) -> &str {
    let known = KINDS.iter().find(|(name, _)| *name == expected);
    known.map_or(expected, |(_, words)| words)
}

/// "integer `-1`" as -1, "string \"x\"" as "x".
fn value(found: &str) -> &str {
    let bare = ["integer `", "floating point `", "boolean `"];
    bare.iter()
        .find_map(|name| quoted(found, name))
        .or_else(|| found.strip_prefix("string "))
        .unwrap_or_else(|| kind(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_value_is_found() {
        for (text, key_of, expected) in [
            (
                "[fit]\nmargin_percent = 500\n",
                "500",
                Some("margin_percent"),
            ),
            (
                "gpus = [{ name = \"x\", count = \"2\" }]",
                "\"2\"",
                Some("count"),
            ),
            (
                "[machine]\nram_mib = 1\n[[machine.nodes]]\n",
                "[[machine",
                Some("nodes"),
            ),
            ("[[machine.nodes]]\n", "nodes", Some("nodes")),
            ("tensor_split = [\n3,\n\"x\"]", "\"x\"", None),
            ("a.b = 1", "1", None),
        ] {
            let start = text.find(key_of).expect("a value");
            assert_eq!(key(text, start), expected, "{text}");
        }
        let message = "invalid value: integer `500`, expected u8";
        assert_eq!(
            plain(message, Some("margin_percent")),
            "`margin_percent` must be a whole number from 0 to 255, not 500"
        );
    }

    #[test]
    fn messages_speak_of_plans() {
        for (message, expected) in [
            (
                "missing field `engine`",
                "`engine` is missing: write engine = \"llama.cpp\"",
            ),
            ("missing field `name`", "`name` is missing"),
            (
                "invalid value: integer `-1`, expected u16",
                "this must be a whole number from 0 to 65535, not -1",
            ),
            (
                "invalid type: string \"a, expected b\", expected a sequence",
                "this must be a list in [ ], not \"a, expected b\"",
            ),
            (
                "invalid type: sequence, expected a map",
                "this must be a table, not a list",
            ),
            (
                "unknown variant `plan9`, expected one of `linux`, `windows`",
                "`plan9` is not known here; it is one of `linux`, `windows`",
            ),
            ("extra `=`, expected nothing", "extra `=`, expected nothing"),
        ] {
            assert_eq!(plain(message, None), expected);
        }
    }
}
