//! Which experts stay in main memory, layer by layer: `--n-cpu-moe` where they are the first of all, else a pattern.

use super::accepted::accepted;
use super::auto;
use super::config::GpuLayers;
use super::placement::Device;
use super::tensors::Layer;
use crate::engine::Inputs;
use crate::engine::experts::{ExpertChange, ExpertLayers};
use crate::plan::{Settings, Value};

/// Where the layers with experts are.
struct Found {
    /// Blocks with experts by GPU of the plan, and whether their experts are in main memory.
    by_gpu: Vec<(usize, Vec<(u32, bool)>)>,
    /// What has to be written out so that it holds: automatic choices end where experts are placed by hand.
    written: Settings,
}

fn find(inputs: &Inputs<'_>) -> Option<Found> {
    let (subject, asked) = accepted(inputs)?;
    let mut config = asked.clone();
    let fitted = auto::choose(&subject, &mut config, &mut Vec::new());
    let spilled = auto::spilled(&subject, fitted.as_ref());
    let placed = subject.place(&config, &spilled).ok()?;
    let placement = &placed.placement;
    let mut blocks: Vec<(u32, bool)> = Vec::new();
    for (row, device) in subject.table.rows.iter().zip(&placement.rows) {
        let (Layer::Block(block), Some(device)) = (row.tensor.layer, device) else {
            continue;
        };
        if !row.is_routed() {
            continue;
        }
        let in_ram = *device == Device::Host;
        match blocks.last_mut() {
            Some((last, moved)) if *last == block => *moved |= in_ram,
            _ => blocks.push((block, in_ram)),
        }
    }
    let mut by_gpu: Vec<(usize, Vec<(u32, bool)>)> = Vec::new();
    for (block, in_ram) in blocks {
        let Some(Device::Gpu(gpu)) = placement.blocks.get(block as usize) else {
            continue;
        };
        let gpu = subject.devices.get(*gpu)?.index;
        match by_gpu.iter_mut().find(|(known, _)| *known == gpu) {
            Some((_, blocks)) => blocks.push((block, in_ram)),
            None => by_gpu.push((gpu, vec![(block, in_ram)])),
        }
    }
    by_gpu.sort_by_key(|(gpu, _)| *gpu);
    let mut written = Settings::new();
    if asked.gpu_layers == GpuLayers::Auto {
        let homes = placement.blocks.iter().chain([&placement.output]);
        let on_gpus = homes.filter(|home| home.gpu().is_some()).count();
        let layers = if on_gpus > placement.blocks.len() {
            Value::Text("all".to_owned())
        } else {
            Value::Integer(i64::try_from(on_gpus).unwrap_or(i64::MAX))
        };
        written.insert("n_gpu_layers".to_owned(), layers);
        let split = config.tensor_split.iter().copied();
        let split: Vec<Value> = split.map(Value::Number).collect();
        if !split.is_empty() {
            written.insert("tensor_split".to_owned(), Value::List(split));
        }
    }
    Some(Found { by_gpu, written })
}

/// Layers with experts per GPU; `None` where there are none on any.
pub(super) fn layers(inputs: &Inputs<'_>) -> Option<Vec<ExpertLayers>> {
    let found = find(inputs)?.by_gpu.into_iter();
    let layers: Vec<ExpertLayers> = found
        .map(|(gpu, blocks)| ExpertLayers {
            gpu,
            layers: blocks.len() as u64,
            in_ram: blocks.iter().filter(|(_, in_ram)| *in_ram).count() as u64,
        })
        .collect();
    (!layers.is_empty()).then_some(layers)
}

/// Keeps the experts of so many layers of this GPU in main memory, its first ones; those of other GPUs stay where they
/// are.
pub(super) fn place(inputs: &Inputs<'_>, gpu: usize, in_ram: u64) -> Option<ExpertChange> {
    let Found {
        by_gpu,
        written: mut set,
    } = find(inputs)?;
    let all: usize = by_gpu.iter().map(|(_, blocks)| blocks.len()).sum();
    let mut moved: Vec<u32> = Vec::new();
    for (index, blocks) in &by_gpu {
        let first = usize::try_from(in_ram).unwrap_or(usize::MAX);
        let stays = |place: usize, in_ram: bool| {
            if *index == gpu { place < first } else { in_ram }
        };
        let blocks = blocks.iter().enumerate();
        let leaving = blocks.filter(|(place, (_, in_ram))| stays(*place, *in_ram));
        moved.extend(leaving.map(|(_, (block, _))| *block));
    }
    moved.sort_unstable();
    let mut every: Vec<u32> = by_gpu
        .iter()
        .flat_map(|(_, blocks)| blocks.iter().map(|(block, _)| *block))
        .collect();
    every.sort_unstable();
    let mut unset = vec!["cpu_moe", "n_cpu_moe", "override_tensor"];
    let mut rules = other_rules(inputs.settings);
    let mut put = |name: &'static str, value: Value| {
        unset.retain(|unset| *unset != name);
        set.insert(name.to_owned(), value);
    };
    if !moved.is_empty() && moved.len() == all {
        put("cpu_moe", Value::Bool(true));
    } else if every.starts_with(&moved) {
        // The first of all; dense leading layers are counted.
        if let Some(last) = moved.last() {
            put("n_cpu_moe", Value::Integer(i64::from(*last) + 1));
        }
    } else {
        let blocks: Vec<String> = moved.iter().map(u32::to_string).collect();
        let blocks = blocks.join("|");
        let rule = format!(r"blk\.({blocks})\.ffn_(up|gate|gate_up|down)_(ch|)exps=CPU");
        rules.push(Value::Text(rule));
    }
    if !rules.is_empty() {
        put("override_tensor", Value::List(rules));
    }
    Some(ExpertChange { set, unset })
}

/// Overrides that are about something else than experts in main memory.
fn other_rules(settings: &Settings) -> Vec<Value> {
    let Some(Value::List(rules)) = settings.get("override_tensor") else {
        return Vec::new();
    };
    let moves_experts = |rule: &&Value| {
        let Value::Text(rule) = rule else {
            return false;
        };
        let (pattern, target) = rule.rsplit_once('=').unwrap_or((rule, ""));
        pattern.contains("exps") && target.eq_ignore_ascii_case("CPU")
    };
    let others = rules.iter().filter(|rule| !moves_experts(rule));
    others.cloned().collect()
}
