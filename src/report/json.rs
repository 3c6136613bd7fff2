//! The report as JSON: a contract; fields are only ever added.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::{DeviceReport, MomentReport, Report};
use crate::projection::Term;

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            engine,
            engine_version,
            model,
            verdict,
            lower_bound,
            devices,
            peak,
            moments,
            notes,
            settings,
            derived,
            speed,
            quality,
        } = self;
        let mut report = Map::new();
        let mut put = |key: &str, value: Value| report.insert(key.to_owned(), value);
        put("schema", json!(1));
        put("engine", json!(engine));
        put("engine_version", json!(engine_version));
        put("model", json!(model));
        put("verdict", json!(verdict));
        put("lower_bound", json!(lower_bound));
        put("devices", devices.iter().map(device).collect());
        put("peak", json!(peak));
        put("moments", moments.iter().map(moment).collect());
        put("notes", json!(notes));
        put("settings", json!(settings));
        put("derived", json!(derived));
        put("speed", json!(speed));
        put("quality", json!(quality));
        report.serialize(serializer)
    }
}

fn moment(moment: &MomentReport) -> Value {
    json!({ "name": moment.name, "devices": moment.devices.iter().map(device).collect::<Value>() })
}

fn device(device: &DeviceReport) -> Value {
    json!({
        "id": device.id,
        "kind": device.kind,
        "name": device.name,
        "capacity_bytes": device.capacity,
        "driver_total_bytes": device.driver_total,
        "in_use_bytes": device.in_use,
        "in_use_by_others_bytes": device.in_use_by_others(),
        "beside": device.beside,
        "margin_bytes": device.margin,
        "total_bytes": device.total(),
        "free_bytes": device.free(),
        "terms": device.terms.terms.iter().map(term).collect::<Value>(),
    })
}

fn term(term: &Term) -> Value {
    let (low, high) = term.range;
    json!({
        "category": term.category,
        "part": term.part,
        "bytes": term.bytes,
        "low_bytes": low,
        "high_bytes": high,
        "why": term.why,
    })
}
