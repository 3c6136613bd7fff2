//! The `llama-server` command of a plan, in the spelling of the planned version.

pub(super) mod devices;
mod flags;
mod parts;
pub(super) mod source;
mod workers;

use crate::engine::launch::{Argument, Launch, LaunchInputs, Step, Variable, Word};
use crate::engine::setting::Scope;
use crate::hardware::Machine;
use crate::plan::{Settings, Value};
use crate::units::MIB;

use super::settings::SETTINGS;
use super::version::Version;
use flags::FlagTable;

/// Where the server listens unless the plan says otherwise: this machine only (`common/common.h`, 0.6.0-dev).
const DEFAULT_HOST: &str = "127.0.0.1";

/// The server's own default (`common/common.h`, 0.6.0-dev).
pub(super) const DEFAULT_PORT: u16 = 8080;

/// The variable that the server reads its key from (`common/arg.cpp`, 0.6.0-dev).
const API_KEY: &str = "LLAMA_API_KEY";

/// Margin that the server's fitting leaves on each device by itself (`common/common.h`, 0.6.0-dev).
const FIT_TARGET_MIB: u64 = 1024;

/// The one step that starts the server.
pub(super) fn launch(inputs: &LaunchInputs<'_>) -> Launch {
    let mut command = Command {
        inputs,
        version: version(inputs.resolved),
        settings: effective(inputs),
        arguments: Vec::new(),
        launch: Launch::default(),
    };
    source::model(&mut command);
    parts::ask(&mut command);
    parts::remark_on_paths(&mut command);
    let workers = workers::workers(&mut command);
    let environment = command.environment();
    command.options();
    command.extra();
    command.remark_on_settings();
    let Command {
        arguments,
        mut launch,
        ..
    } = command;
    launch.steps.extend(workers);
    launch.steps.push(Step {
        node: 0,
        role: "server",
        program: "llama-server".to_owned(),
        arguments,
        environment,
    });
    launch
}

/// A command under construction.
struct Command<'a> {
    inputs: &'a LaunchInputs<'a>,
    version: Version,
    /// What is written, by setting.
    settings: Settings,
    arguments: Vec<Argument>,
    launch: Launch,
}

fn version(settings: &Settings) -> Version {
    text(settings, "engine_version")
        .and_then(Version::parse)
        .unwrap_or_else(Version::newest)
}

/// The settings to write: as resolved, with automatic fitting and explicit numbers never half mixed.
///
/// The engine's fitting chooses layers only where layers, split and overrides are all untouched (`common/fit.cpp`,
/// 0.6.0-dev), so it is left on only then, and otherwise every number is written and fitting is off.
fn effective(inputs: &LaunchInputs<'_>) -> Settings {
    let mut settings = inputs.resolved.clone();
    let automatic = is_automatic(inputs.settings);
    let no_gpus = inputs.machine.gpus.is_empty();
    let fits_itself = fits_itself(inputs.settings, inputs.resolved, inputs.machine);
    settings.insert("fit".to_owned(), Value::Bool(fits_itself));
    if automatic && no_gpus {
        // Also where the machine that runs it has a card after all: the projection is for the processor alone.
        settings.insert("n_gpu_layers".to_owned(), Value::Integer(0));
    }
    if fits_itself {
        for placement in PLACEMENT {
            settings.shift_remove(placement);
        }
        let margins: Vec<u64> = inputs
            .machine
            .gpus
            .iter()
            .map(|gpu| inputs.margin.of(gpu.memory.usable).get() / MIB)
            .collect();
        let own = matches!(settings.get("fit_target"), Some(Value::List(own)) if !own.is_empty());
        if !own && margins.iter().any(|margin| *margin != FIT_TARGET_MIB) {
            settings.insert("fit_target".to_owned(), fit_target(&margins));
        }
    } else {
        settings.shift_remove("fit_ctx");
        settings.shift_remove("fit_target");
    }
    // Left to itself the engine lays out the cache for flash attention before it finds that it has none, which takes
    // another amount than asking for none (`src/llama-context.cpp`, 0.6.0-dev): what was projected is the former.
    let asked_off = text(inputs.settings, "flash_attn") == Some("off");
    if !asked_off && text(&settings, "flash_attn") == Some("off") {
        settings.insert("flash_attn".to_owned(), Value::Text("auto".to_owned()));
    }
    // A quantized V cache aborts without flash attention (`src/llama-context.cpp`, 0.6.0-dev).
    if text(&settings, "cache_type_v").is_some_and(is_quantized) {
        settings.insert("flash_attn".to_owned(), Value::Text("on".to_owned()));
    }
    let options = inputs.options;
    let host = options.host.as_deref().unwrap_or(DEFAULT_HOST);
    settings.insert("host".to_owned(), Value::Text(host.to_owned()));
    let port = options.port.unwrap_or(DEFAULT_PORT);
    settings.insert("port".to_owned(), Value::Integer(port.into()));
    parts::name_files(inputs, &mut settings);
    settings
}

/// Does the launch leave layers, split and overrides to the engine?
pub(super) fn fits_itself(written: &Settings, resolved: &Settings, machine: &Machine) -> bool {
    let table = FlagTable::built_in();
    let can_fit = table.find("fit_target", version(resolved)).is_some();
    can_fit && is_automatic(written) && !machine.gpus.is_empty()
}

/// What fitting chooses.
const PLACEMENT: [&str; 6] = [
    "n_gpu_layers",
    "tensor_split",
    "override_tensor",
    "n_cpu_moe",
    "cpu_moe",
    "n_cpu_ffn",
];

/// Does the plan leave everything that fitting chooses to the engine?
fn is_automatic(written: &Settings) -> bool {
    let untouched = |name: &str| match written.get(name) {
        None | Some(Value::Bool(false) | Value::Integer(0)) => true,
        Some(Value::List(items)) => items.is_empty(),
        Some(_) => false,
    };
    let layers = match written.get("n_gpu_layers") {
        None => true,
        Some(Value::Text(word)) => word == "auto",
        Some(_) => false,
    };
    layers
        && written.get("fit") != Some(&Value::Bool(false))
        && PLACEMENT
            .iter()
            .filter(|name| **name != "n_gpu_layers")
            .all(|name| untouched(name))
        // Fitting refuses this split (`common/fit.cpp`, 0.6.0-dev).
        && text(written, "split_mode") != Some("tensor")
}

/// Cache types of `common/arg.cpp` (0.6.0-dev) other than the floating-point ones.
fn is_quantized(cache_type: &str) -> bool {
    !["f32", "f16", "bf16"]
        .iter()
        .any(|float| cache_type.eq_ignore_ascii_case(float))
}

fn text<'a>(settings: &'a Settings, name: &str) -> Option<&'a str> {
    match settings.get(name) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

impl Command<'_> {
    /// Adds an option in this version's spelling, or says that it has none.
    fn option(&mut self, name: &str, value: &Value) {
        let words = FlagTable::built_in()
            .find(name, self.version)
            .and_then(|flag| flag.spell(value));
        match words {
            Some(words) if words.is_empty() => {}
            Some(words) => self.split_options(words),
            None => {
                let value = flags::describe(value);
                let version =
                    text(self.inputs.resolved, "engine_version").unwrap_or("this version");
                self.launch.not_expressible.push(format!(
                    "{name} = {value}: llama-server {version} has no option for it"
                ));
            }
        }
    }

    /// Words of several switches become an argument each.
    fn split_options(&mut self, words: Vec<String>) {
        for word in words {
            match self.arguments.last_mut() {
                Some(argument) if !starts_option(&word) && !argument.words.is_empty() => {
                    argument.words.push(Word::Literal(word));
                }
                _ => self.arguments.push(Argument::literal([word])),
            }
        }
    }

    /// Every setting that is written: those that always are, and those that differ from the engine's default.
    fn options(&mut self) {
        let table = FlagTable::built_in();
        let settings = std::mem::take(&mut self.settings);
        for name in table.settings() {
            let Some(value) = settings.get(name) else {
                continue;
            };
            let always = table
                .find(name, self.version)
                .is_some_and(|flag| flag.always);
            let written = self.inputs.settings.contains_key(name);
            if always || written || !self.is_default(name, value) {
                self.option(name, value);
            }
        }
        self.settings = settings;
    }

    fn is_default(&self, name: &str, value: &Value) -> bool {
        if matches!(value, Value::List(items) if items.is_empty()) {
            return true;
        }
        let scope = Scope {
            model: self.inputs.model,
            draft: self.inputs.draft,
            machine: self.inputs.machine,
            settings: self.inputs.resolved,
        };
        SETTINGS
            .iter()
            .find(|setting| setting.name == name)
            .is_some_and(|setting| (setting.default)(&scope) == *value)
    }

    /// The words that the plan passes through, an option with its values per argument.
    fn extra(&mut self) {
        let first = self.arguments.len();
        for word in &self.inputs.options.extra_args {
            let started = self.arguments.len() > first;
            match self.arguments.last_mut() {
                Some(argument) if started && !starts_option(word) => {
                    argument.words.push(Word::Literal(word.clone()));
                }
                _ => self.arguments.push(Argument::literal([word])),
            }
        }
    }

    fn environment(&mut self) -> Vec<(String, Word)> {
        let mut environment = devices::environment(self.inputs, &mut self.launch);
        if let Some(name) = &self.inputs.options.api_key_env {
            let name = if is_variable_name(name) {
                name.clone()
            } else {
                self.launch.not_expressible.push(format!(
                    "api_key_env = {name:?} is not a name of a variable: the key is taken from {API_KEY}"
                ));
                API_KEY.to_owned()
            };
            self.launch.variables.push(Variable {
                name: name.clone(),
                meaning: "the key that clients must send".to_owned(),
                plan_keys: "api_key_env",
                secret: true,
            });
            // Also where it is the server's own name: an exporter may start the server elsewhere.
            environment.push((API_KEY.to_owned(), Word::Variable(name)));
        }
        environment
    }

    fn remark_on_settings(&mut self) {
        let options = self.inputs.options;
        let written = self.inputs.settings;
        let remarks = &mut self.launch.remarks;
        let host = options.host.as_deref().unwrap_or(DEFAULT_HOST);
        if !is_local(host) {
            remarks.push(if options.api_key_env.is_some() {
                format!("The server listens on {host}: every machine that reaches it can try keys.")
            } else {
                format!(
                    "WARNING: the server listens on {host} without a key: anyone who reaches this machine can use it. \
                     Set api_key_env, or host = \"{DEFAULT_HOST}\"."
                )
            });
        }
        if self.settings.get("fit") == Some(&Value::Bool(true)) {
            remarks.push(
                "The server itself chooses the layers for each GPU when it starts (--fit on): it counts what is free then."
                    .to_owned(),
            );
        }
        let flash = text(self.inputs.resolved, "flash_attn");
        if flash != Some("on") && text(&self.settings, "flash_attn") == Some("on") {
            remarks.push(
                "Flash attention is switched on because a quantized V cache does not work without it."
                    .to_owned(),
            );
        }
        if self.inputs.resolved.get("imatrix") == Some(&Value::Bool(true)) {
            remarks.push(
                "The file must be one that was quantized with an importance matrix.".to_owned(),
            );
        }
        let table = FlagTable::built_in();
        for name in ["n_outputs_max", "n_rs_seq"] {
            if let (Some(value), Some(reason)) = (written.get(name), table.unwritten(name)) {
                let value = flags::describe(value);
                self.launch
                    .not_expressible
                    .push(format!("{name} = {value}: {reason}"));
            }
        }
    }
}

/// One number for all GPUs, or one for each.
fn fit_target(margins: &[u64]) -> Value {
    let number = |margin: &u64| i64::try_from(*margin).unwrap_or(i64::MAX);
    match margins {
        [first, others @ ..] if others.iter().all(|other| other == first) => {
            Value::Integer(number(first))
        }
        _ => {
            let words: Vec<String> = margins.iter().map(ToString::to_string).collect();
            Value::Text(words.join(","))
        }
    }
}

/// Does a word begin an option? `-1` and `-0.5` are values.
fn starts_option(word: &str) -> bool {
    word.starts_with('-') && word.len() > 1 && word.parse::<f64>().is_err()
}

/// A name that every shell takes.
fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Reached from this machine only: a loopback address or a Unix socket.
pub(super) fn is_local(host: &str) -> bool {
    host == "localhost"
        || std::path::Path::new(host)
            .extension()
            .is_some_and(|extension| extension == "sock")
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}
