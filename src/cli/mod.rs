//! The command line: same core as the window, no display needed.

mod accuracy;
mod answer;
mod catalog;
mod detect;
mod expectations;
mod export;
mod fit;
mod inspect;
mod local;
mod opened;
mod project;
mod remote;
mod save;
mod settings;
mod window;

use std::path::PathBuf;

use clap::{Args, CommandFactory as _, Parser, Subcommand};

pub(crate) use answer::{Answer, Failure, complain, one_line};

/// Shows how every byte of VRAM and RAM will be used before a large language model is loaded, and writes the launch
/// that fits. Without a command the window opens.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    window: window::Options,
    /// Say more on standard error.
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done (for project: it fits) · 1 the answer is no (does not fit, refused, no fit found) · 2 bad usage, bad input, \
or no display for the window · 3 could not read or write";

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the GPUs, memory and processor of this machine, and what could not be read.
    Detect(detect::Options),
    /// List the model presets, or with --local the models that are on this computer.
    Models(local::Options),
    /// List the GPUs of the catalogue.
    Gpus(catalog::Options),
    /// List the machine presets.
    Machines(catalog::Options),
    /// Show what a model is: hyper-parameters, tensors by kind and type, sizes, and how sure they are.
    Inspect(inspect::Options),
    /// Explain every setting of an engine.
    Settings(settings::Options),
    /// Project the memory of a plan: what is allocated where, and whether it fits.
    #[command(after_long_help = settings::reference_hint())]
    Project(project::Options),
    /// Find the best settings of a plan: what is pinned stays, everything else may change.
    Fit(fit::Options),
    /// Write the launch of a plan for a target.
    Export(export::Options),
    /// Compare projections with what engines really allocated: errors by term, model family and setting.
    Accuracy(accuracy::Options),
    /// Print a completion script for a shell.
    Completion {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// Which plan, and changes to it.
#[derive(Debug, Args)]
struct PlanArguments {
    /// Plan file (TOML); `-` reads standard input.
    plan: PathBuf,
    /// Change a setting for this call, for example `--set ctx_size=8192` (repeatable).
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Take a setting out for this call, so that it has the engine's default (repeatable).
    #[arg(long = "unset", value_name = "NAME")]
    unset: Vec<String>,
}

/// Runs what was asked.
pub(crate) fn run(arguments: Arguments) -> Result<Answer, Failure> {
    if arguments.command.is_some() && !arguments.window.is_empty() {
        return Err(Failure::input(anyhow::anyhow!(
            "what stands before a command is for the window; put it after the command"
        )));
    }
    match arguments.command {
        None => window::run(arguments.window),
        Some(Command::Detect(options)) => detect::run(&options),
        Some(Command::Models(options)) => local::run(&options),
        Some(Command::Gpus(options)) => catalog::gpus(&options),
        Some(Command::Machines(options)) => catalog::machines(&options),
        Some(Command::Inspect(options)) => inspect::run(&options),
        Some(Command::Settings(options)) => settings::run(&options),
        Some(Command::Project(options)) => project::run(&options),
        Some(Command::Fit(options)) => fit::run(&options),
        Some(Command::Export(options)) => export::run(&options),
        Some(Command::Accuracy(options)) => accuracy::run(&options),
        Some(Command::Completion { shell }) => {
            let mut script = Vec::new();
            let name = env!("CARGO_PKG_NAME");
            clap_complete::generate(shell, &mut Arguments::command(), name, &mut script);
            answer::print(&String::from_utf8_lossy(&script))?;
            Ok(Answer::Yes)
        }
    }
}
