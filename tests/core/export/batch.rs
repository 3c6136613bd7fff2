//! Batch files, read as `cmd.exe` and the C runtime do.
//!
//! The steps are those of "Windows batch file phases" as documented by Microsoft ("cmd", "set", "Parsing C command-line
//! arguments"): percent signs first, then quotes and carets, then the program's own splitting.

use std::collections::BTreeMap;

use plimsoll::engine::launch::{Argument, Launch, Step, Word};
use proptest::prelude::*;

use super::case::Case;

/// Percent signs: `%%` is one, `%NAME%` a variable.
fn fill_in(line: &str, variables: &BTreeMap<String, String>) -> String {
    let mut filled = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('%') {
        filled.push_str(before);
        let (name, behind) = after.split_once('%').expect("a lone percent sign");
        if name.is_empty() {
            filled.push('%');
        } else {
            filled.push_str(&variables[name]);
        }
        rest = behind;
    }
    filled + rest
}

/// The prompt's reading of a command that may go over several lines: what the program is handed as its command line.
fn command_line(text: &str, variables: &BTreeMap<String, String>) -> String {
    let lines: Vec<String> = text
        .split("\r\n")
        .map(|line| fill_in(line, variables))
        .collect();
    let joined = lines.join("\n");
    let mut letters = joined.chars();
    let mut line = String::new();
    let mut quoted = false;
    while let Some(letter) = letters.next() {
        match letter {
            '^' if !quoted => match letters.next() {
                // The line end goes, and what comes behind it is taken as it is.
                Some('\n') => line.extend(letters.next()),
                Some(escaped) => line.push(escaped),
                None => panic!("a caret at the end"),
            },
            '\n' => break,
            '"' => {
                quoted = !quoted;
                line.push(letter);
            }
            '&' | '|' | '<' | '>' | '(' | ')' if !quoted => {
                panic!("{letter} has a meaning in {text}")
            }
            _ => line.push(letter),
        }
    }
    line
}

/// The C runtime's reading of a command line (rules since 2008).
fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' if !quoted => words.extend(word.take()),
            '\\' => {
                let mut count = 1;
                while letters.next_if_eq(&'\\').is_some() {
                    count += 1;
                }
                let word = word.get_or_insert_default();
                if letters.peek() == Some(&'"') {
                    word.push_str(&"\\".repeat(count / 2));
                    if count % 2 == 1 {
                        letters.next();
                        word.push('"');
                    }
                } else {
                    word.push_str(&"\\".repeat(count));
                }
            }
            '"' => {
                word.get_or_insert_default();
                if quoted && letters.next_if_eq(&'"').is_some() {
                    word.get_or_insert_default().push('"');
                } else {
                    quoted = !quoted;
                }
            }
            _ => word.get_or_insert_default().push(letter),
        }
    }
    assert!(!quoted, "an open quote in {line}");
    words.extend(word);
    words
}

/// What the program of a batch file gets, and which variables are set.
fn run(script: &str, variables: &[(&str, &str)]) -> (Vec<String>, BTreeMap<String, String>) {
    let mut variables: BTreeMap<String, String> = variables
        .iter()
        .map(|&(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let lines: Vec<&str> = script.split("\r\n").collect();
    let start = lines
        .iter()
        .position(|line| line.starts_with("llama-server"))
        .unwrap();
    for line in &lines[..start] {
        if let Some(assignment) = line.strip_prefix("set \"") {
            let assignment = fill_in(assignment, &variables);
            let (name, value) = assignment.split_once('=').unwrap();
            variables.insert(name.to_owned(), value.strip_suffix('"').unwrap().to_owned());
        }
    }
    let last = lines[start..].iter().position(|line| !line.ends_with('^'));
    let command = lines[start..=start + last.unwrap()].join("\r\n");
    (split(&command_line(&command, &variables)), variables)
}

fn launch(words: &[String]) -> Launch {
    Launch {
        steps: vec![Step {
            role: "server",
            program: "llama-server".to_owned(),
            arguments: words.chunks(2).map(Argument::literal).collect(),
            ..Step::default()
        }],
        ..Launch::default()
    }
}

fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,24}",
        "[\\\\\"'%!^&|<>() ]{0,12}",
        "[深度求索é a%\"\\\\]{0,12}",
        Just("%PATH%".to_owned()),
        Just("{\"a\": \"b & c\"}".to_owned()),
        Just("C:\\models\\".to_owned()),
        Just("C:\\my models\\".to_owned()),
        Just("a\\\\\"b".to_owned()),
        Just(String::new()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn words_arrive_as_they_were(words in prop::collection::vec(hostile(), 1..8)) {
        let script = Case::everyday().write_launch("cmd", &launch(&words)).unwrap();
        let (found, _) = run(&script, &[]);
        prop_assert_eq!(&found[1..], &words[..]);
    }
}

#[test]
fn the_test_reads_as_the_prompt_does() {
    let none = BTreeMap::new();
    assert_eq!(fill_in("100%% \"a\"", &none), "100% \"a\"");
    assert_eq!(
        command_line("a ^& b ^\r\n  \"c&d\"", &none),
        "a & b   \"c&d\""
    );
    for (line, words) in [
        (r#"a "b c" d"#, &["a", "b c", "d"][..]),
        (r#""a\"b" "c\\" d\e"#, &["a\"b", "c\\", "d\\e"]),
        (r#""" a"#, &["", "a"]),
    ] {
        assert_eq!(split(line), words);
    }
}

#[test]
fn chinese_paths_change_the_code_page_first() {
    let plain = Case::everyday().write("cmd").unwrap();
    assert!(plain.is_ascii() && !plain.contains("chcp"));
    let path = "D:\\模型\\深度 求索 100%\\R1.gguf";
    let script = Case::new("").model_path(path).write("cmd").unwrap();
    assert!(script.starts_with("@echo off\r\nchcp 65001 >nul\r\n"));
    let (words, _) = run(&script, &[]);
    assert_eq!(words[1..3], ["--model", path]);
}

#[test]
fn line_ends_are_of_windows_and_no_caret_has_a_space_behind() {
    let script = Case::everyday().write("cmd").unwrap();
    assert!(!script.starts_with('\u{feff}'));
    for line in script.split_inclusive('\n') {
        assert!(line.ends_with("\r\n"), "{line:?}");
        assert!(!line.trim_end_matches("\r\n").ends_with(' '), "{line:?}");
    }
}

#[test]
fn variables_are_asked_for_and_handed_over() {
    let mut case = Case::new("");
    case.plan.launch.api_key_env = Some("TEAM_KEY".to_owned());
    case.model.name = "R1 (32B) & more <x>".to_owned();
    let script = case.write("cmd").unwrap();
    assert!(script.contains(
        "if not defined MODEL (\r\n  echo MODEL is not set. Set it to the path of the Q4_K_M model file ^(GGUF^) of R1 \
         ^(32B^) ^& more ^<x^>. 1>&2\r\n  exit /b 2\r\n)\r\n"
    ));
    assert!(script.contains("if not defined TEAM_KEY (\r\n"));
    let (words, variables) = run(
        &script,
        &[("MODEL", "D:\\a & b\\c.gguf"), ("TEAM_KEY", "k")],
    );
    assert_eq!(words[1..3], ["--model", "D:\\a & b\\c.gguf"]);
    assert_eq!(variables["LLAMA_API_KEY"], "k");
}

#[test]
fn a_command_longer_than_the_prompt_takes_is_refused() {
    let words: Vec<String> = (0..400)
        .map(|layer| format!(r"blk\.{layer}\.ffn_up_exps=CPU"))
        .collect();
    let error = Case::everyday()
        .write_launch("cmd", &launch(&words))
        .unwrap_err();
    assert!(
        error.to_string().ends_with("the command prompt takes 8191"),
        "{error}"
    );
}

#[test]
fn a_quote_in_a_variable_is_refused() {
    let mut launch = launch(&[]);
    launch.steps[0]
        .environment
        .push(("A".to_owned(), Word::Literal("b\" & del *".to_owned())));
    let error = Case::everyday().write_launch("cmd", &launch).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cmd cannot express a double quote in the value of A"
    );
}
