//! The steps that serve a model with Ollama as planned: the server with its environment, a model made from a Modelfile,
//! and its loading.

use super::config::{self, Config, Layers};
use super::settings::SETTINGS;
use crate::engine::launch::{
    Argument, ConfigFile, Launch, LaunchInputs, ModelSource, Step, Variable, Word, first_part,
};
use crate::engine::llamacpp::base;
use crate::engine::setting::Scope;
use crate::plan::{LaunchOptions, Settings, Value};
use crate::units::MIB;

/// Where the server listens unless told otherwise (`envconfig/config.go`, v0.33.0-rc2).
pub(super) const DEFAULT_PORT: u16 = 11434;
const DEFAULT_HOST: &str = "127.0.0.1";

/// Margin that the server's fitting leaves on each device by itself (`common/common.h`, 0.6.0-dev).
pub(super) const FIT_TARGET_MIB: u64 = 1024;

/// The variable a script asks for where nothing says which file to load.
const MODEL: &str = "MODEL";

const MODELFILE: &str = "Modelfile";

/// The instruction of a Modelfile that names an adapter.
const ADAPTER: &str = "ADAPTER";

/// Longest name, and longest tag (`types/model/name.go`, v0.33.0-rc2).
const MAX_NAME: usize = 80;

/// The launch.
pub(super) fn launch(inputs: &LaunchInputs<'_>) -> Launch {
    let mut launch = Launch::default();
    let config = config::read(inputs.settings, &mut Vec::new());
    let mut lines = vec![from(inputs, &mut launch)];
    lines.extend(projector(inputs, &launch));
    lines.extend(adapters(inputs));
    lines.extend(parameters(inputs, &config));
    launch.files.push(ConfigFile {
        name: MODELFILE,
        lines,
    });
    let uses_gpus = config.layers != Layers::Count(0);
    launch.accelerator = inputs
        .machine
        .gpus
        .first()
        .filter(|_| uses_gpus)
        .map(|gpu| gpu.vendor);
    let address = address(inputs);
    let mut environment = variables(inputs, &config);
    environment.extend(base::card_variables(inputs, &mut launch));
    environment.extend(address.clone());
    let name = name(inputs);
    let client = |role: &'static str, words: [&str; 4], count: usize| Step {
        node: 0,
        role,
        program: "ollama".to_owned(),
        arguments: words
            .into_iter()
            .take(count)
            .map(|word| Argument::literal([word]))
            .collect(),
        environment: address.clone().into_iter().collect(),
    };
    let create = client("create", ["create", &name, "--file", MODELFILE], 4);
    // An empty prompt only loads the model (`docs/faq.mdx`, v0.33.0-rc2).
    let load = client("load", ["run", &name, "", ""], 3);
    launch.steps = vec![
        Step {
            node: 0,
            role: "server",
            program: "ollama".to_owned(),
            arguments: vec![Argument::literal(["serve"])],
            environment,
        },
        create,
        load,
    ];
    remark(inputs, &mut launch);
    launch
}

/// Which file the model is made from.
fn from(inputs: &LaunchInputs<'_>, launch: &mut Launch) -> Argument {
    let file_type = base::type_of_file(inputs);
    let native = text(inputs.resolved, "weights").is_some_and(base::is_native);
    let options = inputs.options;
    let opened = inputs
        .opened
        .filter(|_| native && options.hf_repo.is_none());
    let source = if let Some(path) = &options.model_path {
        launch.model_source = ModelSource::Path(path.clone());
        launch.remarks.push(if native {
            format!("The projection is for the file that was opened: {path} must be the same.")
        } else {
            format!("The projection is for a file of type {file_type}: {path} must be one.")
        });
        Word::Literal(path.clone())
    } else if let Some(path) = opened.map(first_part) {
        launch.model_source = ModelSource::Path(path.clone());
        Word::Literal(path)
    } else if let Some((repository, file)) = inputs.gguf_source().filter(is_downloadable) {
        // The registry takes a file's name for a tag (huggingface.co/docs/hub/ollama).
        let source = base::tagged(repository, file.unwrap_or(file_type));
        launch.remarks.push(format!(
            "Ollama downloads {source} from Hugging Face when the model is created; set model_path to use a file that \
             is here."
        ));
        if file.is_none() {
            launch.remarks.push(base::must_exist(&source));
        }
        let revision = inputs.revision_left_out("Ollama");
        launch.not_expressible.extend(revision);
        if inputs.model.vision.is_some() {
            launch.remarks.push(
                "A vision projector in that repository comes along and takes memory that is not projected."
                    .to_owned(),
            );
        }
        let name = format!("hf.co/{source}");
        launch.model_source = ModelSource::Repository(source);
        Word::Literal(name)
    } else {
        let name = &inputs.model.name;
        launch.variables.push(Variable {
            name: MODEL.to_owned(),
            meaning: format!("the path of the {file_type} model file (GGUF) of {name}"),
            plan_keys: base::MODEL_KEYS,
            secret: false,
        });
        Word::Variable(MODEL.to_owned())
    };
    Argument {
        words: vec![Word::Literal("FROM".to_owned()), source],
    }
}

/// The projector, as a second file of the model: files are taken together (`parser/parser.go`, v0.33.0-rc2), beside a
/// model that is downloaded they are not.
fn projector(inputs: &LaunchInputs<'_>, launch: &Launch) -> Option<Argument> {
    let path = inputs.options.mmproj_path.as_ref()?;
    takes_files(launch).then(|| Argument::literal(["FROM", path]))
}

/// The model is made from files that are here.
fn takes_files(launch: &Launch) -> bool {
    !matches!(launch.model_source, ModelSource::Repository(_))
}

/// Adapters, each in a line of its own (`docs/modelfile.mdx`, v0.33.0-rc2); the server that Ollama starts gets them as
/// `--lora`.
fn adapters(inputs: &LaunchInputs<'_>) -> impl Iterator<Item = Argument> {
    let paths = inputs.options.lora_paths.iter();
    paths.map(|path| Argument::literal([ADAPTER, path]))
}

/// Tags have no slashes, so that a file in a folder of a repository has none.
fn is_downloadable((_, file): &(&str, Option<&str>)) -> bool {
    file.is_none_or(|file| !file.contains('/'))
}

/// `PARAMETER` lines: what a Modelfile can say, with automatic choices written out.
fn parameters(inputs: &LaunchInputs<'_>, config: &Config) -> Vec<Argument> {
    let resolved = |name: &str| match inputs.resolved.get(name) {
        Some(Value::Integer(number)) => Some(number.to_string()),
        _ => None,
    };
    let written = |name: &str| inputs.settings.contains_key(name);
    let layers = match config.layers {
        // Also where the machine that runs it has a card after all: the projection is for the processor alone.
        Layers::Auto if inputs.machine.gpus.is_empty() => Some("0".to_owned()),
        Layers::Auto => None,
        Layers::All | Layers::Count(_) => resolved("num_gpu"),
    };
    let parameters = [
        ("num_ctx", resolved("num_ctx")),
        ("num_batch", resolved("num_batch")),
        ("num_gpu", layers),
        ("main_gpu", config.main_gpu.map(|gpu| gpu.to_string())),
        ("use_mmap", config.use_mmap.map(|on| on.to_string())),
        (
            "draft_num_predict",
            resolved("draft_num_predict").filter(|_| config.draft_tokens > 0),
        ),
        (
            "num_thread",
            resolved("num_thread").filter(|_| written("num_thread")),
        ),
    ];
    parameters
        .into_iter()
        .filter_map(|(name, value)| Some(Argument::literal(["PARAMETER", name, &value?])))
        .collect()
}

/// What only the server's environment can say. Formats and users are written even where they are Ollama's defaults,
/// because defaults move.
fn variables(inputs: &LaunchInputs<'_>, config: &Config) -> Vec<(String, Word)> {
    let number = |name: &str| match inputs.resolved.get(name) {
        Some(Value::Integer(number)) if !is_default(inputs, name) => Some(number.to_string()),
        _ => None,
    };
    let switch = |on: bool| if on { "1" } else { "0" }.to_owned();
    let variables = [
        ("OLLAMA_NUM_PARALLEL", Some(config.parallel.to_string())),
        (
            "OLLAMA_KV_CACHE_TYPE",
            text(inputs.resolved, "kv_cache_type").map(str::to_owned),
        ),
        ("OLLAMA_FLASH_ATTENTION", config.flash.map(switch)),
        ("OLLAMA_SCHED_SPREAD", config.spread.then(|| switch(true))),
        ("OLLAMA_CONTEXT_LENGTH", number("context_length")),
        (
            "OLLAMA_KEEP_ALIVE",
            text(inputs.settings, "keep_alive").map(str::to_owned),
        ),
        ("OLLAMA_MAX_LOADED_MODELS", number("max_loaded_models")),
        ("OLLAMA_GPU_OVERHEAD", number("gpu_overhead")),
        ("OLLAMA_IGPU_ENABLE", config.integrated.map(switch)),
        ("LLAMA_ARG_FIT_TARGET", fit_target(inputs, config)),
    ];
    variables
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), Word::Literal(value?))))
        .collect()
}

/// The largest margin of any GPU: which of them the model goes to is decided at the start.
fn fit_target(inputs: &LaunchInputs<'_>, config: &Config) -> Option<String> {
    let gpus = inputs.machine.gpus.iter();
    let margin = gpus
        .map(|gpu| inputs.margin.of(gpu.memory.usable).get() / MIB)
        .max()?;
    let fits = config.layers == Layers::Auto;
    (fits && margin != FIT_TARGET_MIB).then(|| margin.to_string())
}

fn is_default(inputs: &LaunchInputs<'_>, name: &str) -> bool {
    let scope = Scope {
        model: inputs.model,
        draft: inputs.draft,
        machine: inputs.machine,
        settings: inputs.resolved,
    };
    let setting = SETTINGS.iter().find(|setting| setting.name == name);
    setting.is_some_and(|setting| inputs.resolved.get(name) == Some(&(setting.default)(&scope)))
}

/// `OLLAMA_HOST`, which server and clients read, where the plan says where to listen.
fn address(inputs: &LaunchInputs<'_>) -> Option<(String, Word)> {
    let options = inputs.options;
    if options.host.is_none() && options.port.is_none() {
        return None;
    }
    let host = options.host.as_deref().unwrap_or(DEFAULT_HOST);
    let port = options.port.unwrap_or(DEFAULT_PORT);
    let address = if host.contains(':') && !host.starts_with('[') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    };
    Some(("OLLAMA_HOST".to_owned(), Word::Literal(address)))
}

/// What the model is called in Ollama: letters, digits, `.`, `_` and `-`, its file type as tag.
fn name(inputs: &LaunchInputs<'_>) -> String {
    let tame = |text: &str| {
        let mut tamed = String::with_capacity(text.len());
        for letter in text.chars() {
            if letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.') {
                tamed.push(letter.to_ascii_lowercase());
            } else if !tamed.ends_with('-') {
                tamed.push('-');
            }
        }
        let tamed: String = tamed
            .trim_matches(['-', '.'])
            .chars()
            .take(MAX_NAME)
            .collect();
        tamed
    };
    let model = match tame(&inputs.model.name) {
        empty if empty.is_empty() => "planned".to_owned(),
        model => model,
    };
    match tame(base::type_of_file(inputs)) {
        tag if tag.is_empty() => model,
        tag => format!("{model}:{tag}"),
    }
}

fn remark(inputs: &LaunchInputs<'_>, launch: &mut Launch) {
    let options = inputs.options;
    launch.remarks.push(
        "The environment counts for the whole server and every model it serves. A service that runs already does not \
         see what is set in a shell."
            .to_owned(),
    );
    if let Some(host) = options.host.as_deref().filter(|host| !base::is_local(host)) {
        launch.remarks.push(format!(
            "WARNING: the server listens on {host}, and Ollama knows no keys: anyone who reaches this machine can use it."
        ));
    }
    if inputs.resolved.get("imatrix") == Some(&Value::Bool(true)) {
        launch
            .remarks
            .push("The file must be one that was quantized with an importance matrix.".to_owned());
    }
    let read = &inputs.model.attached.adapters;
    for (index, path) in options.lora_paths.iter().enumerate() {
        if !matches!(read.get(index), Some(Some(_))) {
            launch.remarks.push(format!(
                "The adapter {path} is not here, or could not be read: what it takes is not projected."
            ));
        }
    }
    let here = takes_files(launch);
    if relative(launch, options) {
        launch.remarks.push(
            "Some of its files are named by relative paths: they count from the plan's folder, so keep the Modelfile, or \
             run this, there."
                .to_owned(),
        );
    }
    let missing = &mut launch.not_expressible;
    if options.api_key_env.is_some() {
        missing
            .push("api_key_env: Ollama asks clients for no key; put a proxy before it".to_owned());
    }
    if !options.extra_args.is_empty() {
        missing.push(format!(
            "extra_args = {:?}: Ollama passes no arguments on to the server that it starts",
            options.extra_args
        ));
    }
    if let Some(draft) = inputs.draft {
        missing.push(format!(
            "the draft model {}: Ollama drafts only with parts made for a model",
            draft.name
        ));
    }
    if let Some(path) = options.mmproj_path.as_ref().filter(|_| !here) {
        missing.push(format!(
            "the projector {path}: Ollama takes one beside a model's own file alone; set model_path to that file"
        ));
    }
    if !options.control_vector_paths.is_empty() {
        missing.push("control vectors: Ollama has none".to_owned());
    }
}

/// Some path in the Modelfile counts from its folder (`cmd/cmd.go`, v0.33.0-rc2).
fn relative(launch: &Launch, options: &LaunchOptions) -> bool {
    let is_relative = |path: &str| {
        let bytes = path.as_bytes();
        let drive = bytes.first().is_some_and(u8::is_ascii_alphabetic);
        !(path.starts_with(['/', '\\', '~']) || drive && bytes.get(1) == Some(&b':'))
    };
    let model = match &launch.model_source {
        ModelSource::Path(path) => Some(path),
        ModelSource::Asked | ModelSource::Repository(_) => None,
    };
    let projector = options.mmproj_path.as_ref();
    let projector = projector.filter(|_| takes_files(launch));
    let all = model.into_iter().chain(projector);
    let mut all = all.chain(&options.lora_paths);
    all.any(|path| is_relative(path))
}

fn text<'a>(settings: &'a Settings, name: &str) -> Option<&'a str> {
    match settings.get(name) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}
