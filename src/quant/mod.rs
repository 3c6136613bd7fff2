//! Tensor and cache formats: block sizes and the bytes of a shape.
//!
//! Formats are ggml's (`ggml/src/ggml.c` type traits and `ggml/src/ggml-common.h` block structures, ggml 0.26): a row
//! is stored as whole blocks of a fixed number of elements.

use std::fmt;
use std::str::FromStr;

use crate::units::Bytes;

/// How the elements of a tensor are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    missing_docs,
    non_camel_case_types,
    reason = "ggml's own names say what they are"
)]
pub enum Type {
    F32,
    F16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q8_1,
    Q2_K,
    Q3_K,
    Q4_K,
    Q5_K,
    Q6_K,
    Q8_K,
    IQ2_XXS,
    IQ2_XS,
    IQ3_XXS,
    IQ1_S,
    IQ4_NL,
    IQ3_S,
    IQ2_S,
    IQ4_XS,
    I8,
    I16,
    I32,
    I64,
    F64,
    IQ1_M,
    BF16,
    TQ1_0,
    TQ2_0,
    MXFP4,
    NVFP4,
    Q1_0,
    Q2_0,
}

impl Type {
    /// Every type that a current file may hold, in ggml's order.
    pub const ALL: [Self; 35] = [
        Self::F32,
        Self::F16,
        Self::Q4_0,
        Self::Q4_1,
        Self::Q5_0,
        Self::Q5_1,
        Self::Q8_0,
        Self::Q8_1,
        Self::Q2_K,
        Self::Q3_K,
        Self::Q4_K,
        Self::Q5_K,
        Self::Q6_K,
        Self::Q8_K,
        Self::IQ2_XXS,
        Self::IQ2_XS,
        Self::IQ3_XXS,
        Self::IQ1_S,
        Self::IQ4_NL,
        Self::IQ3_S,
        Self::IQ2_S,
        Self::IQ4_XS,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::F64,
        Self::IQ1_M,
        Self::BF16,
        Self::TQ1_0,
        Self::TQ2_0,
        Self::MXFP4,
        Self::NVFP4,
        Self::Q1_0,
        Self::Q2_0,
    ];

    /// The types llama.cpp accepts for its caches, in the order its help lists them (`kv_cache_types` in
    /// `common/arg.cpp`, 0.6.0-dev).
    pub const CACHE: [Self; 9] = [
        Self::F32,
        Self::F16,
        Self::BF16,
        Self::Q8_0,
        Self::Q4_0,
        Self::Q4_1,
        Self::IQ4_NL,
        Self::Q5_0,
        Self::Q5_1,
    ];

    /// ggml's own spelling, also that of cache flags ("q4_K", "f16").
    pub const fn name(self) -> &'static str {
        self.layout().0
    }

    /// Elements of one block; a row is a whole number of blocks.
    pub const fn block_elements(self) -> u64 {
        self.layout().1
    }

    /// Bytes of one block.
    pub const fn block_bytes(self) -> u64 {
        self.layout().2
    }

    /// The number that stands for the type in a GGUF file.
    pub const fn ggml_id(self) -> u32 {
        self.layout().3
    }

    /// The type itself, or what llama.cpp's quantizer puts in its place where rows of so many elements are no whole number
    /// of its blocks (`tensor_type_fallback` in `src/llama-quant.cpp`, 0.6.0-dev); `None`: it gives up.
    pub const fn fitting(self, columns: u64) -> Option<Self> {
        if columns.is_multiple_of(self.block_elements()) {
            return Some(self);
        }
        let other = match self {
            Self::IQ1_S
            | Self::IQ1_M
            | Self::IQ2_XXS
            | Self::IQ2_XS
            | Self::IQ2_S
            | Self::IQ3_XXS
            | Self::IQ3_S
            | Self::IQ4_XS => Self::IQ4_NL,
            Self::Q2_0 | Self::Q2_K | Self::Q3_K | Self::TQ1_0 | Self::TQ2_0 => Self::Q4_0,
            Self::Q4_K => Self::Q5_0,
            Self::Q5_K => Self::Q5_1,
            Self::Q6_K => Self::Q8_0,
            _ if self.block_elements() <= 32 => self,
            _ => return None,
        };
        if columns.is_multiple_of(other.block_elements()) {
            return Some(other);
        }
        Some(Self::F16)
    }

    /// Name, elements and bytes per block, and number in a file.
    const fn layout(self) -> (&'static str, u64, u64, u32) {
        match self {
            Self::F32 => ("f32", 1, 4, 0),
            Self::F16 => ("f16", 1, 2, 1),
            Self::Q4_0 => ("q4_0", 32, 18, 2),
            Self::Q4_1 => ("q4_1", 32, 20, 3),
            Self::Q5_0 => ("q5_0", 32, 22, 6),
            Self::Q5_1 => ("q5_1", 32, 24, 7),
            Self::Q8_0 => ("q8_0", 32, 34, 8),
            Self::Q8_1 => ("q8_1", 32, 36, 9),
            Self::Q2_K => ("q2_K", 256, 84, 10),
            Self::Q3_K => ("q3_K", 256, 110, 11),
            Self::Q4_K => ("q4_K", 256, 144, 12),
            Self::Q5_K => ("q5_K", 256, 176, 13),
            Self::Q6_K => ("q6_K", 256, 210, 14),
            Self::Q8_K => ("q8_K", 256, 292, 15),
            Self::IQ2_XXS => ("iq2_xxs", 256, 66, 16),
            Self::IQ2_XS => ("iq2_xs", 256, 74, 17),
            Self::IQ3_XXS => ("iq3_xxs", 256, 98, 18),
            Self::IQ1_S => ("iq1_s", 256, 50, 19),
            Self::IQ4_NL => ("iq4_nl", 32, 18, 20),
            Self::IQ3_S => ("iq3_s", 256, 110, 21),
            Self::IQ2_S => ("iq2_s", 256, 82, 22),
            Self::IQ4_XS => ("iq4_xs", 256, 136, 23),
            Self::I8 => ("i8", 1, 1, 24),
            Self::I16 => ("i16", 1, 2, 25),
            Self::I32 => ("i32", 1, 4, 26),
            Self::I64 => ("i64", 1, 8, 27),
            Self::F64 => ("f64", 1, 8, 28),
            Self::IQ1_M => ("iq1_m", 256, 56, 29),
            Self::BF16 => ("bf16", 1, 2, 30),
            Self::TQ1_0 => ("tq1_0", 256, 54, 34),
            Self::TQ2_0 => ("tq2_0", 256, 66, 35),
            Self::MXFP4 => ("mxfp4", 32, 17, 39),
            Self::NVFP4 => ("nvfp4", 64, 36, 40),
            Self::Q1_0 => ("q1_0", 128, 18, 41),
            Self::Q2_0 => ("q2_0", 64, 18, 42),
        }
    }

    /// The type that `id` stands for in a GGUF file; `None` for removed and unknown numbers.
    pub fn from_ggml_id(id: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.ggml_id() == id)
    }

    /// Elements share a scale, so a row must be a whole number of blocks (ggml's `is_quantized`).
    pub const fn is_quantized(self) -> bool {
        self.block_elements() > 1
    }

    /// Bits that one element takes, scales included.
    pub fn bits_per_element(self) -> f64 {
        8.0 * self.block_bytes() as f64 / self.block_elements() as f64
    }

    /// Bytes of a row of `elements`; `None` where it is not a whole number of blocks, or beyond 2^64.
    pub const fn row_bytes(self, elements: u64) -> Option<u64> {
        if !elements.is_multiple_of(self.block_elements()) {
            return None;
        }
        (elements / self.block_elements()).checked_mul(self.block_bytes())
    }

    /// Bytes of a tensor whose rows are `shape[0]` long (ggml's order, fastest first); `None` as for
    /// [`Type::row_bytes`].
    pub fn shape_bytes(self, shape: &[u64]) -> Option<Bytes> {
        let (columns, rest) = shape.split_first()?;
        let row = self.row_bytes(*columns)?;
        rest.iter()
            .try_fold(row, |bytes, extent| bytes.checked_mul(*extent))
            .map(Bytes::new)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No tensor format has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown tensor format `{0}`")]
pub struct UnknownType(pub String);

impl FromStr for Type {
    type Err = UnknownType;

    /// By name, in any case of letters.
    fn from_str(name: &str) -> Result<Self, UnknownType> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| UnknownType(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_lead_back() {
        for kind in Type::ALL {
            assert_eq!(kind.name().to_uppercase().parse(), Ok(kind));
            assert_eq!(Type::from_ggml_id(kind.ggml_id()), Some(kind));
        }
        for removed in [4, 5, 31, 32, 33, 36, 37, 38, 43] {
            assert_eq!(Type::from_ggml_id(removed), None);
        }
        assert!("Q4_K_M".parse::<Type>().is_err());
    }

    #[test]
    fn bits_are_the_published_ones() {
        for (kind, bits) in [
            (Type::Q8_0, 8.5),
            (Type::Q6_K, 6.5625),
            (Type::Q5_K, 5.5),
            (Type::Q4_K, 4.5),
            (Type::Q3_K, 3.4375),
            (Type::Q2_K, 2.625),
            (Type::IQ4_XS, 4.25),
            (Type::IQ3_S, 3.4375),
            (Type::IQ3_XXS, 3.0625),
            (Type::IQ2_S, 2.5625),
            (Type::IQ2_XS, 2.3125),
            (Type::IQ2_XXS, 2.0625),
            (Type::IQ1_M, 1.75),
            (Type::IQ1_S, 1.5625),
            (Type::TQ1_0, 1.6875),
            (Type::TQ2_0, 2.0625),
            (Type::MXFP4, 4.25),
            (Type::NVFP4, 4.5),
            (Type::Q1_0, 1.125),
            (Type::Q2_0, 2.25),
        ] {
            assert!((kind.bits_per_element() - bits).abs() < 1e-9, "{kind}");
        }
    }

    #[test]
    fn rows_are_whole_blocks() {
        assert_eq!(Type::Q4_K.row_bytes(4096), Some(2304));
        assert_eq!(Type::Q4_K.row_bytes(2880), None);
        assert_eq!(Type::Q8_0.row_bytes(2880), Some(3060));
        assert_eq!(
            Type::F16.shape_bytes(&[4096, 4096, 8]),
            Some(Bytes::from_mib(256))
        );
        assert_eq!(Type::F32.shape_bytes(&[]), None);
        assert_eq!(Type::F32.shape_bytes(&[u64::MAX, 1]), None);
        assert_eq!(Type::Q8_0.shape_bytes(&[32, 1 << 60]), None);
    }
}
