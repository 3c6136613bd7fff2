//! Launches of Ollama: the environment in every target, the shell script run with a stand-in, hostile names.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use plimsoll::export::File;
use plimsoll::hardware::Vendor;
use plimsoll::store::{self, Overwrite};
use proptest::prelude::*;
use serde_json::Value as Json;

use super::case::{Case, gpu, machine};
use super::modelfile::parse;

const HOSTILE: &str = "/models/it's \"$(touch pwned)\" `x` %PATH% ${HOME} \\ a.gguf";

#[test]
fn settings_of_the_server_are_its_environment() {
    for (settings, expected) in [
        (
            "",
            &["OLLAMA_NUM_PARALLEL=1", "OLLAMA_KV_CACHE_TYPE=f16"][..],
        ),
        (
            "num_parallel = 4\nkv_cache_type = \"q8_0\"\nflash_attention = \"on\"\nsched_spread = true\n\
             context_length = 8192\nkeep_alive = \"-1\"\nmax_loaded_models = 1\ngpu_overhead = 1048576\nigpu_enable = \"off\"",
            &[
                "OLLAMA_NUM_PARALLEL=4",
                "OLLAMA_KV_CACHE_TYPE=q8_0",
                "OLLAMA_FLASH_ATTENTION=1",
                "OLLAMA_SCHED_SPREAD=1",
                "OLLAMA_CONTEXT_LENGTH=8192",
                "OLLAMA_KEEP_ALIVE=-1",
                "OLLAMA_MAX_LOADED_MODELS=1",
                "OLLAMA_GPU_OVERHEAD=1048576",
                "OLLAMA_IGPU_ENABLE=0",
            ],
        ),
    ] {
        let case = Case::of("ollama", settings).model_path("/models/a.gguf");
        assert_eq!(case.environment(), expected);
        let systemd = case.write("systemd").unwrap();
        let compose = case.write("compose").unwrap();
        let shell = case.write("sh").unwrap();
        for variable in expected {
            let (name, value) = variable.split_once('=').unwrap();
            assert!(systemd.contains(&format!("Environment=\"{variable}\"\n")));
            assert!(compose.contains(&format!("      {name}: \"{value}\"\n")));
            assert!(shell.contains(&format!("export {variable}\n")));
        }
    }
}

#[test]
fn the_margin_is_the_target_of_the_servers_own_fit() {
    let with = |settings: &str, margin: u64| {
        let mut case = Case::of("ollama", settings).model_path("/models/a.gguf");
        case.margin = plimsoll::units::Bytes::from_mib(margin);
        let variables = case.environment();
        variables
            .into_iter()
            .find(|variable| variable.starts_with("LLAMA_ARG_FIT_TARGET"))
    };
    assert_eq!(with("", 1024), None);
    assert_eq!(with("", 512).as_deref(), Some("LLAMA_ARG_FIT_TARGET=512"));
    assert_eq!(with("num_gpu = 10", 512), None);
}

#[test]
fn what_ollama_cannot_be_told_is_said() {
    let mut case = Case::of("ollama", "")
        .model_path("/models/a.gguf")
        .extra_args(&["--jinja"]);
    case.plan.launch.api_key_env = Some("KEY".to_owned());
    case.plan.launch.host = Some("::".to_owned());
    let launch = case.launch();
    let missing = launch.not_expressible.join("\n");
    assert!(
        missing.contains("api_key_env") && missing.contains("--jinja"),
        "{missing}"
    );
    assert!(
        launch
            .remarks
            .iter()
            .any(|remark| remark.starts_with("WARNING: the server listens on ::"))
    );
    assert!(
        case.environment()
            .contains(&"OLLAMA_HOST=[::]:11434".to_owned())
    );
    let text = case.write("sh").unwrap();
    assert!(text.contains("# In the plan, but not in this launch:"));
}

#[test]
fn names_are_ollamas_own() {
    for (name, weights, expected) in [
        (
            "DeepSeek-R1 (Distill)/Qwen:32B",
            "Q4_K_M",
            "deepseek-r1-distill-qwen-32b:q4_k_m",
        ),
        ("深度求索", "Q8_0", "planned:q8_0"),
        ("-.-", "Q8_0", "planned:q8_0"),
    ] {
        let mut case =
            Case::of("ollama", &format!("weights = \"{weights}\"")).model_path("/m.gguf");
        case.model.name = name.to_owned();
        let launch = case.launch();
        let create = &launch.steps[1];
        assert_eq!(create.role, "create");
        let word = &create.arguments[1].words[0];
        assert_eq!(
            *word,
            plimsoll::engine::launch::Word::Literal(expected.to_owned())
        );
    }
}

/// Serves until the model is loaded, and keeps what it was given.
const STAND_IN: &str = r#"#!/bin/sh
set -eu
case $1 in
list) test -e running ;;
serve)
  printf '%s' "$OLLAMA_KV_CACHE_TYPE" >environment
  : >running
  while ! test -e loaded; do :; done ;;
create)
  cp "$4" created
  printf '%s\0' "$@" >arguments ;;
run)
  test -z "$3"
  : >loaded ;;
esac
"#;

fn run(folder: &Path, script: &str, variables: &[(&str, &str)]) -> Output {
    let file = |name: &str, text: &str| File {
        name: name.to_owned(),
        text: text.to_owned(),
        executable: true,
    };
    let files = [file("ollama", STAND_IN), file("launch.sh", script)];
    let paths = store::save_exports(folder, &files, Overwrite::Replace).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths(
        std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path)),
    );
    Command::new(&paths[1])
        .current_dir(folder)
        .env_clear()
        .env("PATH", path.unwrap())
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

#[test]
fn the_shell_script_serves_makes_and_loads() {
    let settings = "num_ctx = 4096\nkv_cache_type = \"q8_0\"";
    for (case, variables) in [
        (Case::of("ollama", settings).model_path(HOSTILE), &[][..]),
        (Case::of("ollama", settings), &[("MODEL", HOSTILE)][..]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let script = case.chosen("num_batch = 512").write("sh").unwrap();
        let output = run(folder.path(), &script, variables);
        assert!(output.status.success(), "{output:?}");
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("environment"), "q8_0");
        let made = parse(&read("created")).unwrap();
        let expected = [("FROM", HOSTILE), ("num_ctx", "4096"), ("num_batch", "512")];
        assert_eq!(
            made,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
        let arguments = read("arguments");
        let arguments: Vec<&str> = arguments.split('\0').collect();
        assert_eq!(
            arguments[..3],
            ["create", "deepseek-r1-distill-qwen-32b:q4_k_m", "--file"]
        );
        // Its own file is gone, and nothing else came.
        let left = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        let left: Vec<String> = left.map(|name| name.into_string().unwrap()).collect();
        assert!(
            !left
                .iter()
                .any(|name| name.starts_with("Modelfile") || name == "pwned"),
            "{left:?}"
        );
    }
}

#[test]
fn the_shell_script_leaves_a_running_server_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("running"), "").unwrap();
    let script = Case::of("ollama", "")
        .model_path("/m.gguf")
        .write("sh")
        .unwrap();
    let output = run(folder.path(), &script, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("An Ollama server runs here already"));
    assert!(!folder.path().join("environment").exists());
}

#[test]
fn the_shell_script_asks_for_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let script = Case::of("ollama", "").write("sh").unwrap();
    let output = run(folder.path(), &script, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("MODEL is not set"));
}

/// Reads the part of YAML that is written here: block mappings and lists by indentation, strings as in JSON.
pub(super) fn yaml(text: &str) -> Vec<(String, String)> {
    let mut path: Vec<(usize, String)> = Vec::new();
    let mut values = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let indent = line.len() - line.trim_start().len();
        path.retain(|(depth, _)| *depth < indent);
        let content = line.trim_start();
        let at = |path: &[(usize, String)]| {
            let keys: Vec<&str> = path.iter().map(|(_, key)| key.as_str()).collect();
            keys.join(".")
        };
        if let Some(item) = content.strip_prefix("- ") {
            values.push((at(&path), item.to_owned()));
            continue;
        }
        let (key, value) = content.split_once(':').unwrap();
        assert!(
            key.chars()
                .all(|letter| letter.is_ascii_alphanumeric() || letter == '_'),
            "{line}"
        );
        path.push((indent, key.to_owned()));
        if !value.is_empty() {
            values.push((at(&path), value.trim_start().to_owned()));
        }
    }
    values
}

pub(super) fn text(values: &[(String, String)], at: &str) -> String {
    let (_, value) = values.iter().find(|(key, _)| key == at).unwrap();
    let Json::String(text) = serde_json::from_str(value).unwrap() else {
        panic!("{at}: {value}");
    };
    // As compose fills in.
    text.replace("$$", "$")
}

#[test]
fn compose_hands_over_gpus_by_maker() {
    let on = |vendor: Option<Vendor>, settings: &str| {
        let gpus: Vec<_> = vendor
            .into_iter()
            .map(|vendor| gpu("A card", vendor, None))
            .collect();
        let case = Case::of("ollama", settings)
            .on(machine(&gpus))
            .published_in("a/b");
        let file = yaml(&case.write("compose").unwrap());
        let reserved = file
            .iter()
            .any(|(key, _)| key.starts_with("services.ollama.deploy"));
        let devices = file
            .iter()
            .find(|(key, _)| key == "services.ollama.devices");
        (
            text(&file, "services.ollama.image"),
            reserved,
            devices.map(|(_, value)| value.clone()),
        )
    };
    let image = |tag: &str| format!("ollama/ollama:{tag}");
    assert_eq!(on(Some(Vendor::Nvidia), ""), (image("latest"), true, None));
    assert_eq!(
        on(Some(Vendor::Nvidia), "num_gpu = 0"),
        (image("latest"), false, None)
    );
    assert_eq!(
        on(None, "engine_version = \"v0.32.6\""),
        (image("0.32.6"), false, None)
    );
    let (tag, _, devices) = on(Some(Vendor::Amd), "engine_version = \"0.32.6\"");
    assert_eq!(tag, image("0.32.6-rocm"));
    assert_eq!(devices.as_deref(), Some("[/dev/kfd, /dev/dri]"));
}

#[test]
fn compose_mounts_the_file_and_makes_the_model_of_it() {
    let case = Case::of("ollama", "num_ctx = 2048")
        .model_path(HOSTILE)
        .chosen("num_batch = 512");
    let file = yaml(&case.write("compose").unwrap());
    let made = parse(&text(&file, "configs.modelfile.content")).unwrap();
    let expected = [
        ("FROM", "/models/model.gguf"),
        ("num_ctx", "2048"),
        ("num_batch", "512"),
    ];
    assert_eq!(
        made,
        expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
    let (_, mount) = file
        .iter()
        .find(|(key, _)| key == "services.create.volumes")
        .unwrap();
    let source = mount.strip_prefix("{type: bind, source: ").unwrap();
    let source = source
        .strip_suffix(", target: /models/model.gguf, read_only: true}")
        .unwrap();
    let Json::String(source) = serde_json::from_str(source).unwrap() else {
        panic!("{source}");
    };
    assert_eq!(source.replace("$$", "$"), HOSTILE);
    let relative = Case::of("ollama", "")
        .model_path("a.gguf")
        .write("compose")
        .unwrap();
    assert!(relative.contains("source: \"./a.gguf\""));
    let asked = Case::of("ollama", "").write("compose").unwrap();
    assert!(asked.contains("source: \"${MODEL:?MODEL is not set}\""));
    let published = Case::of("ollama", "")
        .published_in("a/b")
        .write("compose")
        .unwrap();
    assert!(published.contains("FROM hf.co/a/b:Q4_K_M") && !published.contains("type: bind"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// A value comes back from each file as systemd and compose read it.
    #[test]
    fn values_arrive_as_they_were(value in "[ -~深é]{0,6}[\"'$`%\\\\#{};: ]{0,6}[ -~]{0,6}") {
        let mut case = Case::of("ollama", "").model_path("/m.gguf");
        case.plan.settings.insert("keep_alive".to_owned(), plimsoll::plan::Value::Text(value.clone()));
        let systemd = case.write("systemd").unwrap();
        let line = systemd.lines().find(|line| line.contains("OLLAMA_KEEP_ALIVE")).unwrap();
        let quoted = line.strip_prefix("Environment=\"OLLAMA_KEEP_ALIVE=").unwrap();
        prop_assert_eq!(systemd_value(quoted), Some(value.clone()));
        let compose = yaml(&case.write("compose").unwrap());
        prop_assert_eq!(text(&compose, "services.ollama.environment.OLLAMA_KEEP_ALIVE"), value);
    }
}

/// The rest of a quoted word as systemd reads it: C escapes, doubled percent signs, nothing behind the quote.
fn systemd_value(quoted: &str) -> Option<String> {
    let mut value = String::new();
    let mut letters = quoted.chars();
    loop {
        match letters.next()? {
            '"' => return letters.next().is_none().then_some(value),
            '\\' => value.push(letters.next()?),
            '%' if letters.next()? == '%' => value.push('%'),
            '%' => return None,
            letter => value.push(letter),
        }
    }
}

/// Every command whose words a linter would suspect is preceded by what tells it otherwise.
#[test]
fn the_linter_is_told_what_is_meant() {
    for (host, codes) in [
        ("a$b", Some("SC2016 ")),
        ("a\u{2019}b", Some("SC1111,SC1112 ")),
        ("`\u{2018}", Some("SC2016,SC1111,SC1112 ")),
        ("localhost", None),
    ] {
        let mut case = Case::of("ollama", "").model_path("/models/a.gguf");
        case.plan.launch.host = Some(host.to_owned());
        let script = case.write("sh").unwrap();
        let lines: Vec<&str> = script.lines().collect();
        let export = |line: &&str| line.starts_with("export OLLAMA_HOST=");
        let at = lines.iter().position(export).unwrap();
        let remark = lines[at - 1].strip_prefix("# shellcheck disable=");
        match codes {
            Some(codes) => assert!(remark.unwrap().starts_with(codes), "{script}"),
            None => assert_eq!(remark, None),
        }
    }
}
