//! A field for a number: shown as it is, changed only by hand.

use eframe::egui::{DragValue, Response, Ui};

use crate::app::format;

/// A number to drag or to type.
#[derive(Clone, Copy)]
pub(crate) struct NumberField<'a> {
    /// For screen readers.
    pub(crate) name: &'a str,
    /// Least and greatest value that can be given by hand.
    pub(crate) range: (f64, f64),
    /// How much one point of dragging changes.
    pub(crate) speed: f64,
    /// Most decimals that are shown.
    pub(crate) decimals: usize,
    /// Before the number.
    pub(crate) prefix: &'a str,
    /// Behind it.
    pub(crate) suffix: &'a str,
}

impl NumberField<'_> {
    /// Shows a value, be it within the range or not; returns another one only where a hand gave it.
    pub(crate) fn show(self, ui: &mut Ui, value: f64) -> (Response, Option<f64>) {
        let Self {
            name,
            range: (low, high),
            speed,
            decimals,
            prefix,
            suffix,
        } = self;
        let shown = written(value, decimals);
        let mut number = value;
        let field = DragValue::new(&mut number)
            .speed(speed)
            // One that is out of range moves from where it is.
            .range(low.min(value)..=high.max(value))
            .clamp_existing_to_range(false)
            .update_while_editing(false)
            .max_decimals(decimals)
            .prefix(prefix)
            .suffix(suffix)
            .custom_formatter(move |number, _| written(number, decimals))
            // Who only walks through the field with the keyboard has written nothing.
            .custom_parser(move |text| (text != shown).then(|| read(text, decimals)).flatten());
        let response = ui.add(field).accessible_name(name);
        let other = response.changed() && number.to_bits() != value.to_bits();
        (response, other.then_some(number))
    }
}

fn written(number: f64, decimals: usize) -> String {
    if decimals == 0 {
        return format::integer(number.round() as i64);
    }
    let text = format!("{number:.decimals$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}

fn read(text: &str, decimals: usize) -> Option<f64> {
    let whole = format::parse_integer(text).map(|number| number as f64);
    whole.or_else(|| {
        let number: f64 = text.trim().parse().ok()?;
        (decimals > 0 && number.is_finite()).then_some(number)
    })
}

#[cfg(test)]
mod tests {
    use super::{read, written};

    #[test]
    fn numbers_are_read_as_they_are_written() {
        for (number, decimals, text) in [
            (16_384.0, 0, "16,384"),
            (0.25, 2, "0.25"),
            (24.0, 2, "24"),
            (-1.0, 0, "−1"),
        ] {
            assert_eq!(written(number, decimals), text);
            assert_eq!(read(text, decimals), Some(number));
        }
        assert_eq!(read("1.5", 0), None);
        assert_eq!(read("inf", 2), None);
    }
}
