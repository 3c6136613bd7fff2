//! Speculative decoding: the draft model or the prediction blocks, with contexts of their own.

mod speculation;

pub(super) use speculation::{SpecType, Speculation};
