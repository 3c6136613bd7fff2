//! How each family's configuration is read. A family is chosen by `model_type`, never by the model's name; within a
//! family the fields decide.

mod base;
mod deepseek;
mod deepseek_v4;
mod dense;
mod ernie;
mod gemma;
mod generic;
mod hunyuan;
mod hybrid;
mod kimi;
mod ling;
mod mixture;
mod nemotron;
mod other;
mod qwen_moe;
mod qwen_next;

use super::Model;
use super::config::{Config, Error};
use super::read::nearest;

/// Reads the language model of a configuration.
type Read = fn(&Config<'_>) -> Result<Model, Error>;

/// Families by `model_type`.
const FAMILIES: &[(&[&str], Read)] = &[
    (&["llama", "mistral", "ministral3"], dense::llama),
    (&["smollm3"], dense::smollm3),
    (&["granite"], dense::granite),
    (&["internlm2", "internlm3"], dense::internlm),
    (
        &[
            "qwen2",
            "qwen2_vl",
            "qwen2_vl_text",
            "qwen2_5_vl",
            "qwen2_5_vl_text",
        ],
        dense::qwen2,
    ),
    (&["qwen3", "qwen3_vl_text"], dense::qwen3),
    (&["phi3"], dense::phi3),
    (&["baichuan"], dense::baichuan),
    (&["chatglm"], dense::chatglm),
    (&["glm", "glm4"], dense::glm),
    (&["olmo2", "olmo3"], dense::olmo),
    (&["cohere"], dense::cohere),
    (&["cohere2"], dense::cohere2),
    (&["exaone4"], dense::exaone4),
    (&["seed_oss"], dense::seed_oss),
    (&["ernie4_5"], ernie::dense),
    (&["hunyuan_v1_dense"], hunyuan::dense),
    (&["stablelm"], dense::stablelm),
    (&["starcoder2"], dense::starcoder2),
    (&["nemotron-nas"], nemotron::nas),
    (&["gemma2"], gemma::gemma2),
    (&["gemma3_text"], gemma::gemma3),
    (&["gemma3n_text"], gemma::gemma3n),
    (&["gemma4_text"], gemma::gemma4),
    (&["mixtral"], mixture::mixtral),
    (&["phimoe"], mixture::phimoe),
    (&["qwen2_moe"], qwen_moe::qwen2),
    (&["qwen3_moe", "qwen3_vl_moe_text"], qwen_moe::qwen3),
    (&["olmoe"], mixture::olmoe),
    (&["gpt_oss"], mixture::gpt_oss),
    (&["glm4_moe"], mixture::glm4_moe),
    (&["dots1"], mixture::dots1),
    (&["bailing_moe", "bailing_moe_v2"], ling::read),
    (&["ernie4_5_moe"], ernie::mixture),
    (&["hunyuan_v1_moe"], hunyuan::mixture),
    (&["minimax_m2"], mixture::minimax_m2),
    (&["minimax_m3"], mixture::minimax_m3),
    (&["llama4_text"], mixture::llama4),
    (&["minicpm3"], deepseek::minicpm3),
    (&["deepseek_v2"], deepseek::v2),
    (&["deepseek_v3", "kimi_k2"], deepseek::v3),
    (&["deepseek_v32"], deepseek::v32),
    (&["glm4_moe_lite"], deepseek::glm4_moe_lite),
    (&["glm_moe_dsa"], deepseek::glm_moe_dsa),
    (&["deepseek_v4"], deepseek_v4::read),
    (&["kimi_linear"], kimi::read),
    (
        &["qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"],
        qwen_next::read,
    ),
    (&["nemotron_h"], nemotron::hybrid),
    (&["granitemoehybrid"], hybrid::granite),
    (&["falcon_h1"], hybrid::falcon),
    (&["minimax_m1"], hybrid::minimax_m1),
    (&["bert"], other::bert),
    (&["resnet"], other::resnet),
];

/// The language model of a configuration, by its `model_type`; of an unknown one, by the usual names of fields.
pub(super) fn read(config: &Config<'_>) -> Result<Model, Error> {
    let model_type = config.text("model_type")?.ok_or_else(|| Error::Missing {
        field: "model_type".to_owned(),
    })?;
    let family = FAMILIES
        .iter()
        .find(|(types, _)| types.contains(&model_type));
    let Some((_, read)) = family else {
        let types = FAMILIES.iter().flat_map(|(types, _)| types.iter().copied());
        let nearest = nearest(model_type, types);
        let known = nearest
            .as_deref()
            .map(|name| format!(" (the nearest known type is `{name}`)"));
        let sentence = format!(
            "Nothing is known of models of type `{}`{}: layers, caches and graphs are taken from the fields of its \
             configuration alone.",
            crate::plain::quoted(model_type),
            known.unwrap_or_default()
        );
        let mut model = generic::read(config, model_type, nearest)?;
        model.assumptions.insert(0, sentence);
        return Ok(model);
    };
    read(config)
}

/// The language model of fields under their usual names, whatever families there are. Whoever asks for it says why.
pub(super) fn by_fields(config: &Config<'_>) -> Result<Model, Error> {
    let model_type = config.text("model_type")?.unwrap_or_default();
    generic::read(config, model_type, None)
}
