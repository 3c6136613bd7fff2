//! What a token of context takes, by an engine's own rule.

use serde::Serialize;

use crate::engine::{self, Memo};
use crate::hardware::{Host, Machine, Os};
use crate::model::Model;
use crate::plan::{FitOptions, LaunchOptions, Settings, Value};
use crate::projection::{Category, Severity};
use crate::report::{self, Request, Verdict};
use crate::units::Bytes;

/// Whose rule is asked: it has one for every model.
const ENGINE: &str = "llama.cpp";
/// The context at which growth is told where the model does not say how long its own is.
const CONTEXT: u64 = 4096;

/// Growth of the caches with the context.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheGrowth {
    /// Whose rule it is.
    pub engine: &'static str,
    /// Format of keys and values.
    pub cache_type: &'static str,
    /// The context, in tokens, at whose end it is told: windows are full by then.
    pub context: u64,
    /// Bytes that one token more takes.
    pub bytes_per_token: f64,
    /// All caches at this context.
    pub bytes: Bytes,
}

/// What the model's trained context takes, or why that is not known.
pub(super) fn of(model: &Model) -> Result<CacheGrowth, String> {
    if model.layers.is_empty() {
        return Err("its layers are not known".to_owned());
    }
    let engine = engine::find(ENGINE).ok_or("there is no rule for it")?;
    let context = match model.context_length {
        0 => CONTEXT,
        length => length,
    };
    let mut settings = Settings::default();
    settings.insert(
        "ctx_size".to_owned(),
        Value::Integer(i64::try_from(context).unwrap_or(i64::MAX)),
    );
    settings.insert("parallel".to_owned(), Value::Integer(1));
    for name in ["cache_type_k", "cache_type_v"] {
        settings.insert(name.to_owned(), Value::Text("f16".to_owned()));
    }
    let report = report::report(
        &Request {
            engine,
            model,
            draft: None,
            beside: &[],
            machine: &processor(),
            settings: &settings,
            fit: &FitOptions::default(),
            launch: &LaunchOptions::default(),
        },
        &Memo::default(),
    )
    .map_err(|error| error.to_string())?;
    if report.verdict == Verdict::Refused {
        let mut errors = report.notes.iter();
        let error = errors.find(|note| note.severity == Severity::Error);
        let reason = error.map(|note| note.message.trim_end_matches('.').to_owned());
        return Err(reason.unwrap_or_else(|| format!("{ENGINE} would not load it")));
    }
    let terms = report.devices.iter().flat_map(|device| &device.terms.terms);
    let caches = terms.filter(|term| term.category == Category::KvCache);
    Ok(CacheGrowth {
        engine: ENGINE,
        cache_type: "f16",
        context,
        bytes_per_token: report.derived.kv_bytes_per_token,
        bytes: caches.map(|term| term.bytes).sum(),
    })
}

/// A computer that holds everything: growth does not depend on where caches are.
fn processor() -> Machine {
    Machine {
        name: String::new(),
        os: Os::Linux,
        host: Host::with_ram(Bytes::from_gib(1 << 20)),
        gpus: Vec::new(),
        nodes: 1,
    }
}
