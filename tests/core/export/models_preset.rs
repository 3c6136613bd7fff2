//! The INI of llama-server's router mode, read back with the grammar of `common/preset.cpp` (0.6.0-dev).

use std::collections::BTreeMap;

use super::case::Case;

/// Section, keys and values, as the server reads them: a value ends at the line, `;` or `#`, spaces around dropped.
fn parse(text: &str) -> (String, BTreeMap<String, String>) {
    let mut section = String::new();
    let mut values = BTreeMap::new();
    for line in text.lines() {
        let line = line.split([';', '#']).next().unwrap().trim();
        if let Some(name) = line.strip_prefix('[') {
            name.strip_suffix(']').unwrap().clone_into(&mut section);
        } else if !line.is_empty() {
            let (key, value) = line.split_once('=').unwrap();
            let old = values.insert(key.trim().to_owned(), value.trim().to_owned());
            assert_eq!(old, None, "{key} is there twice");
        }
    }
    (section, values)
}

#[test]
fn says_what_the_script_says() {
    let case = Case::everyday().extra_args(&["--jinja", "--temp", "-0.5", "--no-mmproj-offload"]);
    let (section, mut values) = parse(&case.write("models-preset").unwrap());
    assert_eq!(section, "DeepSeek-R1-Distill-Qwen-32B-Q4_K_M");
    assert_eq!(values.remove("version").as_deref(), Some("1"));
    assert_eq!(values.remove("load-on-startup").as_deref(), Some("false"));
    let launch = case.launch();
    for argument in &launch.steps[0].arguments {
        let words: Vec<String> = argument
            .words
            .iter()
            .map(|word| match word {
                plimsoll::engine::launch::Word::Literal(text) => text.clone(),
                plimsoll::engine::launch::Word::Variable(name) => panic!("{name}"),
            })
            .collect();
        let value = words.get(1).map_or("true", String::as_str);
        match words[0].as_str() {
            "--host" | "--port" => assert!(!values.contains_key(&words[0][2..])),
            option => assert_eq!(values.remove(&option[2..]).as_deref(), Some(value)),
        }
    }
    assert_eq!(values, BTreeMap::new());
}

#[test]
fn the_router_is_told_where_to_listen_and_to_load_one_model() {
    let mut case = Case::everyday();
    case.plan.launch.port = Some(9000);
    let text = case.write("models-preset").unwrap();
    assert!(text.contains(
        ";   llama-server --models-preset DeepSeek-R1-Distill-Qwen-32B-Q4_K_M.ini --models-max 1 --host 127.0.0.1 \
         --port 9000\n"
    ));
}

#[test]
fn refuses_what_the_file_cannot_hold() {
    for (case, expected) in [
        (
            Case::new(""),
            "a value that is asked for (MODEL); set model_path or hf_repo under [launch]",
        ),
        (
            Case::new("lora = [\"8\"]").model_path("/models/a.gguf"),
            "a value that is asked for (LORA); set lora_paths under [launch]",
        ),
        (
            Case::new("").model_path("/models/a;b.gguf"),
            "\"/models/a;b.gguf\" as the value of model",
        ),
        (
            Case::new("").model_path("/models/a #1.gguf"),
            "\"/models/a #1.gguf\" as the value of model",
        ),
        (
            Case::new("").model_path("/models/a.gguf "),
            "\"/models/a.gguf \" as the value of model",
        ),
        (
            Case::everyday().extra_args(&["stray"]),
            "\"stray\", which is no option",
        ),
        (
            Case::everyday().extra_args(&["--lora-scaled", "a", "b"]),
            "an option with several values: --lora-scaled a b",
        ),
    ] {
        let error = case.write("models-preset").unwrap_err().to_string();
        let expected = format!("models-preset cannot express {expected}");
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[test]
fn paths_with_spaces_quotes_and_chinese_letters_go_as_they_are() {
    let path = "/models/深度 求索/it's \"it\" $x.gguf";
    let (_, values) = parse(
        &Case::new("")
            .model_path(path)
            .write("models-preset")
            .unwrap(),
    );
    assert_eq!(values["model"], path);
}
