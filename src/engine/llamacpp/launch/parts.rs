//! The files of what is loaded beside the model: draft, projector, adapters.

use crate::engine::launch::{Argument, LaunchInputs, Variable, Word, first_part};
use crate::engine::llamacpp::base;
use crate::plan::{Settings, Value};

use super::{Command, text};

/// Puts the files that the plan names where the table of flags finds them, and drops settings of what is not loaded.
pub(super) fn name_files(inputs: &LaunchInputs<'_>, settings: &mut Settings) {
    let options = inputs.options;
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            settings.insert(name.to_owned(), value);
        }
    };
    let path = |path: &Option<String>| path.clone().map(Value::Text);
    let paths = |paths: &[String]| {
        let items = paths.iter().cloned().map(Value::Text);
        (!paths.is_empty()).then(|| Value::List(items.collect()))
    };
    if inputs.draft.is_some() {
        put("draft_model", draft_file(inputs).map(Value::Text));
    }
    if is_on(inputs.resolved, "mmproj") {
        put("mmproj_path", path(&options.mmproj_path));
    }
    put("lora_paths", paths(&options.lora_paths));
    put("control_vector_paths", paths(&options.control_vector_paths));
}

/// The draft's file: as the plan says, else the one that it was opened from where that is what is planned.
fn draft_file(inputs: &LaunchInputs<'_>) -> Option<String> {
    let native = text(inputs.resolved, "draft_weights").is_some_and(base::is_native);
    let opened = inputs.opened_draft.filter(|_| native).map(first_part);
    inputs.options.draft_path.clone().or(opened)
}

/// Says of paths that are not whole where they count from.
pub(super) fn remark_on_paths(command: &mut Command<'_>) {
    let inputs = command.inputs;
    let options = inputs.options;
    let draft = inputs.draft.and_then(|_| draft_file(inputs));
    let projector = options.mmproj_path.clone();
    let projector = projector.filter(|_| is_on(inputs.resolved, "mmproj"));
    let one = |what: &'static str, path: Option<String>| path.map(|path| (what.to_owned(), path));
    let each = |what: &'static str, paths: &[String]| -> Vec<(String, String)> {
        let paths = paths.iter();
        paths
            .map(|path| (format!("The path of the {what} {path}"), path.clone()))
            .collect()
    };
    let all = one("The draft's path", draft)
        .into_iter()
        .chain(one("The projector's path", projector))
        .chain(each("adapter", &options.lora_paths))
        .chain(each("control vector", &options.control_vector_paths));
    for (what, path) in all {
        super::source::remark_on_path(command, &what, &path);
    }
}

/// Asks for files that the plan loads and does not name.
pub(super) fn ask(command: &mut Command<'_>) {
    let inputs = command.inputs;
    let options = inputs.options;
    if let Some(draft) = inputs.draft
        && draft_file(inputs).is_none()
    {
        let kind = text(inputs.resolved, "draft_weights").filter(|word| !base::is_native(word));
        let kind = kind.unwrap_or_default();
        let meaning = format!(
            "the path of the {kind} file (GGUF) of {}, which drafts",
            draft.name
        );
        variable(
            command,
            "--model-draft",
            ("DRAFT_MODEL", "draft_path"),
            meaning,
        );
    }
    // What comes from a repository brings its projector with it.
    let repository = matches!(
        command.launch.model_source,
        crate::engine::launch::ModelSource::Repository(_)
    );
    if is_on(inputs.resolved, "mmproj") && options.mmproj_path.is_none() && !repository {
        let kind = text(inputs.resolved, "mmproj_type").unwrap_or_default();
        let name = &inputs.model.name;
        let meaning = format!("the path of the {kind} projector file (mmproj) of {name}");
        variable(command, "--mmproj", ("MMPROJ", "mmproj_path"), meaning);
    }
    if has_lines(inputs.resolved, "lora") && options.lora_paths.is_empty() {
        let meaning = "the paths of the adapters (GGUF), separated by commas".to_owned();
        variable(command, "--lora", ("LORA", "lora_paths"), meaning);
    }
    if is_on(inputs.resolved, "control_vector") && options.control_vector_paths.is_empty() {
        let meaning = "the paths of the control vectors, separated by commas".to_owned();
        variable(
            command,
            "--control-vector",
            ("CONTROL_VECTOR", "control_vector_paths"),
            meaning,
        );
    }
}

fn variable(
    command: &mut Command<'_>,
    option: &str,
    (name, plan_keys): (&str, &'static str),
    meaning: String,
) {
    command.launch.variables.push(Variable {
        name: name.to_owned(),
        meaning,
        plan_keys,
        secret: false,
    });
    command.arguments.push(Argument {
        words: vec![
            Word::Literal(option.to_owned()),
            Word::Variable(name.to_owned()),
        ],
    });
}

/// A switch of the plan.
pub(super) fn is_on(settings: &Settings, name: &str) -> bool {
    settings.get(name) == Some(&Value::Bool(true))
}

fn has_lines(settings: &Settings, name: &str) -> bool {
    matches!(settings.get(name), Some(Value::List(lines)) if !lines.is_empty())
}
