//! From a `quantization_config` to what it says, method by method (transformers 5.24.0
//! `utils/quantization_config.py`; vLLM 0.33 `model_executor/layers/quantization`).

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Format, Grouping, Method, Quantization, Scheme};

/// Most names of modules that are kept; lists of what is left alone are long, and only shown.
const NAMES: usize = 4096;

/// Most bits that a quantized number has.
const BITS: u64 = 16;

pub(super) fn read(config: &Value) -> Option<Quantization> {
    let method = method(config)?;
    let schemes = schemes(&method, config);
    let format = ["format", "checkpoint_format", "quant_algo"]
        .iter()
        .find_map(|field| text(config, field));
    Some(Quantization {
        skipped: skipped(config),
        format: format.map(|format| format.chars().take(40).collect()),
        kv_cache: kv_cache(config),
        schemes,
        method,
    })
}

fn method(config: &Value) -> Option<Method> {
    let config = config.as_object()?;
    let named = config.get("quant_method").and_then(Value::as_str);
    // bitsandbytes wrote no method at first; ModelOpt's own file names its producer instead.
    let flag = |field| config.get(field).and_then(Value::as_bool) == Some(true);
    let name = match named {
        Some(name) => name.to_ascii_lowercase(),
        None if flag("load_in_4bit") || flag("load_in_8bit") => "bitsandbytes".to_owned(),
        None if config.contains_key("quant_algo") => "modelopt".to_owned(),
        None if config.contains_key("config_groups") => "compressed-tensors".to_owned(),
        None => return None,
    };
    Some(match name.as_str() {
        "fp8" => Method::Fp8,
        "fbgemm_fp8" => Method::FbgemmFp8,
        "compressed-tensors" | "compressed_tensors" | "sparseml" => Method::CompressedTensors,
        "awq" => Method::Awq,
        "gptq" | "gptqmodel" | "marlin" => Method::Gptq,
        "bitsandbytes" => Method::BitsAndBytes,
        "mxfp4" => Method::Mxfp4,
        "modelopt" | "modelopt_fp4" | "modelopt_mixed" | "nvfp4" => Method::ModelOpt,
        "eetq" => Method::Eetq,
        "hqq" => Method::Hqq,
        "aqlm" => Method::Aqlm,
        "torchao" => Method::TorchAo,
        "quark" => Method::Quark,
        "exl2" => Method::Exl2,
        "exl3" => Method::Exl3,
        "bitnet" => Method::BitNet,
        other => Method::Other(other.chars().take(40).collect()),
    })
}

fn schemes(method: &Method, config: &Value) -> Vec<Scheme> {
    let one = |weights: Format| vec![Scheme::from(weights)];
    match method {
        Method::Fp8 => fp8(config),
        Method::FbgemmFp8 => vec![Scheme {
            activations: Some(Format::float(8, Grouping::Channel)),
            ..Format::float(8, Grouping::Channel).into()
        }],
        Method::CompressedTensors | Method::Quark => groups(config),
        Method::Awq | Method::Gptq => integers(config, "bits", "group_size"),
        Method::BitsAndBytes => one(bits_and_bytes(config)),
        Method::Mxfp4 => one(Format::float(4, Grouping::Group(32))),
        Method::ModelOpt => model_opt(config),
        Method::Eetq => one(Format::int(8, Grouping::Channel)),
        Method::Hqq => hqq(config),
        Method::Aqlm => aqlm(config),
        Method::BitNet => one(Format::int(2, Grouping::Tensor)),
        Method::TorchAo | Method::Exl2 | Method::Exl3 | Method::Other(_) => {
            integers(config, "bits", "group_size")
        }
    }
}

fn fp8(config: &Value) -> Vec<Scheme> {
    let block = config.get("weight_block_size").and_then(Value::as_array);
    let edge = |index: usize| block.and_then(|block| block.get(index)?.as_u64());
    let grouping = match (edge(0), edge(1)) {
        (Some(rows), Some(columns)) if rows > 0 && columns > 0 => Grouping::Block(rows, columns),
        _ => Grouping::Tensor,
    };
    let activations = match grouping {
        Grouping::Block(_, columns) => Grouping::Group(columns),
        _ => Grouping::Tensor,
    };
    vec![Scheme {
        activations: Some(Format::float(8, activations)),
        ..Format::float(8, grouping).into()
    }]
}

/// Whole numbers of a width, in groups; -1 stands for whole rows.
fn integers(config: &Value, bits: &str, group: &str) -> Vec<Scheme> {
    let Some(bits) = width(config, bits) else {
        return Vec::new();
    };
    let grouping = match config.get(group).and_then(Value::as_i64) {
        Some(size) if size > 0 => Grouping::Group(size.unsigned_abs()),
        Some(_) => Grouping::Channel,
        None => Grouping::Tensor,
    };
    let flag = |field: &str| config.get(field).and_then(Value::as_bool);
    let symmetric = flag("sym").unwrap_or(flag("zero_point") == Some(false));
    vec![
        Format {
            symmetric,
            ..Format::int(bits, grouping)
        }
        .into(),
    ]
}

fn bits_and_bytes(config: &Value) -> Format {
    if config.get("load_in_8bit").and_then(Value::as_bool) == Some(true) {
        return Format::int(8, Grouping::Channel);
    }
    // bitsandbytes 0.48 `functional.py`: NF4 and FP4 share a scale among 64 elements.
    Format::float(4, Grouping::Group(64))
}

/// compressed-tensors (and Quark with the same idea): schemes with the modules they are for.
fn groups(config: &Value) -> Vec<Scheme> {
    let Some(groups) = config.get("config_groups").and_then(Value::as_object) else {
        let global = config.get("global_quant_config");
        return global.and_then(scheme).into_iter().collect();
    };
    groups.values().take(NAMES).filter_map(scheme).collect()
}

fn scheme(group: &Value) -> Option<Scheme> {
    let weights = format(group.get("weights").or(group.get("weight"))?)?;
    let activations = group
        .get("input_activations")
        .or(group.get("input_tensors"));
    Some(Scheme {
        weights,
        activations: activations.and_then(format),
        targets: names(group.get("targets")),
    })
}

/// `num_bits`, `type`, `strategy` and `group_size`; Quark's `dtype` and `qscheme`.
fn format(arguments: &Value) -> Option<Format> {
    let kind = text(arguments, "type").or(text(arguments, "dtype"))?;
    let float = kind.starts_with("float") || kind.starts_with("fp") || kind.starts_with("mx");
    let bits = width(arguments, "num_bits").or_else(|| digits(kind))?;
    let size = arguments
        .get("group_size")
        .and_then(Value::as_u64)
        .filter(|size| *size > 0);
    let block = arguments.get("block_structure").and_then(Value::as_array);
    let edge = |index: usize| block.and_then(|block| block.get(index)?.as_u64());
    let strategy = text(arguments, "strategy").or(text(arguments, "qscheme"));
    let grouping = match (strategy.unwrap_or_default(), size, edge(0), edge(1)) {
        ("block", _, Some(rows), Some(columns)) => Grouping::Block(rows, columns),
        ("channel" | "per_channel" | "token", ..) => Grouping::Channel,
        (_, Some(size), ..) => Grouping::Group(size),
        _ => Grouping::Tensor,
    };
    Some(Format {
        bits,
        float,
        grouping,
        symmetric: arguments.get("symmetric").and_then(Value::as_bool) != Some(false),
    })
}

/// The width in a name of a number format: 8 of `fp8_e4m3`, 4 of `int4`.
fn digits(name: &str) -> Option<u64> {
    let from = name.find(|letter: char| letter.is_ascii_digit())?;
    let rest = name.get(from..)?;
    let to = rest
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(rest.len());
    rest.get(..to)?
        .parse()
        .ok()
        .filter(|bits| (1..=BITS).contains(bits))
}

/// ModelOpt: one algorithm, or one per layer.
fn model_opt(config: &Value) -> Vec<Scheme> {
    let mut by_algorithm: BTreeMap<(&str, Option<u64>), Vec<String>> = BTreeMap::new();
    let size = |config: &Value| config.get("group_size").and_then(Value::as_u64);
    let layers = config.get("quantized_layers").and_then(Value::as_object);
    for (layer, of) in layers.into_iter().flatten().take(NAMES) {
        if let Some(algorithm) = text(of, "quant_algo") {
            by_algorithm
                .entry((algorithm, size(of)))
                .or_default()
                .push(layer.clone());
        }
    }
    if by_algorithm.is_empty() {
        let groups = groups(config);
        if !groups.is_empty() {
            return groups;
        }
        let algorithm = text(config, "quant_algo").unwrap_or_default();
        by_algorithm.insert((algorithm, size(config)), Vec::new());
    }
    let scheme = |((algorithm, size), targets): (_, Vec<String>)| {
        let scheme = algorithm_of(algorithm, size)?;
        Some(Scheme { targets, ..scheme })
    };
    by_algorithm.into_iter().filter_map(scheme).collect()
}

/// TensorRT Model Optimizer 0.37 `torch/export/quant_utils.py`.
fn algorithm_of(algorithm: &str, size: Option<u64>) -> Option<Scheme> {
    let group = |default: u64| Grouping::Group(size.filter(|size| *size > 0).unwrap_or(default));
    let both = |format: Format| Scheme {
        activations: Some(format),
        ..format.into()
    };
    Some(match algorithm.to_ascii_uppercase().as_str() {
        "FP8" => both(Format::float(8, Grouping::Tensor)),
        "FP8_PB_WO" => Format::float(8, Grouping::Block(128, 128)).into(),
        "FP8_PER_CHANNEL_PER_TOKEN" => both(Format::float(8, Grouping::Channel)),
        "NVFP4" | "NVFP4_AWQ" => both(Format::float(4, group(16))),
        "NVFP4A16" | "W4A16_NVFP4" => Format::float(4, group(16)).into(),
        "MXFP4" => Format::float(4, group(32)).into(),
        "MXFP8" => both(Format::float(8, group(32))),
        "W4A16_AWQ" | "W4A16" => Format::int(4, group(128)).into(),
        "W4A8_AWQ" => Scheme {
            activations: Some(Format::float(8, Grouping::Tensor)),
            ..Format::int(4, group(128)).into()
        },
        "W8A16" | "INT8" => Format::int(8, Grouping::Channel).into(),
        "INT8_SQ" | "W8A8_SQ_PER_CHANNEL" => both(Format::int(8, Grouping::Channel)),
        _ => return None,
    })
}

fn hqq(config: &Value) -> Vec<Scheme> {
    // As transformers writes it, and as HQQ itself does.
    let nested = config
        .get("quant_config")
        .and_then(|all| all.get("weight_quant_params"));
    integers(nested.unwrap_or(config), "nbits", "group_size")
}

/// Bits per weight come from codes per group: 16 bits for 8 weights are two.
fn aqlm(config: &Value) -> Vec<Scheme> {
    let number = |field: &str, absent: u64| {
        let value = config.get(field).and_then(Value::as_u64).unwrap_or(absent);
        value.clamp(1, 1 << 20)
    };
    // The defaults of transformers' AqlmConfig.
    let inputs = number("in_group_size", 8);
    let group = inputs.saturating_mul(number("out_group_size", 1));
    let code = number("num_codebooks", 1).saturating_mul(number("nbits_per_codebook", 16));
    let bits = code.div_ceil(group).clamp(1, BITS);
    vec![Format::int(bits, Grouping::Group(inputs)).into()]
}

/// Scales for a quantized cache come with the checkpoint.
fn kv_cache(config: &Value) -> Option<Format> {
    if let Some(scheme) = config
        .get("kv_cache_scheme")
        .filter(|scheme| scheme.is_object())
    {
        return format(scheme);
    }
    let algorithm = text(config, "kv_cache_quant_algo")?;
    Some(match algorithm.to_ascii_uppercase().as_str() {
        "FP8" => Format::float(8, Grouping::Tensor),
        "NVFP4" => Format::float(4, Grouping::Group(16)),
        "INT8" => Format::int(8, Grouping::Tensor),
        _ => return None,
    })
}

/// What is left alone, under the names that methods have for it.
fn skipped(config: &Value) -> Vec<String> {
    const FIELDS: [&str; 7] = [
        "ignore",
        "modules_to_not_convert",
        "ignored_layers",
        "exclude_modules",
        "exclude",
        "llm_int8_skip_modules",
        "skip_modules",
    ];
    let lists = FIELDS.iter().map(|field| names(config.get(field)));
    lists.flatten().take(NAMES).collect()
}

fn names(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array);
    let names = list
        .into_iter()
        .flatten()
        .take(NAMES)
        .filter_map(Value::as_str);
    names.map(str::to_owned).collect()
}

fn text<'a>(config: &'a Value, field: &str) -> Option<&'a str> {
    config.get(field).and_then(Value::as_str)
}

fn width(config: &Value, field: &str) -> Option<u64> {
    let bits = config.get(field).and_then(Value::as_u64);
    bits.filter(|bits| (1..=BITS).contains(bits))
}
