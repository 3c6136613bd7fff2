//! What a change gives up, by the same figures as choices are compared by.

use crate::engine::traffic::Traffic;
use crate::engine::{Engine, Inputs};
use crate::speed;

/// Less than this part of a figure is no difference that anyone would choose by.
pub(super) const NOTICEABLE: f64 = 0.05;

/// What a plan does, whether or not it fits.
pub(super) struct Work {
    /// Tokens per second of one user, where that can be told.
    decode: Option<f64>,
    context: u64,
    slots: u64,
    file_bytes: u64,
}

impl Work {
    /// `None` where the engine cannot tell.
    pub(super) fn of(engine: &dyn Engine, inputs: &Inputs<'_>) -> Option<Self> {
        let traffic = engine.traffic(inputs)?;
        let speed = speed::estimate(&traffic, inputs.machine).ok();
        let Traffic {
            context,
            slots,
            file_bytes,
            ..
        } = traffic;
        Some(Self {
            decode: speed.map(|speed| speed.decode.likely),
            context,
            slots,
            file_bytes: file_bytes.get(),
        })
    }
}

/// What is given up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Price {
    /// The largest part of any figure that is lost: speed, context, users or bits. Formats of caches have no price: engines
    /// offer none that can be told from the original.
    lost: f64,
    /// Tokens per second afterwards and before, where that is noticed.
    slower: Option<(f64, f64)>,
}

impl Price {
    /// Of a change from one plan to another.
    pub(super) fn of(before: Option<&Work>, after: Option<&Work>) -> Self {
        let (Some(before), Some(after)) = (before, after) else {
            return Self::default();
        };
        let lost = |after: f64, before: f64| 1.0 - after / before.max(f64::MIN_POSITIVE);
        let parts = [
            lost(after.context as f64, before.context as f64),
            lost(after.slots as f64, before.slots as f64),
            lost(after.file_bytes as f64, before.file_bytes as f64),
        ];
        let speeds = after.decode.zip(before.decode);
        let slowed = speeds.map_or(0.0, |(after, before)| lost(after, before));
        Self {
            lost: parts.into_iter().fold(slowed.max(0.0), f64::max),
            slower: speeds.filter(|_| slowed >= NOTICEABLE),
        }
    }

    /// In steps that are noticed.
    pub(super) fn steps(&self) -> u8 {
        // From 0 to 1 over a twentieth.
        (self.lost / NOTICEABLE) as u8
    }

    /// ", at about 2.1 instead of 5.2 tokens/s", or nothing.
    pub(super) fn text(&self) -> String {
        self.slower.map_or_else(String::new, |(after, before)| {
            let rounded = crate::advisor::rounded;
            format!(
                ", at about {} instead of {} tokens/s",
                rounded(after),
                rounded(before)
            )
        })
    }
}
