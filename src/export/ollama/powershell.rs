//! A PowerShell script that keeps the environment for the user's Ollama, makes the model and loads it.

use super::modelfile::{Line, lines};
use super::{ENGINE, Served};
use crate::engine::launch::{Step, Word};
use crate::export::powershell::{arguments, encoded, quote, quote_text, require};
use crate::export::{Error, Export, Exporter, header};

/// Windows PowerShell and PowerShell.
pub(in crate::export) struct PowerShell;

const ID: &str = "powershell";

/// Ollama's own variables; others, such as the choice of cards, would change further programs of the user.
const OWN: [&str; 2] = ["OLLAMA_", "LLAMA_ARG_"];

/// Within the function errors of the program are no errors of the script.
const ANSWERS: &str = "function Test-Answer {\n    $ErrorActionPreference = 'Continue'\n    & $program list *> $null\n    \
                       $LASTEXITCODE -eq 0\n}";

impl Exporter for PowerShell {
    fn id(&self) -> &'static str {
        ID
    }

    fn label(&self) -> &'static str {
        "PowerShell script"
    }

    fn accepts(&self, engine: &str) -> bool {
        engine == ENGINE
    }

    fn extension(&self) -> &'static str {
        "ps1"
    }

    fn write(&self, export: &Export<'_>) -> Result<String, Error> {
        let served = Served::new(ID, export.launch)?;
        let mut script: Vec<String> = header::comment(export, "#", str::to_owned).collect();
        script.extend(["$ErrorActionPreference = 'Stop'".to_owned(), String::new()]);
        for variable in &export.launch.variables {
            script.push(require(variable)?);
        }
        script.push(format!(
            "$program = {}",
            quote_text(&served.server.program)?
        ));
        script.push(ANSWERS.to_owned());
        script.push(format!(
            "while (Test-Answer) {{\n    Read-Host {} | Out-Null\n}}\n",
            quote_text("Ollama runs and does not see new settings: quit it (its icon in the task bar), then press Enter")?
        ));
        script.push(
            "# For Ollama at its next starts too: the user's environment, which the app reads."
                .to_owned(),
        );
        for (name, value) in &served.server.environment {
            let value = quote(value)?;
            script.push(format!("$env:{name} = {value}"));
            if OWN.iter().any(|prefix| name.starts_with(prefix)) {
                script.push(format!(
                    "[Environment]::SetEnvironmentVariable('{name}', {value}, 'User')"
                ));
            }
        }
        let serve: Result<Vec<String>, Error> = words(served.server).map(quote).collect();
        script.push(format!(
            "Start-Process -FilePath $program -ArgumentList {} -WindowStyle Hidden\n\
             while (-not (Test-Answer)) {{\n    Start-Sleep -Seconds 1\n}}\n",
            serve?.join(", ")
        ));
        script.push("# In this folder, from which relative paths count.".to_owned());
        script.push(
            "$modelfile = Join-Path (Get-Location).ProviderPath ('Modelfile.' + [guid]::NewGuid())"
                .to_owned(),
        );
        script.push(format!(
            "[IO.File]::WriteAllLines($modelfile, [string[]]@(\n    {}\n))\ntry {{",
            modelfile(&served)?.join("\n    ")
        ));
        for client in &served.clients {
            script.extend(arguments(client, |word| {
                if served.names_modelfile(word) {
                    Ok("$modelfile".to_owned())
                } else {
                    quote(word)
                }
            })?);
            script.push(
                "& $program @arguments\nif ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }".to_owned(),
            );
        }
        script.push("} finally {\n    Remove-Item -LiteralPath $modelfile\n}\n".to_owned());
        Ok(encoded(&script.join("\n")))
    }
}

fn words(step: &Step) -> impl Iterator<Item = &Word> {
    step.arguments.iter().flat_map(|argument| &argument.words)
}

/// The lines of the Modelfile, quoted.
fn modelfile(served: &Served<'_>) -> Result<Vec<String>, Error> {
    lines(ID, served.modelfile)?
        .into_iter()
        .map(|line| match line {
            Line::Whole(line) => quote_text(&line),
            Line::Asked {
                before,
                variable,
                after,
            } => Ok(format!(
                "({} + $env:{variable} + {})",
                quote_text(&before)?,
                quote_text(after)?
            )),
        })
        .collect()
}
