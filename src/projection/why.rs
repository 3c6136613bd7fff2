//! Why a number is what it is, as data: rendered late, for a hover, a page, a log, in any language.

use std::fmt::Write as _;

use serde::{Serialize, Serializer, ser::SerializeMap as _};

use crate::units::Bytes;

/// The reason for a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// Stable identity of the rule ("llama.cpp/kv-cache/gqa").
    pub rule: &'static str,
    /// The rule as an engineer would say it, with `{name}` where the input of that name is filled in.
    pub template: &'static str,
    /// The inputs in the order they are used.
    pub inputs: Vec<(&'static str, Input)>,
    /// Where the rule stands: engine file and version, or the measurement.
    pub source: &'static str,
}

/// One input of a rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A count.
    Count(u64),
    /// A number of bytes.
    Bytes(Bytes),
    /// A factor or fraction.
    Number(f64),
    /// A name.
    Text(String),
}

impl Why {
    /// A rule without inputs yet; chain [`Why::with`].
    pub fn new(rule: &'static str, template: &'static str, source: &'static str) -> Self {
        Self {
            rule,
            template,
            inputs: Vec::new(),
            source,
        }
    }

    /// Adds an input.
    #[must_use]
    pub fn with(mut self, name: &'static str, input: impl Into<Input>) -> Self {
        self.inputs.push((name, input.into()));
        self
    }

    /// The template with the inputs filled in.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(self.template.len() + 32);
        let mut rest = self.template;
        while let Some(open) = rest.find('{') {
            let (before, after) = rest.split_at(open);
            text.push_str(before);
            let Some(close) = after.find('}') else {
                rest = after;
                break;
            };
            let name = after.get(1..close).unwrap_or_default();
            match self.inputs.iter().find(|(key, _)| *key == name) {
                Some((_, input)) => input.write(&mut text),
                None => text.push_str(after.get(..=close).unwrap_or_default()),
            }
            rest = after.get(close + 1..).unwrap_or_default();
        }
        text.push_str(rest);
        text
    }
}

impl Input {
    fn write(&self, text: &mut String) {
        match self {
            Self::Count(count) => text.push_str(&grouped(*count)),
            Self::Bytes(bytes) => {
                let _ = write!(text, "{bytes}");
            }
            // A person reads this: the exact value is in the inputs.
            Self::Number(number) => {
                let rounded = (number * 100.0).round() / 100.0;
                let _ = write!(text, "{rounded}");
            }
            Self::Text(name) => text.push_str(name),
        }
    }
}

/// `1234567` as `1,234,567`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// "1 layer", "2,048 layers": a number of things that have a plain plural.
pub fn counted(count: u64, one: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {one}{plural}", grouped(count))
}

impl From<u64> for Input {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<Bytes> for Input {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<f64> for Input {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Input {
    fn from(name: &str) -> Self {
        Self::Text(name.to_owned())
    }
}

impl From<String> for Input {
    fn from(name: String) -> Self {
        Self::Text(name)
    }
}

impl Serialize for Why {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Inputs<'a>(&'a [(&'static str, Input)]);
        impl Serialize for Inputs<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().map(|(name, input)| (name, input)))
            }
        }
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("text", &self.text())?;
        map.serialize_entry("rule", self.rule)?;
        map.serialize_entry("inputs", &Inputs(&self.inputs))?;
        map.serialize_entry("source", self.source)?;
        map.end()
    }
}

impl Serialize for Input {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => serializer.serialize_u64(*count),
            Self::Bytes(bytes) => bytes.serialize(serializer),
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Text(name) => serializer.serialize_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_in_the_inputs() {
        let why = Why::new("test", "{cells} cells × {row} = {unknown}", "here")
            .with("cells", 32_768_u64)
            .with("row", Bytes::from_mib(2));
        assert_eq!(why.text(), "32,768 cells × 2.0 MiB = {unknown}");
    }

    #[test]
    fn an_unclosed_brace_is_kept() {
        assert_eq!(Why::new("test", "a {b", "here").text(), "a {b");
    }
}
