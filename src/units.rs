//! Quantities with a unit.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};

use serde::{Deserialize, Serialize};

/// A number of bytes. Arithmetic saturates: a projection of an absurd plan is absurdly large, never wrapped.
///
/// `{}` prints GiB with two decimals, small sizes in MiB, KiB or B; `{:#}` the exact number of bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(u64);

/// 2^10 bytes.
pub const KIB: u64 = 1 << 10;
/// 2^20 bytes.
pub const MIB: u64 = 1 << 20;
/// 2^30 bytes.
pub const GIB: u64 = 1 << 30;

const TENTH_OF_A_GIB: u64 = GIB / 10;

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// Exactly `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// `mib` times 2^20 bytes.
    pub const fn from_mib(mib: u64) -> Self {
        Self(mib.saturating_mul(MIB))
    }

    /// `gib` times 2^30 bytes.
    pub const fn from_gib(gib: u64) -> Self {
        Self(gib.saturating_mul(GIB))
    }

    /// The exact number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// In MiB (2^20), for display and comparison with logs.
    pub fn as_mib(self) -> f64 {
        self.0 as f64 / MIB as f64
    }

    /// In GiB (2^30), for display.
    pub fn as_gib(self) -> f64 {
        self.0 as f64 / GIB as f64
    }

    /// The difference, zero where `other` is larger.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The signed difference `self - other`, saturating at the ends of `i64`.
    pub fn signed_sub(self, other: Self) -> i64 {
        let difference = i128::from(self.0) - i128::from(other.0);
        i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
    }

    /// `self * numerator / denominator` without intermediate overflow; zero where the denominator is zero.
    #[must_use]
    pub fn mul_ratio(self, numerator: u64, denominator: u64) -> Self {
        if denominator == 0 {
            return Self::ZERO;
        }
        let product = u128::from(self.0) * u128::from(numerator) / u128::from(denominator);
        Self(u64::try_from(product).unwrap_or(u64::MAX))
    }

    /// Rounded up to a multiple of `alignment` (itself where `alignment` is zero).
    #[must_use]
    pub fn align_up(self, alignment: u64) -> Self {
        match self.0.checked_next_multiple_of(alignment) {
            Some(aligned) => Self(aligned),
            None if alignment == 0 => self,
            None => Self(u64::MAX),
        }
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return write!(f, "{} B", self.0);
        }
        // Two decimals of the next larger unit would hide the value; engines print MiB there too.
        match self.0 {
            0 => f.write_str("0 GiB"),
            1..KIB => write!(f, "{} B", self.0),
            KIB..MIB => write!(f, "{:.1} KiB", self.0 as f64 / KIB as f64),
            MIB..TENTH_OF_A_GIB => write!(f, "{:.1} MiB", self.as_mib()),
            _ => write!(f, "{:.2} GiB", self.as_gib()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_with_a_unit() {
        assert_eq!(Bytes::from_gib(3).to_string(), "3.00 GiB");
        assert_eq!(Bytes::from_mib(12).to_string(), "12.0 MiB");
        assert_eq!(format!("{:#}", Bytes::new(7)), "7 B");
        assert_eq!(Bytes::new(70_272).to_string(), "68.6 KiB");
        assert_eq!(Bytes::new(34).to_string(), "34 B");
        assert_eq!(Bytes::ZERO.to_string(), "0 GiB");
    }

    #[test]
    fn saturates_instead_of_wrapping() {
        assert_eq!(Bytes::new(u64::MAX) + Bytes::new(1), Bytes::new(u64::MAX));
        assert_eq!(Bytes::from_gib(u64::MAX), Bytes::new(u64::MAX));
        assert_eq!(Bytes::ZERO.signed_sub(Bytes::new(u64::MAX)), i64::MIN);
        assert_eq!(
            Bytes::new(u64::MAX).mul_ratio(u64::MAX, 1),
            Bytes::new(u64::MAX)
        );
        assert_eq!(Bytes::new(5).mul_ratio(1, 0), Bytes::ZERO);
        assert_eq!(Bytes::new(u64::MAX).align_up(256), Bytes::new(u64::MAX));
    }
}
