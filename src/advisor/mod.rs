//! The best settings, found. Knows engines only through their trait, and uses nothing but projections.

pub mod fit;
mod fixes;

pub use fit::{Choice, Figures, FitRequest, Fitted, Impossible, Objective, fit};
pub use fixes::{fixes, hints};
