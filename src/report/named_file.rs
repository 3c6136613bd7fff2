//! Is the file that a launch names the one that is projected? Its name is all there is to go by.

use super::Request;
use crate::engine::llamacpp::file_type::Weights;
use crate::engine::setting::{self, Kind, Scope};
use crate::plan::{Settings, Value};
use crate::projection::{Fix, Note};

/// The setting that says what the file is quantized to.
const FILE_TYPE: &str = "weights";

/// A warning where the file's name holds a file type of the engine, but not the one that is projected.
pub(super) fn of_other_type(request: &Request<'_>, resolved: &Settings) -> Option<Note> {
    let Some(Value::Text(chosen)) = resolved.get(FILE_TYPE) else {
        return None;
    };
    // What is open is known by more than its name.
    if chosen.eq_ignore_ascii_case(Weights::NATIVE) {
        return None;
    }
    let setting = setting::find(request.engine, FILE_TYPE)?;
    let Kind::Choice { options } = setting.kind else {
        return None;
    };
    let (what, named, source) = match (&request.launch.model_path, &request.launch.hf_repo) {
        (Some(path), _) => {
            let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
            ("model_path", name, path)
        }
        // Without a tag the launch adds the type that is projected.
        (None, Some(repository)) => ("hf_repo", repository.split_once(':')?.1, repository),
        (None, None) => return None,
    };
    let words: Vec<&'static str> = options(&Scope {
        model: request.model,
        draft: request.draft,
        machine: request.machine,
        settings: resolved,
    })
    .into_iter()
    .map(|choice| choice.word)
    .filter(|word| holds(named, word))
    .collect();
    let other = words.first()?;
    if words.iter().any(|word| word.eq_ignore_ascii_case(chosen)) {
        return None;
    }
    let note = Note::warning(
        "other-file-named",
        format!(
            "The launch loads {source}, which is {other} by its name, and {chosen} is projected: set {what} to the \
             {chosen} file, or plan for {other}."
        ),
    );
    let set = Settings::from([(FILE_TYPE.to_owned(), Value::Text((*other).to_owned()))]);
    Some(note.on(setting.name).fixed_by(Fix { set, gain: None }))
}

/// Does a name hold this word, in any case of letters, and not as part of a longer one ("Q4_0" in "IQ4_0_4")?
fn holds(name: &str, word: &str) -> bool {
    let (name, word) = (name.to_ascii_lowercase(), word.to_ascii_lowercase());
    name.match_indices(&word).any(|(start, _)| {
        let before = name.get(..start).and_then(|text| text.chars().next_back());
        let after = name
            .get(start + word.len()..)
            .and_then(|text| text.chars().next());
        !before.is_some_and(char::is_alphanumeric)
            && !after.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_a_whole_word_of_a_name() {
        for (name, word, expected) in [
            ("DeepSeek-R1-Distill-Qwen-32B-Q4_K_M.gguf", "Q4_K_M", true),
            ("r1-q4_k_m-00001-of-00009.gguf", "Q4_K_M", true),
            ("llama_Q8_0.gguf", "Q8_0", true),
            ("model.BF16.gguf", "F16", false),
            ("model-UD-Q2_K_XL.gguf", "Q2_K", false),
            ("model-iq4_nl.gguf", "Q4_0", false),
            ("model.gguf", "Q4_0", false),
        ] {
            assert_eq!(holds(name, word), expected, "{word} in {name}");
        }
    }
}
