//! Names and messages that quote what strangers wrote, shown so that they steer neither a terminal nor the eye.

/// Most letters of a message; more than this quotes something that nobody wrote by hand.
pub const MOST_LETTERS: usize = 2_000;

/// A message that quotes what a file or an argument says, as one line.
pub fn one_line(message: &str) -> String {
    let mut letters = message.chars();
    let mut line: String = letters
        .by_ref()
        .take(MOST_LETTERS)
        .map(|letter| if steers(letter) { ' ' } else { letter })
        .collect();
    if letters.next().is_some() {
        line.push('…');
    }
    line
}

/// Most letters of a name that a message quotes.
const NAME: usize = 80;

/// A name of strangers in a message: short, whole where it is not too long, and with the code of each letter that would
/// not show itself.
pub fn quoted(name: &str) -> String {
    let mut letters = name.chars();
    let mut shown = String::new();
    for letter in letters.by_ref().take(NAME) {
        if shows_itself(letter) {
            shown.push(letter);
        } else {
            shown.extend(letter.escape_default());
        }
    }
    if letters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// A letter that shows as itself and changes nothing around it: none that steers, no space of no width.
pub fn shows_itself(letter: char) -> bool {
    !steers(letter)
        && !matches!(
            letter,
            '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}

/// A text without what does not show as itself.
pub fn tame(text: &str) -> String {
    text.chars()
        .filter(|letter| shows_itself(*letter))
        .collect()
}

/// Control characters, line ends of Unicode, and the marks that turn the direction of writing.
pub fn steers(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_shows_what_would_steer() {
        assert_eq!(quoted("a\u{1b}[2J\u{202e}\0"), "a\\u{1b}[2J\\u{202e}\\u{0}");
        assert_eq!(quoted("a\u{200b}b\u{feff}"), "a\\u{200b}b\\u{feff}");
        assert_eq!(quoted("C:\\“ü” 模型"), "C:\\“ü” 模型");
        assert_eq!(quoted(&"x".repeat(81)).chars().count(), 81);
        assert!(quoted(&"x".repeat(81)).ends_with('…'));
        assert_eq!(tame("\u{1b}[2Jnice\u{202e}"), "[2Jnice");
    }

    #[test]
    fn a_message_is_one_line_that_steers_nothing() {
        assert_eq!(one_line("a\nb\u{1b}[31mc\u{202e}d\u{85}e"), "a b [31mc d e");
        assert_eq!(one_line("“ü” 模型"), "“ü” 模型");
        let long = one_line(&"x".repeat(100_000));
        assert_eq!(long.chars().count(), MOST_LETTERS + 1);
    }
}
