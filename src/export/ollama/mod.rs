//! Targets of Ollama: a model is made from a Modelfile, and everything that a Modelfile cannot say is in the environment
//! of the server.

pub(super) mod compose;
pub(super) mod modelfile;
pub(super) mod powershell;
pub(super) mod sh;
pub(super) mod systemd;

use super::Error;
use crate::engine::launch::{ConfigFile, Launch, Step, Word};

/// Identity of the engine whose launches are written here.
const ENGINE: &str = "ollama";

/// A launch, taken apart.
struct Served<'a> {
    /// Starts the server.
    server: &'a Step,
    /// What is done with it once it runs, in order.
    clients: Vec<&'a Step>,
    /// The Modelfile.
    modelfile: &'a ConfigFile,
}

impl<'a> Served<'a> {
    fn new(target: &'static str, launch: &'a Launch) -> Result<Self, Error> {
        let (servers, clients): (Vec<&Step>, Vec<&Step>) =
            launch.steps.iter().partition(|step| step.role == "server");
        match (servers.as_slice(), launch.files.as_slice()) {
            ([server], [modelfile]) => Ok(Self {
                server,
                clients,
                modelfile,
            }),
            _ => Err(Error::NotExpressible {
                target,
                what: "a launch that is not one server with one Modelfile".to_owned(),
            }),
        }
    }

    /// Is a word the name of the Modelfile?
    fn names_modelfile(&self, word: &Word) -> bool {
        matches!(word, Word::Literal(text) if text == self.modelfile.name)
    }

    /// What the model is called.
    fn model(&self) -> &str {
        let words = |step: &&'a Step| step.arguments.iter().flat_map(|argument| &argument.words);
        let create = self.clients.iter().find(|step| step.role == "create");
        match create.and_then(|step| words(step).nth(1)) {
            Some(Word::Literal(name)) => name,
            _ => "",
        }
    }
}
