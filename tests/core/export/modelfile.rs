//! Modelfiles, read back as Ollama reads them: a state machine over letters (`ParseFile`, `parser/parser.go` v0.33.0-rc2).

use proptest::prelude::*;

use super::case::Case;

#[derive(Clone, Copy, PartialEq)]
enum State {
    Nothing,
    Name,
    Value,
    Parameter,
    Comment,
}

/// Instructions with their values, parameters by their own name.
pub(super) fn parse(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    let (mut state, mut buffer, mut name) = (State::Nothing, String::new(), String::new());
    for letter in text.chars() {
        let space = letter == ' ' || letter == '\t';
        let newline = letter == '\r' || letter == '\n';
        // The next state, and the letter that is kept.
        let (next, kept) = match state {
            State::Nothing if letter == '#' => (State::Comment, None),
            State::Nothing if space || newline => (State::Nothing, None),
            State::Nothing => (State::Name, Some(letter)),
            State::Name if letter.is_ascii_alphabetic() => (State::Name, Some(letter)),
            State::Name if space => (State::Value, None),
            State::Name => return Err(format!("no instruction: {buffer}{letter}")),
            State::Value if newline || space => (State::Nothing, Some(letter)),
            State::Value => (State::Value, Some(letter)),
            State::Parameter if letter.is_ascii_alphanumeric() || letter == '_' => {
                (State::Parameter, Some(letter))
            }
            State::Parameter if space => (State::Value, None),
            State::Parameter => return Err(format!("no parameter: {buffer}{letter}")),
            State::Comment if newline => (State::Nothing, None),
            State::Comment => (State::Comment, None),
        };
        let mut next = next;
        if next != state {
            match state {
                State::Name => match buffer.to_ascii_lowercase().as_str() {
                    "parameter" => next = State::Parameter,
                    "from" | "license" | "template" | "system" | "adapter" | "draft"
                    | "renderer" | "parser" | "requires" => buffer.clone_into(&mut name),
                    other => return Err(format!("no instruction: {other}")),
                },
                State::Parameter => buffer.clone_into(&mut name),
                State::Value => match unquoted(buffer.trim()) {
                    Some(value) if !space => found.push((name.clone(), value)),
                    // Goes on: inside quotes, or behind a space.
                    _ => {
                        buffer.push(letter);
                        continue;
                    }
                },
                State::Nothing | State::Comment => {}
            }
            buffer.clear();
            state = next;
        }
        buffer.extend(kept.filter(|letter| is_print(*letter)));
    }
    match state {
        State::Nothing | State::Comment => Ok(found),
        State::Value => {
            let value = unquoted(buffer.trim()).ok_or("an open quote")?;
            found.push((name, value));
            Ok(found)
        }
        State::Name | State::Parameter => Err("an open instruction".to_owned()),
    }
}

fn unquoted(text: &str) -> Option<String> {
    for quotes in ["\"\"\"", "\""] {
        if text.starts_with(quotes) {
            let inner = text.get(quotes.len()..text.len().checked_sub(quotes.len())?)?;
            return text.ends_with(quotes).then(|| inner.to_owned());
        }
    }
    Some(text.to_owned())
}

/// Go's `strconv.IsPrint` for the letters that occur here.
fn is_print(letter: char) -> bool {
    letter == ' '
        || !(letter.is_whitespace() || letter.is_control() || "\u{200B}\u{AD}".contains(letter))
}

fn instructions(case: &Case) -> Vec<(String, String)> {
    parse(&case.write("modelfile").unwrap()).unwrap()
}

#[test]
fn everything_a_modelfile_can_say() {
    let case = Case::of(
        "ollama",
        "num_ctx = 8192\nnum_gpu = 33\nnum_batch = 256\nmain_gpu = 1\nuse_mmap = false\nnum_thread = 8\n",
    )
    .model_path("/models/a b.gguf");
    let expected = [
        ("FROM", "/models/a b.gguf"),
        ("num_ctx", "8192"),
        ("num_batch", "256"),
        ("num_gpu", "33"),
        ("main_gpu", "1"),
        ("use_mmap", "false"),
        ("num_thread", "8"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(instructions(&case), expected);
}

/// What is left to Ollama is not written, but for the numbers that were projected; the processor alone is.
#[test]
fn what_is_automatic_stays_so() {
    let names = |case: &Case| -> Vec<String> {
        instructions(case)
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    };
    let chosen = "num_ctx = 4096\nnum_batch = 512\nnum_gpu = 49";
    let case = Case::of("ollama", "")
        .published_in("a/b-GGUF")
        .chosen(chosen);
    assert_eq!(names(&case), ["FROM", "num_ctx", "num_batch"]);
    let case = case.on(super::case::machine(&[]));
    assert_eq!(names(&case), ["FROM", "num_ctx", "num_batch", "num_gpu"]);
    assert!(instructions(&case).contains(&("num_gpu".to_owned(), "0".to_owned())));
}

#[test]
fn a_model_comes_from_a_file_or_from_hugging_face() {
    let from = |case: &Case| instructions(case).swap_remove(0).1;
    let published = Case::of("ollama", "weights = \"Q5_K_M\"").published_in("owner/R1-GGUF");
    assert_eq!(from(&published), "hf.co/owner/R1-GGUF:Q5_K_M");
    let mut named = Case::of("ollama", "").published_in("owner/R1-GGUF");
    named.file = Some("R1-UD-Q2_K_XL.gguf");
    assert_eq!(from(&named), "hf.co/owner/R1-GGUF:R1-UD-Q2_K_XL.gguf");
    // No tag leads into a folder.
    named.file = Some("UD-Q2_K_XL/R1-UD-Q2_K_XL-00001-of-00002.gguf");
    assert_eq!(from(&named), "./MODEL");
    let mut tagged = Case::of("ollama", "");
    tagged.plan.launch.hf_repo = Some("owner/R1-GGUF:UD-Q2_K_XL".to_owned());
    assert_eq!(from(&tagged), "hf.co/owner/R1-GGUF:UD-Q2_K_XL");
    // Nothing says which file: a place to write it, and what to write there.
    let unknown = Case::of("ollama", "");
    assert_eq!(from(&unknown), "./MODEL");
    let text = unknown.write("modelfile").unwrap();
    assert!(
        text.contains("# or set model_path or hf_repo under [launch] in the plan.\nFROM ./MODEL\n"),
        "{text}"
    );
    assert!(
        text.contains("in place of ./MODEL in the next line"),
        "{text}"
    );
    let drop_in = Case::of("ollama", "").write("systemd").unwrap();
    assert!(drop_in.contains("--file"), "{drop_in}");
    let odd = Case::of("ollama", "").model_path("/models/a\u{200B}.gguf");
    let drop_in = odd.write("systemd").unwrap();
    assert!(
        drop_in.contains("There is no Modelfile of this plan yet"),
        "{drop_in}"
    );
    assert!(!drop_in.contains("--file"), "{drop_in}");
    assert!(published.write("systemd").unwrap().contains("--file"));
    // Which files a repository has is not known here.
    let remarks = published.launch().remarks.concat();
    assert!(
        remarks.contains("whether owner/R1-GGUF has a file of Q5_K_M"),
        "{remarks}"
    );
}

#[test]
fn what_go_does_not_print_is_refused() {
    for path in [
        "/models/a\u{A0}b.gguf",
        "/models/a\u{200B}.gguf",
        "/models/a\u{3000}.gguf",
    ] {
        let error = Case::of("ollama", "")
            .model_path(path)
            .write("modelfile")
            .unwrap_err();
        assert!(
            error.to_string().contains("a Modelfile drops it"),
            "{error}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// A path is one value, and nothing of it becomes an instruction.
    #[test]
    fn paths_arrive_as_they_were(path in "[ -~深度é]{0,3}[\"#' ]{0,4}[ -~]{1,12}[\"#' \\\\]{0,4}") {
        let case = Case::of("ollama", "num_ctx = 512\n").model_path(&path).chosen("num_batch = 512");
        let expected = [("FROM", path.as_str()), ("num_ctx", "512"), ("num_batch", "512")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        prop_assert_eq!(instructions(&case), expected);
    }
}
