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
}

impl Tab {
    /// Every tab, in order.
    pub const ALL: [Self; 2] = [Self::Memory, Self::Curves];

    /// What the tab is called.
    pub const fn text(self, texts: &Texts) -> &'static str {
        match self {
            Self::Memory => texts.tab_memory,
            Self::Curves => texts.tab_curves,
        }
    }
}
