//! Tensor and cache formats: block sizes and the bytes of a shape.
