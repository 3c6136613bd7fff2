//! `plimsoll fit`.

use crate::process::{code, err, folder, out, plimsoll, with_plan};

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
        out(&output).starts_with("Best: the most bits at which answers "),
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

/// What a fit chose is nobody's wish: a fit of its plan finds what a fit of the plan before it finds.
#[test]
fn fits_after_one_another_are_as_one() {
    let open = TOO_LONG
        .replace("c = 32768\nngl = \"all\"\n", "")
        .replace("pinned = [\"ctx_size\"]\n", "");
    let folder = folder();
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    std::fs::write(path("open.toml"), &open).expect("written");
    let fit = |plan: &str, objective: &str, to: &str| {
        let (plan, to) = (path(plan), path(to));
        let output = plimsoll(&["fit", &plan, "--objective", objective, "-o", &to]);
        assert_eq!(code(&output), 0, "{}", err(&output));
    };
    let settings = |name: &str| {
        let text = std::fs::read_to_string(path(name)).expect("a plan");
        let plan: toml::Value = toml::from_str(&text).expect("TOML");
        plan["settings"].clone()
    };
    for objective in ["context", "speed", "quality", "batch"] {
        let (once, first, then) = (
            format!("{objective}.once.toml"),
            format!("{objective}.first.toml"),
            format!("{objective}.then.toml"),
        );
        fit("open.toml", objective, &once);
        fit("open.toml", "balanced", &first);
        fit(&first, objective, &then);
        assert_eq!(settings(&then), settings(&once), "{objective}");
    }
    // What is changed by hand afterwards is a wish.
    let text = std::fs::read_to_string(path("speed.first.toml")).expect("a plan");
    let asked = text.replacen("ctx_size = 16384", "ctx_size = 12288", 1);
    assert_ne!(text, asked, "{text}");
    std::fs::write(path("asked.toml"), asked).expect("written");
    fit("asked.toml", "balanced", "asked.then.toml");
    let ctx_size = settings("asked.then.toml")["ctx_size"].as_integer();
    assert_eq!(ctx_size, Some(12_288));
}

#[test]
fn gains_are_told_from_losses() {
    let text = out(&with_plan(TOO_LONG, &["fit", "-"]));
    let others: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("1: "))
        .collect();
    assert_eq!(others.len(), 1, "{text}");
    for line in others {
        let said = line.trim_start_matches("1: ");
        assert!(
            said.starts_with("gives ") || said.starts_with("gives up "),
            "{line}"
        );
        assert!(!said.contains("; but "), "{line}");
    }
}

#[test]
fn a_plan_in_another_folder_finds_its_neighbours() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let small = TOO_LONG.replace("DeepSeek-R1-Distill-Qwen-32B", "Qwen3-0.6B");
    std::fs::write(path("small.toml"), small.replace("32768", "4096")).expect("written");
    let chat = format!("beside = [\"small.toml\"]\n{TOO_LONG}");
    std::fs::write(path("chat.toml"), chat).expect("written");
    std::fs::create_dir(path("sub")).expect("a folder");
    let fitted = plimsoll(&["fit", &path("chat.toml"), "-o", &path("sub/fitted.toml")]);
    assert_eq!(code(&fitted), 0, "{}", err(&fitted));
    let exported = plimsoll(&[
        "export",
        &path("chat.toml"),
        "-t",
        "plan",
        "-o",
        &path("sub/plan.toml"),
    ]);
    assert_eq!(code(&exported), 0, "{}", err(&exported));
    for written in ["sub/fitted.toml", "sub/plan.toml"] {
        let output = plimsoll(&["project", &path(written), "--json"]);
        let report: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
        assert_eq!(
            report["devices"][0]["beside"][0]["plan"], "small",
            "{written}"
        );
    }
}

#[test]
fn one_memory_has_one_free_part() {
    let plan = TOO_LONG.replace("ram_mib = 65536", "preset = \"strix-halo-128gb\"");
    let plan: Vec<&str> = plan
        .lines()
        .filter(|line| !line.starts_with("gpus"))
        .collect();
    let text = out(&with_plan(&plan.join("\n"), &["fit", "-"]));
    assert!(
        text.contains("shared memory free") && !text.contains("RAM free"),
        "{text}"
    );
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

#[test]
fn the_best_can_be_pasted() {
    let plan = TOO_LONG.replace("DeepSeek-R1-Distill-Qwen-32B", "Qwen3-30B-A3B");
    let plan = plan
        .replace("4090", "3060 12GB")
        .replace("ngl = \"all\"", "ncmoe = 3");
    let output = with_plan(&plan, &["fit", "-"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let text = out(&output);
    let (_, line) = text.split_once("on the command line:\n").expect("a line");
    let words = shlex::split(line).expect("words of a shell");
    assert!(words.iter().any(|word| word == "--set"), "{line}");
    let mut arguments = vec!["project", "-"];
    arguments.extend(words.iter().map(String::as_str));
    let output = with_plan(&plan, &arguments);
    assert_eq!(code(&output), 0, "{arguments:?}: {}", err(&output));
    // What is taken out has the engine's default.
    let output = with_plan(&plan, &["project", "-", "--json", "--unset", "n-cpu-moe"]);
    let report: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    assert_eq!(report["settings"]["n_cpu_moe"], 0, "{}", report["settings"]);
    let output = with_plan(&plan, &["project", "-", "--unset", "no_such"]);
    assert_eq!(code(&output), 2);
}
