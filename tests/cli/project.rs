//! `plimsoll project`.

use crate::process::{PLAN, code, command, err, folder, out, plimsoll, with_plan};

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
        assert_eq!(
            both["in_use_by_others_bytes"],
            alone["in_use_by_others_bytes"]
        );
    }
    // Both would listen at the engine's own port.
    let taken = |report: &serde_json::Value| report["notes"].to_string().contains("port-taken");
    assert!(taken(&both) && !taken(&alone));
    let script = out(&plimsoll(&[
        "export",
        chat.to_str().expect("UTF-8"),
        "-t",
        "sh",
    ]));
    assert!(
        script.contains("embedding.toml; start it first"),
        "{script}"
    );
    assert!(script.contains("listens on port 8080 too"), "{script}");
    let moved = format!("beside = [\"embedding.toml\"]\n{PLAN}\nport = 8090\n");
    std::fs::write(&chat, moved).expect("written");
    assert!(!taken(&report(chat.to_str().expect("UTF-8"))));
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
fn a_plan_may_name_a_model_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/gguf/tiny.gguf");
    let plan = PLAN
        .replace(
            "preset = \"DeepSeek-R1-Distill-Qwen-32B\"",
            &format!("path = '{path}'"),
        )
        .replace("weights = \"Q4_K_M\"\n", "")
        .replace("ctx_size = 8192", "ctx_size = 2048")
        .replace("[launch]\nmodel_path = \"/models/a model.gguf\"\n", "");
    let output = with_plan(&plan, &["project", "-", "--json"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let report: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(
        (&report["model"], &report["verdict"]),
        (&"tiny".into(), &"fits".into())
    );
    // Tables of words, matrices of two layers and five norms, as the file holds them.
    let matrices = 2 * 16 * 260 + 2 * (4 * 16 * 16 + 3 * 16 * 32);
    assert_eq!(report["derived"]["file_bytes"], 2 * matrices + 4 * 16 * 5);
    assert_eq!(report["settings"]["weights"], "native");

    let output = with_plan(&plan, &["export", "-", "--target", "sh"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert!(out(&output).contains(path), "{}", out(&output));
}

/// A plan and what it names can be moved together: relative paths count from the plan's folder, wherever the program is
/// started.
#[test]
fn paths_count_from_the_plans_folder() {
    let folder = folder();
    let tiny = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/gguf/tiny.gguf");
    let plans = folder.path().join("plans");
    std::fs::create_dir(&plans).expect("a folder");
    for name in ["model.gguf", "draft.gguf", "other.gguf"] {
        std::fs::copy(tiny, plans.join(name)).expect("a file");
    }
    let machine = "[machine]\nram_mib = 65536\ngpus = [{ name = \"NVIDIA GeForce RTX 4090\" }]\n";
    let neighbour = "schema = 1\nengine = \"llama.cpp\"\n[model]\npath = \"other.gguf\"\n[settings]\nctx_size = 512\n";
    std::fs::write(plans.join("beside.toml"), neighbour).expect("a plan");
    let plan = format!(
        "schema = 1\nengine = \"llama.cpp\"\nbeside = [\"beside.toml\"]\n[model]\npath = \"model.gguf\"\n\
         [draft]\npath = \"draft.gguf\"\n{machine}[settings]\nctx_size = 512\n[launch]\nlora_paths = [\"other.gguf\"]\n"
    );
    let path = plans.join("plan.toml");
    std::fs::write(&path, &plan).expect("a plan");
    let named = path.to_str().expect("UTF-8");
    let output = plimsoll(&["project", named, "--json"]);
    let report: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(report["model"], "model", "{}", err(&output));
    // The adapter was found as well: it is none.
    let notes = report["notes"].to_string();
    assert!(notes.contains("attached-file-refused"), "{notes}");
    assert_eq!(report["devices"][0]["beside"][0]["plan"], "beside");

    // From the plan's folder by other words, and written to another one.
    let without = plan.replace("[launch]\nlora_paths = [\"other.gguf\"]\n", "");
    std::fs::write(&path, without).expect("a plan");
    let sub = plans.join("sub");
    std::fs::create_dir(&sub).expect("a folder");
    let written = sub.join("fitted.toml");
    let written = written.to_str().expect("UTF-8");
    let output = plimsoll(&["fit", named, "-o", written]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let text = std::fs::read_to_string(written).expect("a plan");
    for line in [
        "path = \"../model.gguf\"",
        "path = \"../draft.gguf\"",
        "\"../beside.toml\"",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    let output = plimsoll(&["project", written]);
    assert_eq!(code(&output), 0, "{}", err(&output));
}

/// What earlier versions counted from where they were started is still found; what is nowhere is told with the rule.
#[test]
fn paths_from_where_the_program_is_started_still_count() {
    let folder = folder();
    let tiny = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/gguf/tiny.gguf");
    std::fs::copy(tiny, folder.path().join("model.gguf")).expect("a file");
    let plans = folder.path().join("plans");
    std::fs::create_dir(&plans).expect("a folder");
    let plan = "schema = 1\nengine = \"llama.cpp\"\n[model]\npath = \"model.gguf\"\n[machine]\nram_mib = 65536\ngpus = []\n\
                [settings]\nctx_size = 512\n";
    std::fs::write(plans.join("plan.toml"), plan).expect("a plan");
    let run = |at: &std::path::Path, plan: &str| {
        let mut command = command(&["project", plan]);
        command.current_dir(at).output().expect("the binary runs")
    };
    let output = run(folder.path(), "plans/plan.toml");
    assert_eq!(code(&output), 0, "{}", err(&output));
    let output = run(&plans, "plan.toml");
    assert_eq!(code(&output), 3, "{}", err(&output));
    let reason = err(&output);
    assert!(reason.contains("no file or folder model.gguf"), "{reason}");
    assert!(
        reason.contains("count from the folder that it lies in"),
        "{reason}"
    );
}

#[test]
fn the_form_of_a_file_needs_a_file() {
    let plan = PLAN.replace("weights = \"Q4_K_M\"", "weights = \"native\"");
    let output = with_plan(&plan, &["project", "-"]);
    assert_eq!(code(&output), 2);
    let reason = err(&output);
    assert!(
        reason.contains("only where the model was opened from a file"),
        "{reason}"
    );
    for engine in ["llama.cpp", "ollama"] {
        let table = out(&plimsoll(&["settings", engine]));
        let line = table
            .lines()
            .find(|line| line.trim_start().starts_with("weights"));
        assert!(
            line.expect("a line").contains("one of native, F32"),
            "{line:?}"
        );
    }
}

#[test]
fn what_drafts_is_named_as_such_where_it_cannot_be_read() {
    let plan = PLAN.replace(
        "[machine]",
        "[draft]\npath = \"/nowhere/small.gguf\"\n[machine]",
    );
    let output = with_plan(&plan, &["project", "-"]);
    assert_eq!(code(&output), 3);
    let reason = err(&output);
    assert!(
        reason.contains("the model that drafts") && reason.contains("/nowhere/small.gguf"),
        "{reason}"
    );
}

#[test]
fn limits_say_what_they_cost_and_what_they_are_of() {
    let plan = PLAN.replace("n_gpu_layers = \"all\"\n", "");
    let output = with_plan(&plan, &["project", "-"]);
    let text = out(&output);
    let line = |start: &str| {
        let mut lines = text.lines();
        let found = lines.find(|line| line.starts_with(start));
        found
            .unwrap_or_else(|| panic!("{start} in {text}"))
            .to_owned()
    };
    let context = line("longest context that fits: ");
    for told in [
        " tokens all on the GPU; ",
        " with layers in RAM at about ",
        " tokens/s",
    ] {
        assert!(context.contains(told), "{told} in {context}");
    }
    let users = line("most users that fit: ");
    for told in [" tokens all on the GPU; ", " with layers in RAM"] {
        assert!(users.contains(told), "{told} in {users}");
    }
    let output = with_plan(&plan, &["project", "-", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    let derived = &report["derived"];
    let (most, on_gpus) = (
        &derived["max_context_tokens"],
        &derived["max_context_tokens_on_gpus"],
    );
    assert!(on_gpus.as_u64() < most.as_u64(), "{derived}");
    let slow = derived["max_context_tokens_per_second"]
        .as_f64()
        .expect("a speed");
    let fast = &report["speed"]["decode_tokens_per_second"]["likely"];
    assert!(
        slow < fast.as_f64().expect("a speed") / 3.0,
        "{slow} and {fast}"
    );
}
