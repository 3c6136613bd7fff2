//! What a model is: hyper-parameters, attention kinds, experts, tensors, parameter counts.

/// A model, as its configuration or file describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// What to call it.
    pub name: String,
}
