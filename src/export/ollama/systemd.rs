//! A drop-in for the service that Ollama's installer makes: its environment.

use super::modelfile::Modelfile;
use super::{ENGINE, Served};
use crate::engine::launch::Word;
use crate::export::{Error, Export, Exporter, header, printable};

/// `override.conf` of `ollama.service`.
pub(in crate::export) struct Systemd;

const ID: &str = "systemd";

/// Where the drop-in goes (`docs/faq.mdx`, v0.33.0-rc2: `systemctl edit ollama.service`).
const PLACE: &str = "/etc/systemd/system/ollama.service.d/override.conf";

impl Exporter for Systemd {
    fn id(&self) -> &'static str {
        ID
    }

    fn label(&self) -> &'static str {
        "systemd drop-in"
    }

    fn accepts(&self, engine: &str) -> bool {
        engine == ENGINE
    }

    fn extension(&self) -> &'static str {
        "conf"
    }

    fn write(&self, export: &Export<'_>) -> Result<String, Error> {
        let served = Served::new(ID, export.launch)?;
        let mut file: Vec<String> = header::comment(export, "#", comment).collect();
        file.extend([
            "#".to_owned(),
            format!("# Save it as {PLACE}, then"),
            "#   systemctl daemon-reload && systemctl restart ollama".to_owned(),
        ]);
        file.extend(make(&served, export));
        file.push("[Service]".to_owned());
        for (name, value) in &served.server.environment {
            let Word::Literal(value) = value else {
                return Err(Error::NotExpressible {
                    target: ID,
                    what: format!("a value that is asked for ({name})"),
                });
            };
            file.push(format!("Environment=\"{name}={}\"", escape(value)?));
        }
        Ok(file.join("\n") + "\n")
    }
}

/// How the model is made. No Modelfile can be written where nobody has said which file to load.
fn make(served: &Served<'_>, export: &Export<'_>) -> [String; 2] {
    match Modelfile.write(export) {
        Ok(_) => [
            "# and make the model from the Modelfile (target modelfile) with".to_owned(),
            format!(
                "#   ollama create {} --file {}",
                served.model(),
                Modelfile.file_name(export)
            ),
        ],
        Err(error) => [
            format!(
                "# and make the model {}. There is no Modelfile of this plan yet:",
                served.model()
            ),
            format!("#   {}", comment(&error.to_string())),
        ],
    }
}

/// A line that ends with a backslash draws in the next one.
fn comment(text: &str) -> String {
    if text.ends_with('\\') {
        format!("{text}.")
    } else {
        text.to_owned()
    }
}

/// Within double quotes: C escapes and the percent sign of specifiers (systemd.syntax, systemd.exec).
fn escape(value: &str) -> Result<String, Error> {
    let mut escaped = String::with_capacity(value.len());
    for letter in printable(ID, value)?.chars() {
        match letter {
            '"' | '\\' => escaped.extend(['\\', letter]),
            '%' => escaped.push_str("%%"),
            _ => escaped.push(letter),
        }
    }
    Ok(escaped)
}
