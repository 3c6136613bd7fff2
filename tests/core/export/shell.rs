//! Shell scripts, run by the real `sh` with a stand-in for the server that prints what it was given.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use plimsoll::engine::launch::{Argument, Launch, Step, Variable, Word};
use plimsoll::export::File;
use plimsoll::store::{self, Overwrite};
use proptest::prelude::*;

use super::case::Case;

/// Prints arguments and the variables of the launch, each with a zero byte behind it.
const STAND_IN: &str = "#!/bin/sh\nfor word in \"$@\" \"${CUDA_VISIBLE_DEVICES-}\" \"${LLAMA_API_KEY-}\"; do printf '%s\\0' \"$word\"; done\n";

/// Runs a saved script in a folder where `llama-server` is the stand-in.
fn run(folder: &Path, script: &str, variables: &[(&str, &str)]) -> Output {
    let server = File {
        name: "llama-server".to_owned(),
        text: STAND_IN.to_owned(),
        executable: true,
    };
    let launch = File {
        name: "launch.sh".to_owned(),
        text: script.to_owned(),
        executable: true,
    };
    let paths = store::save_exports(folder, &[server, launch], Overwrite::Replace).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths(
        std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path)),
    )
    .unwrap();
    Command::new(&paths[1])
        .current_dir(folder)
        .env_clear()
        .env("PATH", path)
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

fn printed(output: &Output) -> Vec<OsString> {
    assert!(output.status.success(), "{output:?}");
    let mut words: Vec<OsString> = output
        .stdout
        .split(|byte| *byte == 0)
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect();
    assert_eq!(words.pop().as_deref(), Some(OsStr::new("")));
    words
}

/// Everything that some shell gives a meaning, and what a person writes.
fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,24}",
        "[\\\\\"'$`!%^&|;<>(){}*?~#\\[\\] =,]{0,12}",
        "[深度求索é‘’“” a'\"$]{0,12}",
        Just(String::new()),
        Just("-".to_owned()),
        Just("$(touch pwned)".to_owned()),
        Just("`touch pwned`".to_owned()),
        Just("'; touch pwned; '".to_owned()),
        Just("\\".to_owned()),
        Just("a\\".to_owned()),
        Just("${PATH}".to_owned()),
        Just("~/model.gguf".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn words_arrive_as_they_were(words in prop::collection::vec(hostile(), 1..12), value in hostile()) {
        let launch = Launch {
            steps: vec![Step {
                role: "server",
                program: "llama-server".to_owned(),
                arguments: words.chunks(2).map(Argument::literal).collect(),
                environment: vec![("CUDA_VISIBLE_DEVICES".to_owned(), Word::Literal(value.clone()))],
                ..Step::default()
            }],
            remarks: words.clone(),
            ..Launch::default()
        };
        let script = Case::everyday().write_launch("sh", &launch).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut expected: Vec<OsString> = words.iter().map(OsString::from).collect();
        expected.extend([value.into(), OsString::new()]);
        prop_assert_eq!(printed(&run(folder.path(), &script, &[])), expected);
        prop_assert!(!folder.path().join("pwned").exists());
    }
}

#[test]
fn a_missing_variable_stops_the_script_and_is_named() {
    let mut case = Case::new("weights = \"Q8_0\"\n");
    case.plan.launch.api_key_env = Some("TEAM_KEY".to_owned());
    case.model.name = "O'Neil's \"model\" $(touch pwned)".to_owned();
    let script = case.write("sh").unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (variables, expected) in [
        (
            &[][..],
            "MODEL is not set. Set it to the path of the Q8_0 model file (GGUF) of O'Neil's \"model\" $(touch pwned).\n",
        ),
        (
            &[("MODEL", "")][..],
            "MODEL is not set. Set it to the path of the Q8_0 model file (GGUF) of O'Neil's \"model\" $(touch pwned).\n",
        ),
        (
            &[("MODEL", "x")][..],
            "TEAM_KEY is not set. Set it to the key that clients must send.\n",
        ),
    ] {
        let output = run(folder.path(), &script, variables);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
        assert!(output.stdout.is_empty());
    }
    assert!(!folder.path().join("pwned").exists());
}

#[test]
fn variables_arrive_whole_and_the_key_stays_out_of_the_file() {
    let mut case = Case::new("");
    case.plan.launch.api_key_env = Some("TEAM_KEY".to_owned());
    let script = case.write("sh").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let variables = [
        ("MODEL", "/m/深 度/a * $b.gguf"),
        ("TEAM_KEY", "s3cret 'k\"ey"),
    ];
    let words = printed(&run(folder.path(), &script, &variables));
    assert_eq!(words[..2], ["--model", "/m/深 度/a * $b.gguf"]);
    assert_eq!(words.last().unwrap(), "s3cret 'k\"ey");
    assert!(!script.contains("s3cret"));
}

#[test]
fn a_line_ends_where_it_seems_to() {
    let script = Case::everyday().write("sh").unwrap();
    assert!(script.starts_with("#!/bin/sh\n"));
    assert!(script.ends_with('\n'));
    for line in script.lines() {
        assert_eq!(line, line.trim_end(), "{line:?}");
    }
}

#[test]
fn a_saved_script_is_executable() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &Case::everyday().write("sh").unwrap(), &[]);
    let mode = fs::metadata(folder.path().join("launch.sh"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o500, 0o500);
}

#[test]
fn a_launch_of_several_programs_is_refused() {
    let launch = Launch {
        steps: vec![Step::default(), Step::default()],
        variables: vec![Variable {
            name: "A".to_owned(),
            meaning: String::new(),
            plan_keys: "model_path",
            secret: false,
        }],
        ..Launch::default()
    };
    for target in ["sh", "powershell", "cmd", "models-preset"] {
        let error = Case::everyday().write_launch(target, &launch).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{target} cannot express a launch of 2 steps")
        );
    }
}
