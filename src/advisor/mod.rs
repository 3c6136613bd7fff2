//! The best settings, found. Knows engines only through their trait, and uses nothing but projections.

pub mod fit;
mod fixes;
mod price;

pub use fit::{Choice, Figures, FitRequest, Fitted, Impossible, Objective, fit};
pub use fixes::{fixes, hints, larger_margin};

/// A number of tokens per second as people say it.
fn rounded(number: f64) -> String {
    if number < 10.0 {
        format!("{number:.1}")
    } else {
        format!("{number:.0}")
    }
}
