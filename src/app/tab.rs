//! The pictures of the centre.

use super::texts::Texts;

/// A picture in the centre.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tab {
    /// Bars and table.
    #[default]
    Memory,
    /// Memory against a setting.
    Curves,
    /// What else would be good.
    Options,
    /// What the model is.
    Model,
}

impl Tab {
    /// Every tab, in order.
    pub const ALL: [Self; 4] = [Self::Memory, Self::Curves, Self::Options, Self::Model];

    /// What the tab is called.
    pub const fn text(self, texts: &Texts) -> &'static str {
        match self {
            Self::Memory => texts.tab_memory,
            Self::Curves => texts.tab_curves,
            Self::Options => texts.tab_options,
            Self::Model => texts.tab_model,
        }
    }
}
