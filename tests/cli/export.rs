//! `plimsoll export`.

use crate::process::{PLAN, code, err, folder, out, plimsoll, saved, with_plan};

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
    let foreign = with_plan(&plan, &["project", "-", "--set", "mmproj=true"]);
    assert!(
        err(&foreign).contains("ollama has none of the kind"),
        "{}",
        err(&foreign)
    );
    assert!(
        err(&output).contains("`ngl` is a setting of llama.cpp: ollama says it with `num_gpu`")
    );
}

/// The launch that downloads says by itself whether the projector is loaded.
#[test]
fn a_switch_is_written_once() {
    let (head, _) = PLAN.split_once("[launch]").expect("a plan");
    let plan = head.replace("DeepSeek-R1-Distill-Qwen-32B", "gemma-3-4b-it");
    for (change, times) in [("mmproj=false", 1), ("mmproj=true", 0)] {
        let output = with_plan(&plan, &["export", "-", "-t", "sh", "--set", change]);
        assert_eq!(code(&output), 0, "{}", err(&output));
        let script = out(&output);
        assert!(script.contains("--hf-repo "), "{script}");
        assert_eq!(script.matches("--no-mmproj").count(), times, "{script}");
    }
}

#[test]
fn what_belongs_together_is_named_as_it_is_saved() {
    let folder = folder();
    let plan = saved(
        &folder,
        &PLAN.replace("llama.cpp", "ollama").replace(
            "ctx_size = 8192\nparallel = 1\nn_gpu_layers = \"all\"\n",
            "",
        ),
    );
    let set = folder.path().join("set");
    let [plan, set_path] = [&plan, &set].map(|path| path.to_str().expect("UTF-8"));
    let output = plimsoll(&["export", plan, "-t", "all", "-o", set_path]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let names: Vec<String> = std::fs::read_dir(&set)
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .collect();
    let ending = |end: &str| {
        let mut found = names.iter().filter(|name| name.ends_with(end));
        found.next().expect("a file")
    };
    let drop_in = std::fs::read_to_string(set.join(ending(".conf"))).expect("a drop-in");
    let modelfile = ending(".Modelfile");
    assert!(
        drop_in.contains(&format!("--file {modelfile}\n")),
        "{drop_in}"
    );
}

#[test]
fn a_warning_is_a_plain_sentence() {
    let arguments = ["export", "-", "-t", "sh", "--set", "ctx_size=131072"];
    let output = with_plan(PLAN, &arguments);
    assert_eq!(code(&output), 0);
    let said = err(&output);
    assert!(said.starts_with("warning: Does not fit"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}
