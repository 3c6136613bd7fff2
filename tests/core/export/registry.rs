//! What every target promises.

use std::collections::BTreeSet;

use plimsoll::engine::ENGINES;
use plimsoll::export::{self, EXPORTERS, Export, Exporter};

use super::case::Case;

#[test]
fn targets_are_told_apart_and_found() {
    for engine in ENGINES {
        let engine = engine.id();
        let exporters: Vec<&dyn Exporter> = export::for_engine(engine).collect();
        let ids: BTreeSet<&str> = exporters.iter().map(|exporter| exporter.id()).collect();
        let ends: BTreeSet<&str> = exporters
            .iter()
            .map(|exporter| exporter.extension())
            .collect();
        assert_eq!(ids.len(), exporters.len(), "{engine}");
        assert_eq!(ends.len(), exporters.len(), "{engine}");
        for exporter in exporters {
            let found = export::find(engine, &exporter.id().to_uppercase()).map(Exporter::id);
            assert_eq!(found, Some(exporter.id()));
            assert!(!exporter.label().is_empty());
        }
    }
    assert!(export::find("llama.cpp", "modelfile").is_none());
    assert!(export::find("ollama", "cmd").is_none());
    // Nothing is written for nobody.
    for exporter in EXPORTERS {
        assert!(ENGINES.iter().any(|engine| exporter.accepts(engine.id())));
    }
}

#[test]
fn every_engine_can_be_started() {
    for engine in ENGINES {
        let runnable = export::for_engine(engine.id())
            .filter(|exporter| exporter.id() != "plan")
            .count();
        assert!(runnable > 0, "{}", engine.id());
    }
}

#[test]
fn a_set_has_a_file_per_target_with_names_of_its_own() {
    let case = Case::everyday();
    let (report, launch) = (case.report(), case.launch());
    let files: Vec<_> = export::all(&Export {
        plan: &case.plan,
        model: &case.model,
        report: &report,
        launch: &launch,
    })
    .into_iter()
    .map(|(exporter, file)| (exporter.id(), file.unwrap()))
    .collect();
    let names: Vec<&str> = files.iter().map(|(_, file)| file.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "DeepSeek-R1-Distill-Qwen-32B-Q4_K_M.sh",
            "DeepSeek-R1-Distill-Qwen-32B-Q4_K_M.ps1",
            "DeepSeek-R1-Distill-Qwen-32B-Q4_K_M.cmd",
            "DeepSeek-R1-Distill-Qwen-32B-Q4_K_M.json",
            "DeepSeek-R1-Distill-Qwen-32B-Q4_K_M.ini",
            "DeepSeek-R1-Distill-Qwen-32B-Q4_K_M.toml",
        ]
    );
    for (id, file) in files {
        assert_eq!(file.executable, id == "sh");
    }
}

#[test]
fn a_plan_comes_back_as_it_was() {
    let case = Case::everyday();
    let text = case.write("plan").unwrap();
    assert_eq!(plimsoll::plan::Plan::from_toml(&text), Ok(case.plan));
}

#[test]
fn no_script_takes_control_characters() {
    let case = Case::new("").model_path("/models/a\nrm -rf /.gguf");
    let own = Case::of("ollama", "").model_path("/models/a\nrm -rf /.gguf");
    for target in ["modelfile", "sh", "powershell", "compose"] {
        let error = own.write(target).unwrap_err().to_string();
        assert!(error.contains("control character U+000A"), "{error}");
    }
    for target in ["sh", "powershell", "cmd", "models-preset"] {
        let error = case.write(target).unwrap_err().to_string();
        assert!(
            error.contains("cannot express the control character U+000A"),
            "{error}"
        );
    }
}

/// Everything that a header quotes stays in the header.
#[test]
fn a_header_stays_a_comment() {
    let mut case = Case::everyday();
    case.model.name = "Evil\r\nrm -rf /\u{2028}%PATH% ^".to_owned();
    for (target, mark) in [
        ("sh", "#"),
        ("powershell", "#"),
        ("cmd", "::"),
        ("models-preset", ";"),
    ] {
        let text = case.write(target).unwrap();
        let lines: Vec<&str> = text.split(['\n', '\r', '\u{2028}']).collect();
        for line in lines.iter().filter(|line| line.contains("rm -rf")) {
            assert!(line.starts_with(mark), "{target}: {line:?}");
            assert!(!line.ends_with('^'), "{target}: {line:?}");
        }
        assert!(target != "cmd" || text.contains("%%PATH%%"));
    }
    let mut case = Case::of("ollama", "num_ctx = 4096").model_path("/models/a.gguf");
    case.model.name = "Evil\r\nrm -rf /\u{2028}%PATH% \\".to_owned();
    for target in ["modelfile", "sh", "powershell", "systemd", "compose"] {
        let text = case.write(target).unwrap();
        let lines = text.split(['\n', '\r', '\u{2028}']);
        for line in lines.filter(|line| line.contains("rm -rf")) {
            assert!(line.starts_with('#'), "{target}: {line:?}");
            assert!(!line.ends_with('\\') || target != "systemd", "{line:?}");
        }
    }
}
