//! PowerShell scripts, read as PowerShell does ("about_Quoting_Rules": in single quotes only a quote is special, any of
//! the five letters that PowerShell takes for one, and two of them are one).

use plimsoll::engine::launch::{Argument, Launch, Step, Word};
use proptest::prelude::*;

use super::case::Case;

fn is_quote(letter: char) -> bool {
    matches!(
        letter,
        '\'' | '\u{2018}' | '\u{2019}' | '\u{201A}' | '\u{201B}'
    )
}

/// The values of a comma-separated list of strings and `$env:NAME`.
fn values(list: &str, environment: &[(&str, &str)]) -> Vec<String> {
    let mut values = Vec::new();
    let mut letters = list.trim().chars().peekable();
    loop {
        let mut value = String::new();
        match letters.next() {
            None => break,
            Some(letter) if is_quote(letter) => loop {
                let letter = letters.next().expect("an open string");
                if is_quote(letter) {
                    match letters.next_if(|next| is_quote(*next)) {
                        Some(second) => value.push(second),
                        None => break,
                    }
                } else {
                    value.push(letter);
                }
            },
            Some('$') => {
                let mut name = String::new();
                while let Some(letter) = letters.next_if(|next| *next != ',') {
                    name.push(letter);
                }
                let name = name.strip_prefix("env:").unwrap();
                let known = environment.iter().find(|(known, _)| *known == name);
                known.unwrap().1.clone_into(&mut value);
            }
            Some(letter) => panic!("{letter:?} begins no value in {list:?}"),
        }
        values.push(value);
        match letters.next() {
            None => break,
            Some(comma) => assert_eq!((comma, letters.next()), (',', Some(' ')), "{list:?}"),
        }
    }
    values
}

fn arguments(script: &str, environment: &[(&str, &str)]) -> Vec<String> {
    let (_, list) = script.split_once("$arguments = @(\r\n").unwrap();
    list.split("\r\n")
        .take_while(|line| *line != ")")
        .flat_map(|line| values(line, environment))
        .collect()
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
        "['‘’‚‛\"`$(){},@;#% ]{0,12}",
        "[深度求索é a'’]{0,12}",
        Just("$(Remove-Item *)".to_owned()),
        Just("'; Remove-Item *; '".to_owned()),
        Just("’; Remove-Item *; ’".to_owned()),
        Just(")".to_owned()),
        Just(String::new()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn words_arrive_as_they_were(words in prop::collection::vec(hostile(), 1..8)) {
        let script = Case::everyday().write_launch("powershell", &launch(&words)).unwrap();
        prop_assert_eq!(arguments(&script, &[]), words);
    }
}

#[test]
fn older_versions_get_their_quotes_escaped_where_there_are_any() {
    let plain = Case::everyday().write("powershell").unwrap();
    assert!(!plain.contains("PSVersionTable"));
    for word in ["{\"a\":1}", "C:\\models\\", ""] {
        let words = ["--x".to_owned(), word.to_owned()];
        let script = Case::everyday()
            .write_launch("powershell", &launch(&words))
            .unwrap();
        assert!(script.contains("PSVersionTable"), "{word:?}");
    }
}

#[test]
fn a_mark_is_written_where_a_letter_needs_it() {
    assert!(Case::everyday().write("powershell").unwrap().is_ascii());
    let script = Case::new("")
        .model_path("D:\\模型\\R1.gguf")
        .write("powershell")
        .unwrap();
    assert!(script.starts_with("\u{feff}#"));
    assert_eq!(
        arguments(&script, &[])[..2],
        ["--model", "D:\\模型\\R1.gguf"]
    );
}

#[test]
fn variables_are_asked_for_and_handed_over() {
    let mut case = Case::new("");
    case.plan.launch.api_key_env = Some("TEAM_KEY".to_owned());
    case.model.name = "O'Neil ’s $(model)".to_owned();
    let script = case.write("powershell").unwrap();
    assert!(script.contains(
        "if (-not $env:MODEL) {\r\n    [Console]::Error.WriteLine('MODEL is not set. Set it to the path of the Q4_K_M \
         model file (GGUF) of O''Neil ’’s $(model).')\r\n    exit 2\r\n}\r\n"
    ));
    assert!(script.contains("$env:LLAMA_API_KEY = $env:TEAM_KEY\r\n"));
    assert_eq!(
        arguments(&script, &[("MODEL", "D:\\a b.gguf")])[..2],
        ["--model", "D:\\a b.gguf"]
    );
}

#[test]
fn the_environment_is_set_before_the_server_starts() {
    let mut launch = launch(&[]);
    launch.steps[0].environment.push((
        "CUDA_VISIBLE_DEVICES".to_owned(),
        Word::Literal("GPU-1'x".to_owned()),
    ));
    let script = Case::everyday()
        .write_launch("powershell", &launch)
        .unwrap();
    let set = script.find("$env:CUDA_VISIBLE_DEVICES = 'GPU-1''x'\r\n");
    assert!(set.unwrap() < script.find("& 'llama-server' @arguments").unwrap());
}
