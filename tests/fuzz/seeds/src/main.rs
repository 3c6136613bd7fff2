//! Writes the seed corpora: small files of each kind that are read, in `corpus/<target>/`.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

/// Stands between the files of an input, as in `plimsoll_fuzz`.
const BETWEEN: &[u8] = b"\n--8<--\n";

fn main() -> io::Result<()> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let rows = root.join("../data/gguf/metadata.jsonl");
    gguf(&rows, &root.join("corpus/gguf"))?;
    let presets = root.join("../../presets/models");
    checkpoint(&presets, &root.join("corpus/checkpoint"))?;
    plan(&root.join("corpus/plan"))
}

/// Headers of every architecture, their first tensors with them; and a set of two parts.
fn gguf(rows: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut first = None;
    for (number, line) in fs::read_to_string(rows)?.lines().enumerate() {
        let row: Value = serde_json::from_str(line)?;
        let Some(keys) = keys(&row) else { continue };
        let file = header(&keys, tensors(&keys));
        // One in eight is projected, all are read.
        let mut seed = vec![if number % 8 == 0 { 1 } else { 5 }];
        seed.extend(&file);
        fs::write(folder.join(format!("{number:03}")), &seed)?;
        first.get_or_insert(keys);
    }
    let Some(mut keys) = first else { return Ok(()) };
    let mut parts = vec![1];
    for number in 0..2 {
        keys.push(("split.no".to_owned(), Value::from(number)));
        keys.push(("split.count".to_owned(), Value::from(2)));
        parts.extend(header(&keys, tensors(&keys)));
        if number == 0 {
            parts.extend(BETWEEN);
        }
        keys.truncate(keys.len() - 2);
    }
    fs::write(folder.join("parts"), parts)
}

/// Layers of a seed: enough for every pattern of layers to come round once, and for a fuzzer to try hundreds of files in
/// a second.
const LAYERS: usize = 6;

/// The number of layers under each of the names that it has.
const DEPTHS: [&str; 5] = [
    "block_count",
    "num_hidden_layers",
    "num_layers",
    "n_layer",
    "n_layers",
];

/// A configuration or the keys of a file with few layers: their number, and every list that has an element for each.
fn shallow(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        let named = |key: &str| DEPTHS.contains(&key.rsplit('.').next().unwrap_or(key));
        let depth = fields
            .iter()
            .filter(|(key, _)| named(key))
            .find_map(|(_, value)| usize::try_from(value.as_u64()?).ok())
            .filter(|depth| *depth > LAYERS);
        for (key, value) in fields.iter_mut() {
            match value {
                Value::Number(_) if depth.is_some() && named(key) => *value = LAYERS.into(),
                Value::Array(list) if Some(list.len()) == depth => list.truncate(LAYERS),
                Value::Object(_) => *value = shallow(value.take()),
                _ => {}
            }
        }
    }
    value
}

/// The keys of a row, wherever it has them.
fn keys(row: &Value) -> Option<Vec<(String, Value)>> {
    let fields = row.as_object()?;
    let object = fields
        .values()
        .filter_map(Value::as_object)
        .find(|object| object.contains_key("general.architecture"))
        .or_else(|| {
            fields
                .contains_key("general.architecture")
                .then_some(fields)
        })?;
    let object = shallow(Value::Object(object.clone()));
    // Lists of a whole vocabulary teach a fuzzer nothing.
    let short = object
        .as_object()?
        .iter()
        .filter(|(_, value)| value.as_array().is_none_or(|list| list.len() < 100));
    Some(
        short
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    )
}

fn tensors(keys: &[(String, Value)]) -> Vec<(String, Vec<u64>, u32)> {
    let number = |end: &str| {
        let found = keys.iter().find(|(key, _)| key.ends_with(end));
        found.and_then(|(_, value)| value.as_u64()).unwrap_or(64)
    };
    let width = number(".embedding_length");
    let mut tensors = vec![
        ("token_embd.weight".to_owned(), vec![width, 256], 12),
        ("output_norm.weight".to_owned(), vec![width], 0),
    ];
    for block in 0..2 {
        for (name, kind) in [
            ("attn_q", 12),
            ("attn_k", 12),
            ("attn_v", 14),
            ("attn_output", 12),
            ("ffn_down", 8),
        ] {
            tensors.push((
                format!("blk.{block}.{name}.weight"),
                vec![width, width],
                kind,
            ));
        }
    }
    tensors
}

fn header(keys: &[(String, Value)], tensors: Vec<(String, Vec<u64>, u32)>) -> Vec<u8> {
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(3_u32.to_le_bytes());
    bytes.extend((tensors.len() as u64).to_le_bytes());
    let written: Vec<_> = keys
        .iter()
        .filter_map(|(key, value)| Some((key, typed(value)?)))
        .collect();
    bytes.extend((written.len() as u64).to_le_bytes());
    for (key, (kind, value)) in written {
        text(&mut bytes, key);
        bytes.extend(kind.to_le_bytes());
        bytes.extend(value);
    }
    let mut offset = 0_u64;
    for (name, shape, kind) in tensors {
        text(&mut bytes, &name);
        bytes.extend((shape.len() as u32).to_le_bytes());
        for extent in &shape {
            bytes.extend(extent.to_le_bytes());
        }
        bytes.extend(kind.to_le_bytes());
        bytes.extend(offset.to_le_bytes());
        // Bytes of a block and its elements: F32, Q8_0, Q4_K, Q6_K.
        let (block, elements) = match kind {
            8 => (34, 32),
            12 => (144, 256),
            14 => (210, 256),
            _ => (4, 1),
        };
        let size = shape.iter().product::<u64>() / elements * block;
        offset = (offset + size).next_multiple_of(32);
    }
    bytes
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

fn typed(value: &Value) -> Option<(u32, Vec<u8>)> {
    Some(match value {
        Value::Bool(flag) => (7, vec![u8::from(*flag)]),
        Value::String(words) => {
            let mut bytes = Vec::new();
            text(&mut bytes, words);
            (8, bytes)
        }
        Value::Number(number) => match number.as_u64() {
            Some(whole) => (4, u32::try_from(whole).ok()?.to_le_bytes().to_vec()),
            None => (6, (number.as_f64()? as f32).to_le_bytes().to_vec()),
        },
        Value::Array(list) => {
            let items: Vec<_> = list.iter().map(typed).collect::<Option<_>>()?;
            let kind = items.first().map_or(5, |(kind, _)| *kind);
            let mut bytes = kind.to_le_bytes().to_vec();
            bytes.extend((items.len() as u64).to_le_bytes());
            bytes.extend(items.into_iter().flat_map(|(_, item)| item));
            (9, bytes)
        }
        _ => return None,
    })
}

/// The configurations of all presets, each as the first file of a folder.
fn checkpoint(presets: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for family in fs::read_dir(presets)? {
        for file in fs::read_dir(family?.path())? {
            let file = file?;
            let preset: toml::Table = fs::read_to_string(file.path())?
                .parse()
                .map_err(io::Error::other)?;
            let config = serde_json::to_value(&preset["config"])?;
            let text = serde_json::to_string(&shallow(config))?;
            if text.len() < 8192 {
                let header = safetensors();
                let name = file.file_name().to_string_lossy().into_owned();
                let parts: [&[u8]; 2] = [text.as_bytes(), &header];
                let first = if name.len() % 8 == 0 { 1 } else { 5 };
                fs::write(folder.join(&name), input(first, &parts))?;
                // Every other one by an index too, with its second part cut short.
                if name.len() % 2 == 0 {
                    let cut = &header[..header.len() / 2];
                    let parts = [text.as_bytes(), INDEX.as_bytes(), &header, cut];
                    fs::write(folder.join(format!("{name}.index")), input(7, &parts))?;
                }
            }
        }
    }
    Ok(())
}

const INDEX: &str = r#"{"metadata":{"total_size":36864},"weight_map":{"model.embed_tokens.weight":"model-00001-of-00002.safetensors","model.layers.0.self_attn.q_proj.weight":"model-00002-of-00002.safetensors"}}"#;

/// Files of an input behind the byte that says how they are taken.
fn input(first: u8, files: &[&[u8]]) -> Vec<u8> {
    [&[first], files.join(BETWEEN).as_slice()].concat()
}

/// The header of a file with two tensors.
fn safetensors() -> Vec<u8> {
    let header = r#"{"__metadata__":{"format":"pt"},"model.embed_tokens.weight":{"dtype":"BF16","shape":[256,64],"data_offsets":[0,32768]},"model.layers.0.self_attn.q_proj.weight":{"dtype":"F8_E4M3","shape":[64,64],"data_offsets":[32768,36864]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes
}

/// Plans with something of everything.
fn plan(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let models = [
        "Qwen3-8B",
        "gemma-3-4b-it",
        "Qwen3-30B-A3B",
        "gpt-oss-20b",
        "Llama-3.2-1B-Instruct",
    ];
    let settings = [
        "weights = \"Q4_K_M\"\nctx_size = 8192\nparallel = 1\nn_gpu_layers = \"all\"\n",
        "ctx_size = 0\nn_gpu_layers = \"auto\"\ncache_type_k = \"q8_0\"\nflash_attn = \"on\"\n",
        "override_tensor = [\"exps=CPU\"]\nn_gpu_layers = 99\nn_cpu_moe = 3\nubatch_size = 512\n",
        "tensor_split = [3, 1]\nsplit_mode = \"row\"\nmain_gpu = 1\nkv_offload = false\n",
    ];
    let machines = [
        "",
        "[machine]\npreset = \"1x-rtx-4090\"\n",
        "[machine]\nos = \"windows\"\nram_mib = 65536\ngpus = [ { name = \"NVIDIA GeForce RTX 4090\", in_use_mib = 600 }, { name = \"x\", vram_mib = 8192 } ]\n",
        "[machine]\nram_mib = 1\ngpus = []\nnodes = 2\n",
    ];
    let mut number = 0;
    for engine in ["llama.cpp", "ollama"] {
        for model in models {
            for settings in settings {
                let machine = machines[number % machines.len()];
                let text = format!(
                    "schema = 1\nengine = \"{engine}\"\n[model]\npreset = \"{model}\"\noverrides = {{ num_hidden_layers = 4 }}\n{machine}[settings]\n{settings}[launch]\nport = 8080\n[fit]\nmargin_mib = 512\n"
                );
                fs::write(folder.join(format!("{number:03}")), text)?;
                number += 1;
            }
        }
    }
    Ok(())
}
