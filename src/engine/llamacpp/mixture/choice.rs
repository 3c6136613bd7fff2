//! The type meant for a tensor, before its shape is looked at (`llama_tensor_get_type_impl` in `src/llama-quant.cpp`,
//! 0.6.0-dev; the branches of architectures without a model here left out).

use super::category::{Category, Named};
use super::{FileType, Tensor, Traits};
use crate::quant::Type;

/// The quantizer's state over one file.
pub(super) struct Choice {
    traits: Traits,
    file_type: FileType,
    imatrix: bool,
    tied: bool,
    values: Counter,
    downs: Counter,
    gates: Counter,
    ups: Counter,
}

/// Tensors of one kind: how many came, how many the quantizer expects.
#[derive(Clone, Copy)]
struct Counter {
    seen: u64,
    expected: u64,
}

impl Counter {
    /// The place of the tensor at hand, counting it.
    fn next(&mut self) -> (u64, u64) {
        let index = self.seen;
        self.seen += 1;
        (index, self.expected)
    }
}

/// About half of all layers: the first and last eighth and every third between (`use_more_bits`).
fn more_bits((index, count): (u64, u64)) -> bool {
    let eighth = count / 8;
    index < eighth
        || index >= 7 * count / 8
        || index
            .checked_sub(eighth)
            .is_some_and(|between| between % 3 == 2)
}

impl Choice {
    pub(super) fn new(names: &[Named], traits: Traits, file_type: FileType, imatrix: bool) -> Self {
        let count = |wanted: fn(Category) -> bool| {
            names.iter().filter(|named| wanted(named.category)).count() as u64
        };
        let per_block = Counter {
            seen: 0,
            expected: traits.blocks,
        };
        Self {
            traits,
            file_type,
            imatrix,
            tied: count(|category| category == Category::Output) == 0,
            values: Counter {
                seen: 0,
                expected: count(Category::is_value),
            },
            downs: per_block,
            gates: per_block,
            ups: per_block,
        }
    }

    /// The type meant for the next tensor.
    pub(super) fn next(&mut self, tensor: &Tensor, category: Category) -> Type {
        let kind = self.file_type.default_type();
        if category == Category::Output || (self.tied && category == Category::Embedding) {
            return self.output(kind, tensor);
        }
        if self.file_type == FileType::MXFP4_MOE {
            let stacked = tensor.shape[2] > 1;
            return if stacked { Type::MXFP4 } else { Type::Q8_0 };
        }
        match category {
            Category::Embedding => self.embedding(kind),
            _ if self.is_tiny() => self.tiny(kind, category),
            Category::AttentionV | Category::AttentionQkv | Category::AttentionKvB => {
                self.value(kind)
            }
            Category::AttentionK => self.key(kind),
            Category::AttentionQ => self.query(kind),
            Category::Down => self.down(kind, tensor),
            Category::AttentionOutput => self.attention_output(kind),
            Category::Gate => {
                let place = self.gates.next();
                self.inner(kind, self.place(place, tensor))
            }
            Category::Up => {
                let place = self.ups.next();
                self.inner(kind, self.place(place, tensor))
            }
            Category::Output | Category::Other => kind,
        }
    }

    /// Where a layer stands. With experts the block's own number counts, since their tensors are not consecutive.
    fn place(&self, (index, count): (u64, u64), tensor: &Tensor) -> (u64, u64) {
        let block = match tensor.layer {
            super::super::tensors::Layer::Block(block) => u64::from(block),
            _ => index,
        };
        let index = if self.traits.experts > 1 {
            block
        } else {
            index
        };
        (index, count)
    }

    fn output(&self, kind: Type, tensor: &Tensor) -> Type {
        use FileType as F;
        let fits = tensor.shape[0].is_multiple_of(kind.block_elements());
        match self.file_type {
            F::MXFP4_MOE => Type::Q8_0,
            _ if !fits => Type::Q8_0,
            F::IQ2_XXS | F::IQ2_XS | F::IQ3_XXS | F::IQ1_S | F::IQ2_S | F::IQ2_M | F::IQ1_M => {
                Type::Q5_K
            }
            _ if kind == Type::Q8_0 => kind,
            _ => Type::Q6_K,
        }
    }

    fn embedding(&self, kind: Type) -> Type {
        use FileType as F;
        match self.file_type {
            F::IQ2_XXS | F::IQ2_XS | F::IQ1_S | F::IQ1_M => Type::Q2_K,
            F::IQ2_S | F::IQ2_M | F::IQ3_XXS => Type::IQ3_S,
            F::TQ1_0 | F::TQ2_0 | F::Q2_0 => Type::Q4_K,
            _ => kind,
        }
    }

    /// File types of about two bits and less have rules of their own.
    fn is_tiny(&self) -> bool {
        use FileType as F;
        matches!(
            self.file_type,
            F::IQ2_XXS | F::IQ2_XS | F::IQ1_S | F::IQ2_S | F::IQ2_M | F::IQ1_M
        )
    }

    fn tiny(&mut self, kind: Type, category: Category) -> Type {
        use FileType as F;
        let larger = matches!(self.file_type, F::IQ2_S | F::IQ2_M);
        let eight = self.traits.experts == 8;
        let spared = if larger { Type::IQ3_S } else { Type::Q2_K };
        match category {
            _ if category.is_value() => {
                self.values.next();
                if self.traits.queries_per_key >= 4 || self.traits.experts >= 4 {
                    Type::Q4_K
                } else {
                    spared
                }
            }
            Category::AttentionK if eight => Type::Q4_K,
            Category::Down => {
                let (index, count) = self.downs.next();
                if index < count / 8 { spared } else { kind }
            }
            Category::AttentionOutput if eight => Type::Q5_K,
            Category::AttentionOutput if larger => Type::IQ3_S,
            Category::AttentionOutput if matches!(self.file_type, F::IQ1_S | F::IQ1_M) => {
                Type::IQ2_XXS
            }
            _ => kind,
        }
    }

    fn value(&mut self, kind: Type) -> Type {
        use FileType as F;
        let place = self.values.next();
        let grouped = self.traits.queries_per_key >= 4;
        let chosen = match self.file_type {
            F::Q2_K | F::Q2_K_S | F::IQ3_XXS | F::IQ3_XS | F::IQ3_S if grouped => Type::Q4_K,
            F::Q2_K => Type::Q3_K,
            F::IQ3_XXS if !self.imatrix => Type::IQ3_S,
            F::Q3_K_M if place.0 < 2 => Type::Q5_K,
            F::Q3_K_M | F::IQ3_M => Type::Q4_K,
            F::Q3_K_L => Type::Q5_K,
            F::IQ4_NL | F::IQ4_XS if grouped => Type::Q5_K,
            F::Q4_K_M | F::Q5_K_M if more_bits(place) => Type::Q6_K,
            F::Q4_K_S if place.0 < 4 => Type::Q5_K,
            _ => kind,
        };
        if self.traits.experts == 8 {
            return Type::Q8_0;
        }
        match chosen {
            Type::Q3_K | Type::Q4_K if self.traits.is_70b => Type::Q5_K,
            _ => chosen,
        }
    }

    fn key(&self, kind: Type) -> Type {
        if self.traits.experts == 8 {
            return Type::Q8_0;
        }
        self.query(kind)
    }

    fn query(&self, kind: Type) -> Type {
        match self.file_type {
            FileType::IQ3_XS => Type::IQ3_XXS,
            FileType::IQ3_XXS => Type::IQ2_S,
            _ => kind,
        }
    }

    fn down(&mut self, kind: Type, tensor: &Tensor) -> Type {
        use FileType as F;
        let place = self.downs.next();
        let place = self.place(place, tensor);
        let (index, count) = place;
        let first_eighth = index < count / 8;
        match self.file_type {
            F::Q2_K => Type::Q3_K,
            F::Q2_K_S if first_eighth => Type::Q4_K,
            F::IQ3_XXS if !self.imatrix && first_eighth => Type::Q4_K,
            F::IQ3_XXS if !self.imatrix => Type::Q3_K,
            F::Q3_K_M if index < count / 16 => Type::Q5_K,
            F::Q3_K_M => Type::Q4_K,
            F::IQ3_M if first_eighth || (self.traits.experts == 8 && more_bits(place)) => {
                Type::Q4_K
            }
            F::Q3_K_L => Type::Q5_K,
            F::Q4_K_M | F::Q5_K_M if more_bits(place) => Type::Q6_K,
            F::IQ4_NL | F::IQ4_XS if first_eighth && !self.imatrix => Type::Q5_K,
            F::Q4_K_S if first_eighth => Type::Q5_K,
            F::Q4_0 if self.imatrix && first_eighth => Type::Q4_1,
            F::Q5_0 if self.imatrix && first_eighth => Type::Q5_1,
            _ => kind,
        }
    }

    fn attention_output(&self, kind: Type) -> Type {
        use FileType as F;
        if self.traits.experts == 8 {
            return match self.file_type {
                F::Q2_K
                | F::IQ3_XS
                | F::IQ3_XXS
                | F::Q3_K_S
                | F::Q3_K_M
                | F::IQ4_NL
                | F::Q4_K_S
                | F::Q4_K_M
                | F::IQ3_S
                | F::IQ3_M
                | F::IQ4_XS => Type::Q5_K,
                _ => kind,
            };
        }
        match self.file_type {
            F::Q2_K => Type::Q3_K,
            F::IQ3_XXS => Type::IQ3_S,
            F::Q3_K_M | F::IQ3_M => Type::Q4_K,
            F::Q3_K_L => Type::Q5_K,
            _ => kind,
        }
    }

    /// Up and gate.
    fn inner(&self, kind: Type, (index, count): (u64, u64)) -> Type {
        let middle = index >= count / 8 && index < 7 * count / 8;
        if self.file_type == FileType::IQ3_XS && middle {
            Type::IQ3_XXS
        } else {
            kind
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_layers_get_more_bits() {
        let chosen: Vec<u64> = (0..32).filter(|index| more_bits((*index, 32))).collect();
        assert_eq!(
            chosen,
            [0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31]
        );
    }
}
