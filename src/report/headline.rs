//! The one sentence above the bars, as data and in English.

use super::{DeviceKind, DeviceReport, Report, Verdict};
use crate::projection::Severity;
use crate::units::Bytes;

impl Report {
    /// The device that decides: the fullest of those that this plan uses, GPUs before the host where both have room.
    pub fn tightest(&self) -> Option<&DeviceReport> {
        let used = || {
            self.devices
                .iter()
                .filter(|device| device.total() != Bytes::ZERO)
        };
        let over = used()
            .filter(|device| device.free() < 0)
            .min_by_key(|device| device.free());
        let gpus = used().filter(|device| device.kind != DeviceKind::Host);
        over.or_else(|| gpus.min_by_key(|device| device.free()))
            .or_else(|| used().next())
    }

    /// It is tight only because this projection counts what the engine's own choice of layers leaves to the margin.
    pub fn margin_kept_by_engine(&self) -> bool {
        self.verdict == Verdict::Tight
            && self
                .notes
                .iter()
                .any(|note| note.code == super::MARGIN_KEPT_BY_ENGINE)
    }

    /// The verdict in one English sentence: "Fits with 1.80 GiB to spare on gpu0".
    pub fn sentence(&self) -> String {
        if self.verdict == Verdict::Refused {
            let reason = self
                .notes
                .iter()
                .find(|note| note.severity == Severity::Error);
            let reason = reason.map_or("the engine would not start", |note| note.message.as_str());
            return format!("Refused: {reason}");
        }
        let Some(device) = self.tightest() else {
            return "Nothing is allocated".to_owned();
        };
        let bytes = Bytes::new(device.free().unsigned_abs());
        let id = &device.id;
        match self.verdict {
            Verdict::Exceeds if self.lower_bound => format!(
                "Does not fit: at least {bytes} over on {id}, and only the weights are counted"
            ),
            Verdict::Tight if self.lower_bound => format!(
                "At least {} of {} on {id}: only the weights are known, not whether it fits",
                device.total(),
                device.capacity
            ),
            Verdict::Exceeds => format!("Does not fit: {bytes} over on {id}"),
            Verdict::Tight if self.margin_kept_by_engine() => {
                format!("Tight, as the engine fits it: {bytes} to spare on {id}")
            }
            Verdict::Tight => format!("Tight: only {bytes} to spare on {id}"),
            _ => format!("Fits with {bytes} to spare on {id}"),
        }
    }
}
