//! The targets: whatever a file says, an answer or a reason, in bounded time and memory. The tests of the main crate
//! run what was found here through the same functions.

use std::collections::BTreeMap;
use std::io;
use std::sync::OnceLock;

use plimsoll::catalog::gpus::GpuCatalog;
use plimsoll::catalog::machines::{self, MachineCatalog};
use plimsoll::catalog::models::ModelCatalog;
use plimsoll::engine::{self, Memo};
use plimsoll::hardware::Machine;
use plimsoll::inspect::Inspection;
use plimsoll::model::Model;
use plimsoll::plan::{FitOptions, LaunchOptions, ModelRef, Plan, Settings};
use plimsoll::report::{self, Request};
use plimsoll::source::access::{Collection, Entry, RandomAccess};
use plimsoll::source::{self, checkpoint, gguf};
use serde_json::Map;

/// Stands between the files of an input.
const BETWEEN: &[u8] = b"\n--8<--\n";

/// What files that are only headers pretend to be as large as.
const LARGE: u64 = 1 << 45;

/// Of the zeros that follow a header these can be read. Where a list or a text claims more of them, the file ends as if
/// its disk gave out: a quarter of a gigabyte of zeros, the most that is read of a header, teaches a fuzzer nothing.
const ZEROS: u64 = 64 << 10;

/// Files in memory.
struct Files(BTreeMap<String, Content>);

struct Content {
    bytes: Vec<u8>,
    size: u64,
}

impl Files {
    /// The files of an input, by these names in this order. The last bit of its first byte says whether they have the
    /// bytes that follow their headers; these are then zeros.
    fn of(input: &[u8], names: &[&str]) -> Option<Self> {
        let (first, mut rest) = input.split_first()?;
        let large = first & 1 == 1;
        let mut files = BTreeMap::new();
        for name in names {
            let end = rest
                .windows(BETWEEN.len())
                .position(|window| window == BETWEEN);
            let (bytes, next) = match end {
                Some(end) => (&rest[..end], Some(&rest[end + BETWEEN.len()..])),
                None => (rest, None),
            };
            let is_text = name.rsplit('.').next() == Some("json");
            let size = if large && !is_text {
                LARGE
            } else {
                bytes.len() as u64
            };
            let content = Content {
                bytes: bytes.to_vec(),
                size,
            };
            files.insert((*name).to_owned(), content);
            match next {
                Some(next) => rest = next,
                None => break,
            }
        }
        Some(Self(files))
    }
}

impl RandomAccess for &Content {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let end = self.size.min(self.bytes.len() as u64 + ZEROS);
        let count = (buffer.len() as u64).min(end.saturating_sub(offset)) as usize;
        let buffer = &mut buffer[..count];
        buffer.fill(0);
        if let Some(rest) = usize::try_from(offset)
            .ok()
            .and_then(|offset| self.bytes.get(offset..))
        {
            let held = rest.len().min(count);
            buffer[..held].copy_from_slice(&rest[..held]);
        }
        Ok(count)
    }
}

impl Collection for Files {
    fn entries(&self) -> io::Result<Vec<Entry>> {
        let entry = |(name, content): (&String, &Content)| Entry {
            name: name.clone(),
            bytes: content.size,
        };
        Ok(self.0.iter().map(entry).collect())
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn RandomAccess + '_>> {
        match self.0.get(name) {
            Some(content) => Ok(Box::new(content)),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// A GGUF file or a set of two parts.
pub fn gguf(input: &[u8]) {
    const NAMES: [&str; 2] = ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"];
    let Some(files) = Files::of(input, &NAMES) else {
        return;
    };
    match gguf::read(&files, NAMES[0]) {
        Ok(file) => {
            if let Ok(model) = file.model(&Map::new()) {
                describe(input, &model);
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A folder with a configuration and weights, in one file or by an index.
pub fn checkpoint(input: &[u8]) {
    const ONE: [&str; 2] = ["config.json", "model.safetensors"];
    const INDEXED: [&str; 4] = [
        "config.json",
        "model.safetensors.index.json",
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
    ];
    let indexed = input.first().is_some_and(|first| first & 2 == 2);
    let names: &[&str] = if indexed { &INDEXED } else { &ONE };
    let Some(files) = Files::of(input, names) else {
        return;
    };
    match checkpoint::model(&files, "m", &Map::new()) {
        Ok(model) => describe(input, &model),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A plan file, projected as `plimsoll project` does.
pub fn plan(text: &str) {
    let Ok(plan) = Plan::from_toml(text) else {
        return;
    };
    // What is read is written, and read again as the same.
    let written = plan.to_toml().expect("what was read is written");
    let again = Plan::from_toml(&written).expect("a written plan is read");
    assert_eq!(again.to_toml().ok().as_ref(), Some(&written));
    // Files and repositories of this computer's user are none of a fuzzer's business.
    let named = |model: &ModelRef| model.preset.is_some();
    if !named(&plan.model) || !plan.draft.as_ref().is_none_or(named) {
        return;
    }
    let catalogs = catalogs();
    let Some(engine) = engine::find(&plan.engine) else {
        return;
    };
    let Ok(model) = source::model(&plan.model, &catalogs.models) else {
        return;
    };
    let draft = plan.draft.as_ref();
    let draft = draft.map(|draft| source::model(draft, &catalogs.models));
    let Ok(draft) = draft.transpose() else { return };
    let machine = machines::resolve(
        plan.machine.as_ref(),
        Some(&catalogs.machine),
        &catalogs.gpus,
        &catalogs.machines,
    );
    let Ok(machine) = machine else { return };
    project(&Request {
        engine,
        model: &model,
        draft: draft.as_ref(),
        beside: &[],
        machine: &machine,
        settings: &plan.settings,
        fit: &plan.fit,
        launch: &plan.launch,
    });
}

struct Catalogs {
    models: ModelCatalog,
    gpus: GpuCatalog,
    machines: MachineCatalog,
    /// With one card.
    machine: Machine,
}

fn catalogs() -> &'static Catalogs {
    static CATALOGS: OnceLock<Catalogs> = OnceLock::new();
    CATALOGS.get_or_init(|| {
        let gpus = GpuCatalog::embedded().expect("the catalogue is sound");
        let machines = MachineCatalog::embedded().expect("the catalogue is sound");
        let preset = machines.iter().find(|preset| preset.id == "1x-rtx-4090");
        let machine = preset.expect("it is there").machine(&gpus);
        Catalogs {
            models: ModelCatalog::embedded(),
            machine: machine.expect("it is sound"),
            gpus,
            machines,
        }
    })
}

/// Describes and projects a model as for a user who opens it. Projecting takes a hundred times as long as reading, so
/// the first byte of an input also says whether that is done.
fn describe(input: &[u8], model: &Model) {
    let inspection = Inspection::new(model, Vec::new());
    serde_json::to_string(&inspection).expect("an inspection is JSON");
    if input.first().is_some_and(|first| first & 4 == 4) {
        return;
    }
    project(&Request {
        engine: engine::find("llama.cpp").expect("it is there"),
        model,
        draft: None,
        beside: &[],
        machine: &catalogs().machine,
        settings: &Settings::new(),
        fit: &FitOptions::default(),
        launch: &LaunchOptions::default(),
    });
}

fn project(request: &Request<'_>) {
    if let Ok(report) = report::report(request, &Memo::default()) {
        serde_json::to_string(&report).expect("a report is JSON");
    }
}
