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
    fn a_message_is_one_line_that_steers_nothing() {
        assert_eq!(one_line("a\nb\u{1b}[31mc\u{202e}d\u{85}e"), "a b [31mc d e");
        assert_eq!(one_line("“ü” 模型"), "“ü” 模型");
        let long = one_line(&"x".repeat(100_000));
        assert_eq!(long.chars().count(), MOST_LETTERS + 1);
    }
}
