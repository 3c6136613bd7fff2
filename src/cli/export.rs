//! `plimsoll export`: the launch of a plan, written for a target.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use indexmap::IndexSet;
use plimsoll::export::{self, File};
use plimsoll::report::Verdict;
use plimsoll::store::{self, Overwrite};

use super::answer::print;
use super::opened::Opened;
use super::{Answer, Failure, PlanArguments};

/// Options of `export`.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    #[command(flatten)]
    plan: PlanArguments,
    /// What to write (see the list below), or `all`.
    #[arg(short, long, value_name = "TARGET", help = target_help())]
    target: String,
    /// File to write; a folder with `--target all`. Without it, or with -, the text goes to standard output.
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// Replace files that are already there.
    #[arg(long)]
    force: bool,
    /// Write it even if the engine would refuse to start.
    #[arg(long)]
    anyway: bool,
}

fn target_help() -> String {
    format!("What to write: {}, or all", targets())
}

fn targets() -> String {
    let ids: IndexSet<&str> = export::EXPORTERS
        .iter()
        .map(|exporter| exporter.id())
        .collect();
    ids.into_iter().collect::<Vec<_>>().join(", ")
}

/// Writes what was asked for.
pub(super) fn run(options: &Options) -> Result<Answer, Failure> {
    let mut opened = Opened::open(&options.plan)?;
    let report = opened.report()?;
    match report.verdict {
        Verdict::Refused if !options.anyway => {
            return Err(Failure::no(anyhow!(
                "{} (--anyway writes it nevertheless)",
                report.sentence()
            )));
        }
        Verdict::Fits | Verdict::Tight if !report.lower_bound => {}
        _ => log::warn!("{}", report.sentence()),
    }
    if let Some(folder) = options.folder() {
        opened.move_to(folder)?;
    }
    let launch = opened.launch(&report)?;
    let export = opened.export(&report, &launch);
    if options.target.eq_ignore_ascii_case("all") {
        let Some(folder) = &options.output else {
            return Err(Failure::input(anyhow!(
                "--target all writes several files: name a folder with -o"
            )));
        };
        let mut files = Vec::new();
        for (exporter, written) in export::all(&export) {
            match written {
                Ok(file) => files.push(file),
                // The others are of use all the same.
                Err(error) => log::warn!("no {}: {error}", exporter.label()),
            }
        }
        let paths =
            store::save_exports(folder, &files, options.overwrite()).map_err(not_written)?;
        let lines: Vec<String> = paths
            .iter()
            .map(|path| format!("{}\n", path.display()))
            .collect();
        print(&lines.concat())?;
        return Ok(Answer::Yes);
    }
    let Some(exporter) = export::find(report.engine, &options.target) else {
        let targets: Vec<&str> = export::for_engine(report.engine)
            .map(export::Exporter::id)
            .collect();
        return Err(Failure::input(anyhow!(
            "no target `{}` for {}; there is {}, all",
            options.target,
            report.engine,
            targets.join(", ")
        )));
    };
    let file = export::file(exporter, &export).map_err(Failure::input)?;
    match options
        .output
        .as_ref()
        .filter(|path| path.as_os_str() != "-")
    {
        None => print(&file.text)?,
        Some(path) => options.save(path, &file)?,
    }
    Ok(Answer::Yes)
}

fn not_written(error: store::Error) -> Failure {
    match error {
        store::Error::Exists { .. } => Failure::io(anyhow!("{error} (--force replaces it)")),
        _ => Failure::io(error),
    }
}

impl Options {
    /// Where it is written to; `None` for standard output.
    fn folder(&self) -> Option<&Path> {
        let output = self.output.as_deref()?;
        let all = self.target.eq_ignore_ascii_case("all");
        if all || output.is_dir() {
            return Some(output);
        }
        let file = output != Path::new("-");
        file.then(|| output.parent().unwrap_or(Path::new("")))
    }

    fn overwrite(&self) -> Overwrite {
        if self.force {
            Overwrite::Replace
        } else {
            Overwrite::Refuse
        }
    }

    /// To this path, or under the file's own name where it is a folder.
    fn save(&self, path: &Path, file: &File) -> Result<(), Failure> {
        let path = if path.is_dir() {
            path.join(&file.name)
        } else {
            path.to_owned()
        };
        store::save_export(&path, file, self.overwrite()).map_err(not_written)?;
        print(&format!("{}\n", path.display()))
    }
}
