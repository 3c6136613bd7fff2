//! What is refused, and how it is said.

use std::process::Command;

use crate::process::{PLAN, code, err, folder, out, plimsoll, with_plan};

#[test]
fn bad_input_is_refused_with_a_reason() {
    let cases = [
        ("engin = 1\n", "unknown key", 2),
        ("schema = 9\n", "schema 9", 2),
        (
            &*PLAN.replace("Distill-Qwen-32B", "Distil-Qwen-32B"),
            "DeepSeek-R1-Distill-Qwen-32B",
            2,
        ),
        (
            &*PLAN.replace("llama.cpp", "lama.cpp"),
            "there is llama.cpp",
            2,
        ),
        (
            &*PLAN.replace("ctx_size", "ctx_sise"),
            "did you mean `ctx_size`?",
            2,
        ),
        (
            &*PLAN.replace("\"Q4_K_M\"", "\"Q4_K_X\""),
            "did you mean `Q4_K_",
            2,
        ),
        (&*PLAN.replace("RTX 4090", "RTX 4099"), "4099", 2),
        (
            &*PLAN.replace("parallel = 1", "parallel = \"many\""),
            "`parallel` takes",
            2,
        ),
    ];
    for (plan, expected, exit) in cases {
        let output = with_plan(plan, &["project", "-"]);
        assert_eq!(code(&output), exit, "{plan}\n{}", err(&output));
        let complaint = err(&output);
        assert!(
            complaint.contains(expected),
            "{expected} is missing in {complaint}"
        );
        assert_eq!(complaint.trim_end().lines().count(), 1, "{complaint}");
        assert!(out(&output).is_empty());
    }
}

#[test]
fn files_that_cannot_be_read_end_with_3() {
    let folder = folder();
    let missing = folder.path().join("missing.toml");
    for path in [missing.as_path(), folder.path()] {
        let output = plimsoll(&["project", path.to_str().expect("UTF-8")]);
        assert_eq!(code(&output), 3, "{}", err(&output));
    }
}

/// What a file says ends up in one line that steers nothing, and in words of a plan.
#[test]
fn complaints_are_one_plain_line() {
    for (from, to, expected) in [
        (
            "\"llama.cpp\"",
            "\"a\\nb\\u001b[2J\"",
            "no engine `a b [2J`",
        ),
        (
            "8192",
            "18446744073709551616",
            "is more than a number can be (line 10)",
        ),
        (
            "8192",
            "{ a = 1 }",
            "true or false, a number, a text in quotes or a list",
        ),
        (
            "[launch]",
            "[launch]\nport = 70000",
            "0 to 65535, not 70000",
        ),
        (
            "gpus = [",
            "gpus = [ 3, ",
            "a table such as { name = \"...\" }, not 3",
        ),
        (
            "32B\"",
            "32B\"\noverrides = { hiden_size = 1 }",
            "did you mean `hidden_size`?",
        ),
        (
            "schema = 1",
            "schema = 1\nfit.objective = \"x\"",
            "context, quality, speed, batch",
        ),
        (
            "schema = 1",
            "schema = 1\nfit.pinned = [\"ctx_sise\"]",
            "did you mean `ctx_size`?",
        ),
        ("parallel = 1", "PARALEL = 1", "did you mean `parallel`?"),
    ] {
        let plan = PLAN.replace(from, to);
        assert_ne!(plan, PLAN);
        let output = with_plan(&plan, &["project", "-"]);
        let complaint = err(&output);
        assert_eq!(code(&output), 2, "{plan}\n{complaint}");
        assert!(
            complaint.contains(expected),
            "{expected} is missing in {complaint}"
        );
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        for word in ["struct", "u16", "untagged", "os error", "\u{1b}"] {
            assert!(!complaint.contains(word), "{word} in {complaint}");
        }
    }
}

#[test]
fn a_plan_too_long_for_a_plan_is_refused_and_not_cut() {
    let long = format!("{PLAN}#{}\n[fit]\nmargin_mib = 1\n", "x".repeat(1 << 20));
    let output = with_plan(&long, &["project", "-"]);
    assert_eq!(code(&output), 3, "{}", err(&output));
    assert!(err(&output).contains("larger than"), "{}", err(&output));
    // Nor does looking for a name that was meant take long.
    let output = with_plan(
        &PLAN.replace("32B", &"x".repeat(100_000)),
        &["project", "-"],
    );
    assert_eq!(code(&output), 2, "{}", err(&output));
    assert!(err(&output).len() < 3_000);
}

#[test]
fn a_model_that_cannot_be_read_ends_with_3() {
    let preset = "preset = \"DeepSeek-R1-Distill-Qwen-32B\"";
    let plan = PLAN.replace(preset, "path = \"/nowhere/config.json\"");
    assert_eq!(code(&with_plan(&plan, &["project", "-"])), 3);
}

#[cfg(unix)]
#[test]
fn a_pipe_without_a_writer_is_not_waited_for() {
    let folder = folder();
    let pipe = folder.path().join("plan.toml");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo").success());
    let output = plimsoll(&["project", pipe.to_str().expect("UTF-8")]);
    assert_eq!(code(&output), 3, "{}", err(&output));
    assert!(err(&output).contains("pipe"), "{}", err(&output));
}

#[test]
fn gguf_files_are_answered_with_what_to_do_instead() {
    let folder = folder();
    let named = folder.path().join("a.GGUF");
    let unnamed = folder.path().join("model");
    for path in [&named, &unnamed] {
        std::fs::write(path, b"GGUF\x03\0\0\0\xff").expect("written");
    }
    let outputs = [
        plimsoll(&["project", named.to_str().expect("UTF-8")]),
        plimsoll(&["export", unnamed.to_str().expect("UTF-8"), "--target", "sh"]),
        plimsoll(&["models", named.to_str().expect("UTF-8")]),
    ];
    for output in outputs {
        assert_eq!(code(&output), 2);
        let said = err(&output);
        assert!(said.contains("this is a model file"), "{said}");
        assert!(said.contains("under [model]"), "{said}");
    }
}

#[test]
fn gguf_files_that_are_no_models_say_why() {
    let folder = folder();
    for (contents, reason) in [
        (
            b"GGUF\x03\0\0\0\xff".as_slice(),
            "the download is not complete",
        ),
        (b"GGUF\x01\0\0\0\xff", "version 1"),
        (b"GGUF\0\0\0\x03\0\0\0\0", "big-endian"),
        (b"<!DOCTYPE html><html>", "a web page"),
        (b"", "an empty file"),
    ] {
        let path = folder.path().join("a.gguf");
        std::fs::write(&path, contents).expect("written");
        let model = format!("path = '{}'", path.display());
        let plan = PLAN.replace("preset = \"DeepSeek-R1-Distill-Qwen-32B\"", &model);
        assert_ne!(plan, PLAN);
        let output = with_plan(&plan, &["project", "-"]);
        assert_eq!(code(&output), 2);
        assert!(err(&output).contains(reason), "{}", err(&output));
    }
}

#[test]
fn without_a_display_the_window_names_the_command_line() {
    let output = plimsoll(&[]);
    assert_eq!(code(&output), 2);
    let complaint = err(&output);
    assert!(complaint.contains("plimsoll project"), "{complaint}");
    assert!(!complaint.contains("panicked"), "{complaint}");
}

#[test]
fn the_plan_knows_every_objective() {
    for word in ["balanced", "context", "quality", "speed", "batch"] {
        let plan = format!("{PLAN}[fit]\nobjective = \"{word}\"\n");
        let output = with_plan(&plan, &["project", "-"]);
        assert_eq!(code(&output), 0, "{word}: {}", err(&output));
    }
}

#[test]
fn a_neighbour_is_named_once() {
    for (name, expected) in [
        ("missing.toml", "missing.toml, which `beside` names"),
        (
            "",
            "an empty text is no name of a plan, which `beside` names",
        ),
    ] {
        let output = with_plan(&format!("beside = [\"{name}\"]\n{PLAN}"), &["project", "-"]);
        let said = err(&output);
        assert!(said.contains(expected), "{said}");
        assert!(said.matches("missing.toml").count() < 2, "{said}");
    }
}

#[cfg(unix)]
#[test]
fn a_configuration_that_is_no_file_is_called_what_it_is() {
    let [folder_inside, pipe_inside] = [folder(), folder()];
    std::fs::create_dir(folder_inside.path().join("config.json")).expect("made");
    let made = Command::new("mkfifo")
        .arg(pipe_inside.path().join("config.json"))
        .status();
    assert!(made.expect("mkfifo").success());
    for (model, expected) in [
        (folder_inside, "this is a folder"),
        (pipe_inside, "or a pipe, not a file"),
    ] {
        let plan = PLAN.replace(
            "preset = \"DeepSeek-R1-Distill-Qwen-32B\"",
            &format!("path = {:?}", model.path()),
        );
        let output = with_plan(&plan, &["project", "-"]);
        assert_eq!(code(&output), 3, "{}", err(&output));
        assert!(err(&output).contains(expected), "{}", err(&output));
    }
}

#[test]
fn memory_that_no_machine_has_is_refused() {
    for (from, to, field) in [
        ("ram_mib = 65536", "ram_mib = 8796093022208", "ram_mib"),
        ("in_use_mib = 600", "vram_mib = 8796093022208", "vram_mib"),
        ("in_use_mib = 600", "usable_mib = 1073741825", "usable_mib"),
        ("in_use_mib = 600", "in_use_mib = 1073741825", "in_use_mib"),
    ] {
        let output = with_plan(&PLAN.replace(from, to), &["project", "-"]);
        assert_eq!(code(&output), 2, "{}", err(&output));
        let expected = format!("`{field}` ");
        assert!(err(&output).contains(&expected), "{}", err(&output));
        assert!(err(&output).contains("1 PiB"), "{}", err(&output));
    }
}
