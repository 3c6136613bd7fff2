//! Messages about what was done, or could not be.

/// A message that is shown until it is closed, or for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// What it is about; newer news of the same replace it.
    pub topic: Topic,
    /// What happened.
    pub text: String,
    /// Something failed: stays until it is closed.
    pub failed: bool,
    /// When it goes, in egui's seconds; set when it is first shown.
    pub until: Option<f64>,
}

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// Opening a file.
    Open,
    /// Writing a file.
    Save,
    /// The clipboard.
    Copy,
    /// Settings that the window chose.
    Fit,
    /// The file that the plan's model was read from.
    Source,
}
