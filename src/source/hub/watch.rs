//! The person who waits: sees how far reading is, and may stop it at any time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::Error;

/// How far reading is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The file that is read.
    pub what: &'a str,
    /// Bytes received of everything so far.
    pub bytes: u64,
}

/// Who is told, and who may stop it.
pub struct Watch<'a> {
    cancel: &'a AtomicBool,
    tell: &'a (dyn Fn(Progress<'_>) + Sync),
    received: AtomicU64,
}

impl<'a> Watch<'a> {
    /// Reading stops soon after `cancel` is set; `tell` hears of what arrives, on the thread that reads it.
    pub fn new(cancel: &'a AtomicBool, tell: &'a (dyn Fn(Progress<'_>) + Sync)) -> Self {
        Self {
            cancel,
            tell,
            received: AtomicU64::new(0),
        }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        if self.cancel.load(Ordering::Relaxed) {
            Err(Error::Cancelled)
        } else {
            Ok(())
        }
    }

    pub(super) fn tell(&self, what: &str, more: u64) {
        let before = self.received.fetch_add(more, Ordering::Relaxed);
        (self.tell)(Progress {
            what,
            bytes: before.saturating_add(more),
        });
    }

    /// Bytes received so far.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}
