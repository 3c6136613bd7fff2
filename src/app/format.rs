//! Figures as text. Nothing is computed here.

use crate::engine::{self, setting};
use crate::plan::{Plan, Settings, Value};
use crate::projection::grouped;
use crate::report::{DeviceKind, DeviceReport};
use crate::speed::Estimate;
use crate::units::{Bytes, GIB};

use super::texts::{Texts, fill};

/// GiB with two decimals, without the unit.
pub(crate) fn gib(bytes: Bytes) -> String {
    format!("{:.2}", bytes.as_gib())
}

/// GiB with one decimal, without the unit: the label inside a bar.
pub(crate) fn gib_short(bytes: Bytes) -> String {
    format!("{:.1}", bytes.as_gib())
}

/// A difference in GiB with its unit, never "-0.0".
pub(crate) fn gib_difference(bytes: i64, decimals: usize) -> String {
    let gib = bytes.unsigned_abs() as f64 / GIB as f64;
    let text = format!("{gib:.decimals$}");
    let zero = text.chars().all(|digit| matches!(digit, '0' | '.'));
    let sign = if bytes < 0 && !zero { "−" } else { "" };
    format!("{sign}{text} GiB")
}

/// Memory with two decimals as everywhere, or none where it is whole: "24 GiB", "23.53 GiB".
pub(crate) fn capacity(bytes: Bytes) -> String {
    let text = format!("{:.2}", bytes.as_gib());
    format!("{} GiB", text.strip_suffix(".00").unwrap_or(&text))
}

/// A number of parameters as model cards give it.
pub(crate) fn parameters(count: u64) -> String {
    let (divisor, unit) = match count {
        1_000_000_000_000.. => (1e12, "T"),
        1_000_000_000.. => (1e9, "B"),
        1_000_000.. => (1e6, "M"),
        1_000.. => (1e3, "K"),
        _ => return grouped(count),
    };
    let scaled = count as f64 / divisor;
    if scaled < 100.0 {
        format!("{scaled:.1} {unit}")
    } else {
        format!("{scaled:.0} {unit}")
    }
}

/// A whole number with separators.
pub(crate) fn integer(number: i64) -> String {
    let sign = if number < 0 { "−" } else { "" };
    format!("{sign}{}", grouped(number.unsigned_abs()))
}

/// A number that [`integer`] wrote, or as a person types it ("32k", "32 768").
pub(crate) fn parse_integer(text: &str) -> Option<i64> {
    let compact: String = text
        .trim()
        .chars()
        .filter(|letter| !matches!(letter, ',' | ' ' | '_' | '\u{a0}' | '\u{202f}'))
        .collect::<String>()
        .replace('−', "-");
    let (digits, factor) = match compact.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1024),
        None => match compact.strip_suffix(['m', 'M']) {
            Some(digits) => (digits, 1024 * 1024),
            None => (compact.as_str(), 1),
        },
    };
    digits.parse::<i64>().ok()?.checked_mul(factor)
}

/// Settings of a plan that differ from what they were, with their values: "Weights Q4_K_M, Context 16,384".
pub(crate) fn changes(before: &Settings, plan: &Plan, texts: &Texts) -> String {
    let engine = engine::find(&plan.engine);
    let label = |name: &str| {
        let setting = engine.and_then(|engine| setting::find(engine, name));
        setting.map_or_else(|| name.to_owned(), |setting| setting.label.to_owned())
    };
    let changed = plan.settings.iter();
    let changed = changed.filter(|(name, value)| before.get(*name) != Some(value));
    let told = changed.map(|(name, value)| (label(name), self::value(value, texts)));
    settings(told).join(", ")
}

/// Settings by their labels with their values; "KV cache, keys" and "KV cache, values" to the same is "KV cache" to that.
pub(crate) fn settings(told: impl Iterator<Item = (String, String)>) -> Vec<String> {
    let whole = |label: &str| label.split_once(", ").map(|(whole, _)| whole.to_owned());
    let mut settings: Vec<(String, String)> = Vec::new();
    for (label, value) in told {
        match (settings.last_mut(), whole(&label)) {
            (Some((last, same)), Some(both))
                if *same == value && whole(last).as_ref() == Some(&both) =>
            {
                *last = both;
            }
            _ => settings.push((label, value)),
        }
    }
    let settings = settings.into_iter();
    settings
        .map(|(label, value)| format!("{label} {value}"))
        .collect()
}

/// A setting's value as a person reads it.
pub(crate) fn value(value: &Value, texts: &Texts) -> String {
    match value {
        Value::Bool(true) => texts.on.to_owned(),
        Value::Bool(false) => texts.off.to_owned(),
        Value::Integer(number) => integer(*number),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::List(items) => items
            .iter()
            .map(|item| self::value(item, texts))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// What to call a device in a sentence: "GPU 0", "node 1, GPU 0", "RAM".
pub(crate) fn device(device: &DeviceReport, texts: &Texts) -> String {
    match device.kind {
        DeviceKind::Host => return texts.ram.to_owned(),
        DeviceKind::Unified if device.id == "unified" => return texts.unified_memory.to_owned(),
        DeviceKind::Unified | DeviceKind::Gpu => {}
    }
    let (node, local) = match device.id.split_once('/') {
        Some((node, local)) => (node.strip_prefix("node"), local),
        None => (None, device.id.as_str()),
    };
    let number = local.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    match node {
        None => fill(texts.gpu_number, &[("gpu", number)]),
        Some(node) => fill(texts.node_gpu_number, &[("node", node), ("gpu", number)]),
    }
}

/// An estimate as the range that it is, with no more digits than it deserves: "21–26".
pub(crate) fn range(estimate: Estimate) -> String {
    let (low, high) = (digits(estimate.low), digits(estimate.high));
    if low == high {
        low
    } else {
        format!("{low}–{high}")
    }
}

/// Tokens per second in one figure.
pub(crate) fn rate(tokens: f64) -> String {
    if tokens < 10.0 {
        format!("{tokens:.1}")
    } else {
        format!("{tokens:.0}")
    }
}

/// A difference of tokens per second, never "-0.0".
pub(crate) fn speed_difference(tokens: f64) -> String {
    let sign = if tokens < 0.0 { "−" } else { "+" };
    let text = match tokens.abs() {
        small if small < 1.0 => format!("{small:.2}"),
        large => format!("{large:.1}"),
    };
    format!("{sign}{text}")
}

/// A time as a range, in seconds or minutes.
pub(crate) fn seconds(estimate: Estimate, texts: &Texts) -> String {
    /// From here on, minutes say more.
    const LONG: f64 = 120.0;
    if estimate.likely < LONG {
        return fill(texts.seconds, &[("range", &range(estimate))]);
    }
    let minutes = Estimate {
        low: estimate.low / 60.0,
        likely: estimate.likely / 60.0,
        high: estimate.high / 60.0,
    };
    fill(texts.minutes, &[("range", &range(minutes))])
}

/// Two significant digits, as many as an estimate has.
fn digits(value: f64) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    if value < 10.0 {
        let text = format!("{value:.1}");
        return text.strip_suffix(".0").map_or(text.clone(), str::to_owned);
    }
    let unit = 10_f64.powf(value.log10().floor() - 1.0);
    let rounded = (value / unit).round() * unit;
    grouped(rounded as u64)
}

/// A machine's name without the brands in it.
pub(crate) fn plain(name: &str) -> String {
    name.replace("NVIDIA ", "")
        .replace("GeForce ", "")
        .replace("AMD Radeon ", "")
}

/// A product name without what everybody knows: "NVIDIA GeForce RTX 4090" is "RTX 4090".
pub(crate) fn product(name: &str) -> &str {
    let mut rest = name.trim();
    for brand in [
        "NVIDIA ",
        "AMD ",
        "Intel(R) ",
        "Intel ",
        "GeForce ",
        "Radeon ",
    ] {
        rest = rest.strip_prefix(brand).unwrap_or(rest);
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_a_true_minus_and_no_negative_zero() {
        assert_eq!(gib_difference(-3 * (1 << 30), 1), "−3.0 GiB");
        assert_eq!(gib_difference(-1, 1), "0.0 GiB");
        assert_eq!(gib_difference(1 << 29, 2), "0.50 GiB");
    }

    #[test]
    fn numbers_are_read_as_people_write_them() {
        for (text, expected) in [
            ("32,768", Some(32_768)),
            ("32k", Some(32_768)),
            (" 1 024 ", Some(1024)),
            ("1m", Some(1_048_576)),
            ("−5", Some(-5)),
            ("9999999999999999k", None),
            ("x", None),
        ] {
            assert_eq!(parse_integer(text), expected, "{text}");
        }
    }

    #[test]
    fn parameters_read_like_model_cards() {
        assert_eq!(parameters(32_763_876_352), "32.8 B");
        assert_eq!(parameters(671_026_419_200), "671 B");
        assert_eq!(parameters(494_032_768), "494 M");
        assert_eq!(parameters(1_040_000_000_000), "1.0 T");
        assert_eq!(parameters(327_680), "328 K");
    }

    #[test]
    fn estimates_are_ranges_of_few_digits() {
        let estimate = |low, likely, high| Estimate { low, likely, high };
        assert_eq!(range(estimate(21.4, 24.0, 26.3)), "21–26");
        assert_eq!(range(estimate(0.84, 1.0, 1.02)), "0.8–1");
        assert_eq!(range(estimate(1234.0, 1500.0, 1780.0)), "1,200–1,800");
        assert_eq!(range(estimate(5.0, 5.0, 5.0)), "5");
        assert_eq!(range(estimate(1.0, 1.0, f64::INFINITY)), "1–?");
        let texts = &super::super::texts::ENGLISH;
        assert_eq!(seconds(estimate(8.0, 9.0, 14.0), texts), "8–14\u{a0}s");
        assert_eq!(
            seconds(estimate(90.0, 150.0, 240.0), texts),
            "1.5–4\u{a0}min"
        );
    }

    #[test]
    fn products_lose_their_brand() {
        assert_eq!(product("NVIDIA GeForce RTX 4090"), "RTX 4090");
        assert_eq!(product("AMD Radeon RX 7900 XTX"), "RX 7900 XTX");
    }
}
