//! Whether the tensors of a file are what its name or its header calls them.

use std::collections::BTreeMap;

use crate::model::FileTensor;
use crate::quant::Type;

/// File types with the types that their mixtures give to most of a model (`llama_ftype_get_default_type` and
/// `llama_tensor_get_type_impl` in `src/llama-quant.cpp`, 0.6.0-dev).
const MADE_OF: [(&str, &[Type]); 36] = [
    ("F32", &[Type::F32]),
    ("F16", &[Type::F16]),
    ("BF16", &[Type::BF16]),
    ("Q8_0", &[Type::Q8_0]),
    ("Q6_K", &[Type::Q6_K]),
    ("Q5_K_M", &[Type::Q5_K]),
    ("Q5_K_S", &[Type::Q5_K]),
    ("Q5_1", &[Type::Q5_1]),
    ("Q5_0", &[Type::Q5_0]),
    ("Q4_K_M", &[Type::Q4_K]),
    ("Q4_K_S", &[Type::Q4_K]),
    ("Q4_1", &[Type::Q4_1]),
    ("Q4_0", &[Type::Q4_0]),
    ("IQ4_NL", &[Type::IQ4_NL]),
    ("IQ4_XS", &[Type::IQ4_XS]),
    // Experts, and what a model has beside them; without experts all of it.
    ("MXFP4_MOE", &[Type::MXFP4, Type::Q8_0]),
    ("NVFP4", &[Type::NVFP4]),
    ("Q3_K_L", &[Type::Q3_K]),
    ("Q3_K_M", &[Type::Q3_K]),
    ("Q3_K_S", &[Type::Q3_K]),
    ("IQ3_M", &[Type::IQ3_S]),
    ("IQ3_S", &[Type::IQ3_S]),
    ("IQ3_XS", &[Type::IQ3_S, Type::IQ3_XXS]),
    ("IQ3_XXS", &[Type::IQ3_XXS]),
    ("Q2_K", &[Type::Q2_K]),
    ("Q2_K_S", &[Type::Q2_K]),
    ("IQ2_M", &[Type::IQ2_S]),
    ("IQ2_S", &[Type::IQ2_XS]),
    ("IQ2_XS", &[Type::IQ2_XS]),
    ("IQ2_XXS", &[Type::IQ2_XXS]),
    ("Q2_0", &[Type::Q2_0]),
    ("TQ2_0", &[Type::TQ2_0]),
    ("TQ1_0", &[Type::TQ1_0]),
    ("IQ1_M", &[Type::IQ1_M]),
    ("IQ1_S", &[Type::IQ1_S]),
    ("Q1_0", &[Type::Q1_0]),
];

/// The matrices that a mixture is known by: those of the blocks, since small models are mostly embedding, whose type is
/// chosen apart; in files that name no blocks, all.
pub(super) struct Matrices<'a> {
    tensors: Vec<(&'a FileTensor, Type)>,
}

impl<'a> Matrices<'a> {
    pub(super) fn of(tensors: &'a [FileTensor]) -> Self {
        let matrices = tensors.iter().filter(|tensor| tensor.shape[1] > 1);
        let known = matrices.filter_map(|tensor| Some((tensor, tensor.kind?)));
        let (inside, outside): (Vec<_>, Vec<_>) =
            known.partition(|(tensor, _)| tensor.block().is_some());
        Self {
            tensors: if inside.is_empty() { outside } else { inside },
        }
    }

    /// Are no other parameters more than those that are as a mixture of this name has them?
    pub(super) fn bear_out(&self, claim: &str) -> bool {
        let mut as_claimed = 0_u64;
        let mut others: BTreeMap<Type, u64> = BTreeMap::new();
        for (tensor, kind) in &self.tensors {
            let count = if is_claimed(claim, *kind, tensor.shape[0]) {
                &mut as_claimed
            } else {
                others.entry(*kind).or_default()
            };
            *count = count.saturating_add(tensor.elements());
        }
        others.values().all(|other| *other <= as_claimed)
    }

    /// What they are by themselves: the type that most parameters have.
    pub(super) fn name(&self) -> Option<String> {
        let mut counts: BTreeMap<Type, u64> = BTreeMap::new();
        for (tensor, kind) in &self.tensors {
            let count = counts.entry(*kind).or_default();
            *count = count.saturating_add(tensor.elements());
        }
        if counts.len() > 1 {
            // Routers and the like stay as they are in every mixture.
            counts.remove(&Type::F32);
        }
        let (most, _) = counts.iter().max_by_key(|(_, count)| **count)?;
        let name = most.name().to_ascii_uppercase();
        Some(match counts.len() {
            1 => name,
            _ => format!("{name} mix"),
        })
    }
}

/// Is it what the quantizer gives to rows of so many elements in a mixture of this name, or in a maker's own mixture of
/// such a name a type of about as many bits?
fn is_claimed(claim: &str, kind: Type, columns: u64) -> bool {
    let own = match claim {
        "MXFP4" => "MXFP4_MOE",
        other => other,
    };
    let Some((_, types)) = MADE_OF.iter().find(|(name, _)| *name == own) else {
        // Dynamic mixtures spread their types around the one in their name.
        let digits = (digit(claim), digit(kind.name()));
        return matches!(digits, (Some(claimed), Some(own)) if claimed.abs_diff(own) <= 1);
    };
    let mut types = types.iter();
    types.any(|wanted| kind == *wanted || wanted.fitting(columns) == Some(kind))
}

/// How many bits a name says: its first digit.
fn digit(name: &str) -> Option<u32> {
    name.chars().find_map(|letter| letter.to_digit(10))
}
