/// How the weights of some modules are stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scheme {
    /// The stored weights.
    pub weights: Format,
    /// What activations are turned into at run time; `None` where they stay as they are.
    pub activations: Option<Format>,
    /// Modules, or patterns of names, that it is for; empty: all that are quantized.
    pub targets: Vec<String>,
}

/// Numbers of few bits, with scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// Bits of each.
    pub bits: u64,
    /// Floating point (FP8, FP4) rather than whole numbers.
    pub float: bool,
    /// What shares a scale.
    pub grouping: Grouping,
    /// No zero points beside the scales.
    pub symmetric: bool,
}

/// What shares a scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Grouping {
    /// A whole tensor, or whatever the method has as its only way.
    #[default]
    Tensor,
    /// A row of the matrix: one output channel, or one token.
    Channel,
    /// So many elements of a row.
    Group(u64),
    /// A tile of rows and columns.
    Block(u64, u64),
}

impl Format {
    /// Whole numbers without zero points.
    pub(super) const fn int(bits: u64, grouping: Grouping) -> Self {
        Self {
            bits,
            float: false,
            grouping,
            symmetric: true,
        }
    }

    /// Floating-point numbers.
    pub(super) const fn float(bits: u64, grouping: Grouping) -> Self {
        Self {
            float: true,
            ..Self::int(bits, grouping)
        }
    }
}

impl From<Format> for Scheme {
    fn from(weights: Format) -> Self {
        Self {
            weights,
            activations: None,
            targets: Vec::new(),
        }
    }
}
