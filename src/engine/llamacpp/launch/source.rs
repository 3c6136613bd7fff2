//! Where the model file comes from: a path, a repository, or the person who runs the launch.

use crate::engine::launch::{Argument, ModelSource, Variable, Word, first_part};
use crate::engine::llamacpp::base;
use crate::plan::Value;

use super::flags::FlagTable;
use super::{Command, text};

/// The variable a script asks for where nothing says which file to load.
const MODEL: &str = "MODEL";

/// What of a plan says which file to load.
pub(in super::super) const MODEL_KEYS: &str = "model_path or hf_repo";

/// The model's argument, first on the command line.
pub(super) fn model(command: &mut Command<'_>) {
    let inputs = command.inputs;
    let native = text(inputs.resolved, "weights").is_some_and(base::is_native);
    let file_type = base::type_of_file(inputs).to_owned();
    if let Some(path) = &inputs.options.model_path {
        load(command, path);
        let remark = if native {
            format!("The projection is for the file that was opened: {path} must be the same.")
        } else {
            format!("The projection is for a file of type {file_type}: {path} must be one.")
        };
        if (native || !file_type.is_empty()) && inputs.opened != Some(path.as_str()) {
            command.launch.remarks.push(remark);
        }
        return;
    }
    if let (true, None, Some(path)) = (native, &inputs.options.hf_repo, inputs.opened) {
        load(command, &first_part(path));
        return;
    }
    let source = inputs.gguf_source();
    let can_download = FlagTable::built_in()
        .find("hf_repo", command.version)
        .is_some();
    match source {
        Some((repository, file)) if can_download => download(command, repository, file, &file_type),
        _ => ask(
            command,
            source.map(|(repository, _)| repository),
            &file_type,
        ),
    }
}

fn load(command: &mut Command<'_>, path: &str) {
    command.option("model", &Value::Text(path.to_owned()));
    command.launch.model_source = ModelSource::Path(path.to_owned());
    remark_on_path(command, "The model's path", path);
}

fn download(command: &mut Command<'_>, repository: &str, file: Option<&str>, file_type: &str) {
    let (source, what) = if let Some(file) = file {
        // A tag means the first file whose name holds it (`find_best_model` in common/download.cpp, 0.6.0-dev), which
        // need not be this one.
        (repository.to_owned(), format!("{file} of {repository}"))
    } else {
        let source = tagged(repository, file_type);
        (source.clone(), source)
    };
    command.option("hf_repo", &Value::Text(source.clone()));
    if let Some(file) = file {
        command.option("hf_file", &Value::Text(file.to_owned()));
    }
    command.launch.remarks.push(format!(
        "The server downloads {what} from Hugging Face at its first start; set model_path to use a file that is here."
    ));
    if file.is_none() {
        command.launch.remarks.push(must_exist(&source));
    }
    // `get_repo_commit` in common/hf-cache.cpp (0.6.0-dev) looks for that branch and takes no other word.
    let revision = command.inputs.revision_left_out("llama.cpp");
    command.launch.not_expressible.extend(revision);
    // The engine would load the projector it finds there, which the plan may not count.
    let projector = super::parts::is_on(command.inputs.resolved, "mmproj");
    command.option("mmproj", &Value::Bool(projector));
    // Said here; the plan's own word would say it twice.
    command.settings.shift_remove("mmproj");
    command.launch.model_source = ModelSource::Repository(source);
}

fn ask(command: &mut Command<'_>, repository: Option<&str>, file_type: &str) {
    let kind = match file_type {
        "" => "model".to_owned(),
        file_type => format!("{file_type} model"),
    };
    let name = &command.inputs.model.name;
    let from = repository
        .map(|repository| format!(", for instance from https://huggingface.co/{repository}"))
        .unwrap_or_default();
    command.launch.variables.push(Variable {
        name: MODEL.to_owned(),
        meaning: format!("the path of the {kind} file (GGUF) of {name}{from}"),
        plan_keys: MODEL_KEYS,
        secret: false,
    });
    command.arguments.push(Argument {
        words: vec![
            Word::Literal("--model".to_owned()),
            Word::Variable(MODEL.to_owned()),
        ],
    });
    command.launch.model_source = ModelSource::Asked;
}

/// Nothing here knows which files a repository has, and not every type is published of every model.
pub(in super::super) fn must_exist(source: &str) -> String {
    let (repository, file_type) = source.split_once(':').unwrap_or((source, "the type"));
    format!(
        "Nobody has looked whether {repository} has a file of {file_type}: see https://huggingface.co/{repository}/tree/main, \
         and set hf_repo to a repository that has one where this does not."
    )
}

/// The file type as a tag, where the repository has none.
pub(in super::super) fn tagged(repository: &str, file_type: &str) -> String {
    if repository.contains(':') || base::is_native(file_type) || file_type.is_empty() {
        repository.to_owned()
    } else {
        format!("{repository}:{}", tag(file_type))
    }
}

/// Publishers name files of this type by its tensor format alone (`ggml-org/gpt-oss-20b-GGUF`).
fn tag(file_type: &str) -> &str {
    if file_type.eq_ignore_ascii_case("MXFP4_MOE") {
        "MXFP4"
    } else {
        file_type
    }
}

/// What a path needs that is not a whole one; `what`: whose path, as a sentence begins.
pub(super) fn remark_on_path(command: &mut Command<'_>, what: &str, path: &str) {
    let bytes = path.as_bytes();
    let is_drive =
        bytes.first().is_some_and(u8::is_ascii_alphabetic) && bytes.get(1) == Some(&b':');
    let remark = if path.starts_with('~') {
        format!(
            "{what} begins with ~, which only a shell expands and not in quotes: write the whole path."
        )
    } else if !(path.starts_with(['/', '\\']) || is_drive) {
        format!(
            "{what} is relative: start this from the folder that it counts from, which is the plan's."
        )
    } else {
        return;
    };
    command.launch.remarks.push(remark);
}
