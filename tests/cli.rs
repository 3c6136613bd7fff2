//! The real binary: exit codes, output, messages. No display, no GPU.
#![expect(clippy::expect_used, reason = "what cannot go on should say where")]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const PLAN: &str = r#"schema = 1
engine = "llama.cpp"
[model]
preset = "DeepSeek-R1-Distill-Qwen-32B"
[machine]
ram_mib = 65536
gpus = [ { name = "NVIDIA GeForce RTX 4090", in_use_mib = 600 } ]
[settings]
weights = "Q4_K_M"
ctx_size = 8192
parallel = 1
n_gpu_layers = "all"
[launch]
model_path = "/models/a model.gguf"
"#;

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command
        .args(arguments)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .env("HOME", std::env::temp_dir());
    command
}

fn plimsoll(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the binary runs")
}

/// Runs with a plan on standard input.
fn with_plan(plan: &str, arguments: &[&str]) -> Output {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(plan.as_bytes()).expect("it reads");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("an exit code")
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn saved(folder: &tempfile::TempDir, plan: &str) -> PathBuf {
    let path = folder.path().join("plan.toml");
    std::fs::write(&path, plan).expect("written");
    path
}

#[test]
fn a_plan_that_fits_answers_yes() {
    let output = with_plan(PLAN, &["project", "-"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let text = out(&output);
    for expected in [
        "DeepSeek-R1-Distill-Qwen-32B",
        "Fits with",
        "gpu0",
        "host",
        "Weights",
        "KV cache",
        "free",
    ] {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
}

#[test]
fn a_plan_that_does_not_fit_answers_no() {
    let output = with_plan(
        PLAN,
        &["project", "-", "--set", "ctx_size=131072", "--json"],
    );
    assert_eq!(code(&output), 1, "{}", err(&output));
    let report: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(report["verdict"], "exceeds");
    assert!(report["devices"][0]["free_bytes"].as_i64().expect("bytes") < 0);
    assert_eq!(report["settings"]["ctx_size"], 131_072);
}

#[test]
fn speed_and_quality_are_told_as_ranges_with_reasons() {
    let output = with_plan(PLAN, &["project", "-", "--why"]);
    let text = out(&output);
    for told in [
        "estimated decoding: ",
        "estimated prompt: ",
        "estimated loading: ",
        "loss by weights in ",
        "speed decoding: ",
        " values of ",
    ] {
        assert!(text.contains(told), "{told} in {text}");
    }
    let output = with_plan(PLAN, &["project", "-", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    let speed = &report["speed"];
    for figure in [
        "decode_tokens_per_second",
        "decode_at_context_tokens_per_second",
        "prefill_tokens_per_second",
        "first_token_seconds",
        "load_seconds",
        "reload_seconds",
    ] {
        let end = |end: &str| speed[figure][end].as_f64().expect(figure);
        let (low, likely, high) = (end("low"), end("likely"), end("high"));
        assert!(0.0 < low && low <= likely && likely <= high, "{figure}");
    }
    let full = speed["decode_at_context_tokens_per_second"]["likely"].as_f64();
    assert!(full < speed["decode_tokens_per_second"]["likely"].as_f64());
    let reasons = speed["why"].as_array().expect("reasons");
    assert_eq!(reasons[0]["figure"], "decode");
    assert!(
        reasons
            .iter()
            .all(|reason| reason["why"]["text"].is_string())
    );
    let quality = &report["quality"]["weights"];
    assert!(quality["perplexity_percent"]["sources"].as_u64() >= Some(1));
    assert!(quality["effect"].is_string());
}

#[test]
fn the_json_report_adds_up() {
    let output = with_plan(PLAN, &["project", "-", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(report["schema"], 1);
    let devices = report["devices"].as_array().expect("devices");
    assert_eq!(devices.last().expect("a host")["id"], "host");
    for device in devices {
        let number = |key: &str| device[key].as_i64().expect("bytes");
        let terms: i64 = device["terms"]
            .as_array()
            .expect("terms")
            .iter()
            .map(|term| {
                assert!(
                    !term["why"]["text"]
                        .as_str()
                        .expect("a reason")
                        .contains('{'),
                    "{term}"
                );
                term["bytes"].as_i64().expect("bytes")
            })
            .sum();
        assert_eq!(number("total_bytes"), terms);
        assert_eq!(
            number("free_bytes"),
            number("capacity_bytes") - number("in_use_bytes") - terms
        );
    }
}

#[test]
fn why_gives_every_number_a_reason() {
    let output = with_plan(PLAN, &["project", "-", "--why"]);
    assert!(
        out(&output).contains("gpu0 KV cache 2.00 GiB: "),
        "{}",
        out(&output)
    );
}

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

#[test]
fn a_script_is_saved_once_and_replaced_only_when_asked() {
    let folder = folder();
    let plan = saved(&folder, PLAN);
    let script = folder.path().join("run it.sh");
    let arguments = [
        "export",
        plan.to_str().expect("UTF-8"),
        "--target",
        "sh",
        "-o",
        script.to_str().expect("UTF-8"),
    ];
    let output = plimsoll(&arguments);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let text = std::fs::read_to_string(&script).expect("a script");
    for expected in ["'/models/a model.gguf'", "--ctx-size 8192", "--fit off"] {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
    std::fs::write(&script, "mine").expect("written");
    let output = plimsoll(&arguments);
    assert_eq!(code(&output), 3, "{}", err(&output));
    assert!(err(&output).contains("--force"), "{}", err(&output));
    assert_eq!(std::fs::read_to_string(&script).expect("a script"), "mine");
    let output = plimsoll(&[&arguments[..], &["--force"]].concat());
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert_eq!(std::fs::read_to_string(&script).expect("a script"), text);
}

#[test]
fn all_targets_go_into_a_folder() {
    let folder = folder();
    let plan = saved(&folder, PLAN);
    let set = folder.path().join("set");
    let output = plimsoll(&[
        "export",
        plan.to_str().expect("UTF-8"),
        "--target",
        "all",
        "-o",
        set.to_str().expect("UTF-8"),
    ]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert_eq!(
        std::fs::read_dir(&set).expect("a folder").count(),
        plimsoll::export::for_engine("llama.cpp").count()
    );
}

/// Another engine has settings, targets and a launch of its own.
#[test]
fn ollama_is_planned_and_exported() {
    let (head, _) = PLAN.split_once("[settings]").expect("a plan");
    let plan = format!(
        "{}[settings]\nnum_ctx = 8192\n[launch]\nmodel_path = \"/models/a model.gguf\"\n",
        head.replace("llama.cpp", "ollama")
    );
    let output = with_plan(&plan, &["project", "-", "--json"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let report: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(report["engine"], "ollama");
    assert_eq!(report["settings"]["num_ctx"], 8192);
    let output = with_plan(&plan, &["export", "-", "--target", "modelfile"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert!(out(&output).contains("\nFROM /models/a model.gguf\nPARAMETER num_ctx 8192\n"));
    let output = with_plan(&plan, &["export", "-", "--target", "cmd"]);
    assert_eq!(code(&output), 2);
    assert!(
        err(&output).contains("no target `cmd` for ollama; there is modelfile, sh, powershell"),
        "{}",
        err(&output)
    );
    let output = with_plan(&plan, &["project", "-", "--set", "ngl=1"]);
    assert_eq!(code(&output), 2);
    assert!(err(&output).contains("unknown setting `ngl` for ollama"));
}

#[test]
fn lists_answer_yes_or_no() {
    for arguments in [
        ["models", "deepseek"].as_slice(),
        &["gpus", "4090"],
        &["machines", "a100"],
        &["settings"],
        &["settings", "ollama"],
        &["settings", "--engine", "Ollama", "--json"],
        &["detect"],
        &["models", "--json"],
        &["gpus", "--json"],
        &["machines", "--json"],
        &["settings", "--json"],
        &["detect", "--json"],
        &["completion", "bash"],
        &["--help"],
        &["project", "--help"],
    ] {
        let output = plimsoll(arguments);
        assert_eq!(code(&output), 0, "{arguments:?}: {}", err(&output));
        let text = out(&output);
        assert!(!text.is_empty());
        if arguments.contains(&"--json") {
            let parsed: Result<serde_json::Value, _> = serde_json::from_str(&text);
            assert!(parsed.is_ok(), "{arguments:?}: {text}");
        }
    }
    assert_eq!(code(&plimsoll(&["models", "no such model at all"])), 1);
    assert_eq!(code(&plimsoll(&["frobnicate"])), 2);
    assert_eq!(code(&plimsoll(&["-v", "models", "deepseek"])), 0);
    assert_eq!(code(&plimsoll(&["plan.toml", "models"])), 2);
}

#[test]
fn without_a_display_the_window_names_the_command_line() {
    let output = plimsoll(&[]);
    assert_eq!(code(&output), 2);
    let complaint = err(&output);
    assert!(complaint.contains("plimsoll project"), "{complaint}");
    assert!(!complaint.contains("panicked"), "{complaint}");
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
fn settings_on_the_command_line_are_one_value_each() {
    let output = with_plan(
        &PLAN.replace("GeForce RTX 4090\",", "GeForce RTX 4090\", count = 2,"),
        &["project", "-", "--json", "--set", "tensor_split=3,1"],
    );
    let report: serde_json::Value =
        serde_json::from_str(&out(&output)).unwrap_or_else(|_| panic!("{}", err(&output)));
    assert_eq!(
        report["settings"]["tensor_split"],
        serde_json::json!([3, 1])
    );
    let output = with_plan(PLAN, &["project", "-", "--set", "ctx_size=1\nparallel=3"]);
    assert_eq!(code(&output), 2, "{}", out(&output));
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
    let in_plan = PLAN.replace(
        "preset = \"DeepSeek-R1-Distill-Qwen-32B\"",
        "path = \"a.gguf\"",
    );
    assert_ne!(in_plan, PLAN);
    let outputs = [
        plimsoll(&["project", named.to_str().expect("UTF-8")]),
        plimsoll(&["export", unnamed.to_str().expect("UTF-8"), "--target", "sh"]),
        plimsoll(&["models", named.to_str().expect("UTF-8")]),
        with_plan(&in_plan, &["project", "-"]),
    ];
    for output in outputs {
        assert_eq!(code(&output), 2);
        let said = err(&output);
        assert!(said.contains("GGUF files cannot be opened yet"), "{said}");
        assert!(said.contains("plimsoll models"), "{said}");
    }
}

#[test]
fn models_are_listed_by_family_and_size() {
    let output = plimsoll(&["models", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    let keys: Vec<(String, u64)> = list["models"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|model| {
            let family = model["family"].as_str().expect("a text").to_lowercase();
            (family, model["params_total"].as_u64().expect("a number"))
        })
        .collect();
    assert!(keys.len() > 50 && keys.is_sorted());
}

#[test]
fn what_may_grow_and_what_never_starts_is_said_beside_the_table() {
    let text = out(&with_plan(PLAN, &["project", "-"]));
    let row = text.lines().find(|line| line.starts_with("Host cache"));
    assert!(
        row.is_some_and(|row| row.contains("0.00 to 8.00")),
        "{text}"
    );
    let output = with_plan(PLAN, &["project", "-", "--set", "ctx_size=1099511627776"]);
    assert_eq!(code(&output), 1);
    let text = out(&output);
    assert!(
        text.contains("The engine would not start; this is what the settings would need"),
        "{text}"
    );
}

#[test]
fn a_plan_counts_what_runs_beside_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let embedding = PLAN
        .replace("DeepSeek-R1-Distill-Qwen-32B", "Qwen3-0.6B")
        .replace("[launch]\nmodel_path = \"/models/a model.gguf\"\n", "");
    std::fs::write(folder.path().join("embedding.toml"), embedding).expect("written");
    let chat = folder.path().join("chat.toml");
    std::fs::write(&chat, format!("beside = [\"embedding.toml\"]\n{PLAN}")).expect("written");
    let report = |path: &str| -> serde_json::Value {
        let output = plimsoll(&["project", "--json", path]);
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let both = report(chat.to_str().expect("UTF-8"));
    let alone = report(
        folder
            .path()
            .join("embedding.toml")
            .to_str()
            .expect("UTF-8"),
    );
    for device in [0, 1] {
        let (both, alone) = (&both["devices"][device], &alone["devices"][device]);
        let taken = alone["total_bytes"].as_u64().expect("bytes");
        assert!(taken > 0, "{alone}");
        assert_eq!(both["beside"][0]["plan"], "embedding");
        assert_eq!(both["beside"][0]["bytes"], taken);
        let in_use = alone["in_use_bytes"].as_u64().expect("bytes");
        assert_eq!(both["in_use_bytes"], in_use + taken);
    }
    std::fs::remove_file(folder.path().join("embedding.toml")).expect("removed");
    let output = plimsoll(&["project", chat.to_str().expect("UTF-8")]);
    assert_eq!(code(&output), 3);
    assert!(
        err(&output).contains("which `beside` names"),
        "{}",
        err(&output)
    );
}

#[test]
fn accuracy_prints_errors_by_family_and_setting() {
    let folder = tempfile::tempdir().expect("a folder");
    let row = r#"{"preset":"Llama-3.1-8B-Instruct","model":"llama-3.1-8b","arch":"llama","types":"Q4_K_M","set":{"ctx_size":2048},"buf":{"CUDA0":[4403.4924,256.0,118.0138],"CUDA_Host":[281.8125,0.0,34.0176]},"out":{"CUDA_Host":0.49}}"#;
    // The same as measured, with another compute buffer.
    let long = r#"{"engine":"llama.cpp","version":"0.6.0-dev","backend_rules":"CUDA cc 8.9","model":"llama-3.1-8b","arch":"llama","tensor_types":"Q4_K_M","settings":{"ctx_size":2048,"batch":2048,"ubatch":512,"parallel":1,"n_outputs_max":1,"flash_attn":"auto","cache_type_k":"f16","cache_type_v":"f16","n_gpu_layers":-1,"n_gpus":1,"tensor_split":"","n_cpu_moe":0},"reported":{"buffers":{"CUDA0":{"model_MiB":4403.4924,"context_MiB":256.0,"compute_MiB":236.0276},"CUDA_Host":{"model_MiB":281.8125,"context_MiB":0.0,"compute_MiB":34.0176}},"output_buffer":{"CUDA_Host":0.49}},"preset":"Llama-3.1-8B-Instruct"}"#;
    std::fs::write(
        folder.path().join("rows.jsonl"),
        format!("{row}\n{long}\nno row\n"),
    )
    .expect("written");
    let path = folder.path().to_str().expect("UTF-8");
    let output = plimsoll(&["accuracy", path]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let text = out(&output);
    for part in [
        "llama ",
        "everything usual",
        "GPU compute: 1 figures",
        "236.03",
        "1 lines hold no",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let empty = tempfile::tempdir().expect("a folder");
    let output = plimsoll(&["accuracy", empty.path().to_str().expect("UTF-8")]);
    assert_eq!(code(&output), 2);
    assert_eq!(code(&plimsoll(&["accuracy", "/no/such/folder"])), 3);
}

const TOO_LONG: &str = r#"schema = 1
engine = "llama.cpp"
[model]
preset = "DeepSeek-R1-Distill-Qwen-32B"
[machine]
ram_mib = 65536
gpus = [ { name = "NVIDIA GeForce RTX 4090", in_use_mib = 600 } ]
[settings]
c = 32768
ngl = "all"
[fit]
pinned = ["ctx_size"]
"#;

#[test]
fn a_fit_writes_a_plan_that_fits() {
    let folder = folder();
    let fitted = folder.path().join("fitted.toml");
    let path = fitted.to_str().expect("UTF-8");
    assert_eq!(code(&with_plan(TOO_LONG, &["project", "-"])), 1);
    let output = with_plan(
        TOO_LONG,
        &["fit", "-", "--objective", "quality", "-o", path],
    );
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert!(
        out(&output).starts_with("Best: the most bits: "),
        "{}",
        out(&output)
    );
    let output = plimsoll(&["project", path, "--json"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let report: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(report["verdict"], "fits");
    assert_eq!(report["settings"]["ctx_size"], 32_768);
    // Not over what is there.
    let output = with_plan(TOO_LONG, &["fit", "-", "-o", path]);
    assert_eq!(code(&output), 3);
    assert!(err(&output).contains("--force"), "{}", err(&output));
    let output = with_plan(TOO_LONG, &["fit", "-", "-o", path, "--force", "--json"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let choices: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(choices["objective"], "balanced");
    assert!(
        choices["best"]["figures"]["gpu_share"]
            .as_f64()
            .expect("a number")
            > 0.5
    );
    for other in choices["others"].as_array().expect("others") {
        assert_ne!(other["good_for"], "", "{other}");
    }
}

#[test]
fn where_nothing_fits_the_pin_is_named() {
    let plan = TOO_LONG.replace("65536", "8192").replace("32768", "131072");
    let plan = plan.replace("[\"ctx_size\"]", "[\"c\", \"weights\", \"ctk\", \"ctv\"]");
    let plan = plan.replace("[fit]", "ctk = \"q8_0\"\nctv = \"q8_0\"\n[fit]");
    let output = with_plan(&plan, &["fit", "-"]);
    assert_eq!(code(&output), 1);
    assert!(
        err(&output)
            .contains("Nothing fits with `ctx_size` pinned to 131,072: it would have to be "),
        "{}",
        err(&output)
    );
    let output = with_plan(&plan, &["fit", "-", "--json"]);
    assert_eq!(code(&output), 1);
    let answer: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(answer["impossible"]["pin"], "ctx_size");
    let output = with_plan(&plan, &["fit", "-", "--objective", "everything"]);
    assert_eq!(code(&output), 2);
    assert!(
        err(&output).contains("balanced, context, quality"),
        "{}",
        err(&output)
    );
}
