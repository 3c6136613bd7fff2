//! Arguments, logging and exit codes: no argument opens the window, a subcommand is the same core without it.

mod cli;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let arguments = cli::Arguments::parse();
    env_logger::Builder::new()
        .filter_level(log::LevelFilter::Off)
        .filter_module(
            env!("CARGO_PKG_NAME"),
            if arguments.verbose {
                log::LevelFilter::Debug
            } else {
                log::LevelFilter::Warn
            },
        )
        .parse_default_env()
        .format(|out, record| {
            let level = match record.level() {
                log::Level::Error => "error",
                log::Level::Warn => "warning",
                log::Level::Info => "info",
                log::Level::Debug | log::Level::Trace => "detail",
            };
            let message = cli::one_line(&record.args().to_string());
            writeln!(out, "{level}: {message}")
        })
        .init();
    match cli::run(arguments) {
        Ok(answer) => answer.into(),
        Err(error) => {
            cli::complain(&error);
            error.exit_code().into()
        }
    }
}
