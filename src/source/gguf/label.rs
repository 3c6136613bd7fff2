//! What a file says it is quantized to (`general.file_type`; `llama_ftype` in `include/llama.h`, 0.6.0-dev).

use super::metadata::Metadata;

/// Names by number; "" for numbers that are no longer given.
const NAMES: [&str; 42] = [
    "F32",
    "F16",
    "Q4_0",
    "Q4_1",
    "",
    "",
    "",
    "Q8_0",
    "Q5_0",
    "Q5_1",
    "Q2_K",
    "Q3_K_S",
    "Q3_K_M",
    "Q3_K_L",
    "Q4_K_S",
    "Q4_K_M",
    "Q5_K_S",
    "Q5_K_M",
    "Q6_K",
    "IQ2_XXS",
    "IQ2_XS",
    "Q2_K_S",
    "IQ3_XS",
    "IQ3_XXS",
    "IQ1_S",
    "IQ4_NL",
    "IQ3_S",
    "IQ3_M",
    "IQ2_S",
    "IQ2_M",
    "IQ4_XS",
    "IQ1_M",
    "BF16",
    "",
    "",
    "",
    "TQ1_0",
    "TQ2_0",
    "MXFP4_MOE",
    "NVFP4",
    "Q1_0",
    "Q2_0",
];

/// The name of the file's type, where it says one that has a name.
pub(super) fn label(metadata: &Metadata) -> Option<String> {
    let number = usize::try_from(metadata.number("general.file_type")?).ok()?;
    let name = NAMES.get(number).filter(|name| !name.is_empty())?;
    Some((*name).to_owned())
}
