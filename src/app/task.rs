//! Kinds of work beside the window.

/// A kind of work; at most one of each kind runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Looking at the machine.
    Detect,
    /// A dialog is open.
    Choose,
    /// Reading what was opened.
    Open,
    /// Reading a plan's model.
    Model,
    /// Reading a plan's draft model.
    Draft,
    /// Reading the plans beside a plan.
    Beside,
    /// Writing a file.
    Save,
    /// Sweeping a setting for the curves.
    Sweep,
    /// Looking for the best settings.
    Fit,
    /// Asking what experts in main memory cost.
    Price,
    /// Looking for models on this computer.
    Scan,
    /// Saying what the model is.
    Inspect,
    /// Watching the model's file.
    Watch,
    /// Reading from a hub.
    Fetch,
    /// Keeping a model as a preset.
    Keep,
}
