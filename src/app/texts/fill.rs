//! Texts with gaps.

/// A text with the names in braces filled in.
pub fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len() + 16);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let Some((name, behind)) = after.split_once('}') else {
            text.push('{');
            rest = after;
            break;
        };
        let value = values.iter().find(|(known, _)| *known == name);
        text.push_str(value.map_or(name, |(_, value)| value));
        rest = behind;
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_filled_in_once() {
        assert_eq!(fill("{a} of {b}", &[("a", "{b}"), ("b", "2")]), "{b} of 2");
        assert_eq!(fill("{a", &[("a", "1")]), "{a");
        assert_eq!(fill("plain", &[]), "plain");
    }
}
