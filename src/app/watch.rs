//! Whether the files of the model on the desk are still as they were when they were read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use super::jobs::{Jobs, News, Task};

/// Time between two looks. Nobody waits for the answer.
const EVERY: Duration = Duration::from_secs(2);

/// How files are at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    files: usize,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    /// Of the files of the model at a path, as they are now.
    pub(crate) fn of(path: &Path) -> Self {
        let folder = if path.is_dir() {
            Some(path)
        } else {
            path.parent()
        };
        let mut stamp = Self {
            files: 0,
            bytes: 0,
            modified: None,
        };
        if !path.exists() {
            return stamp;
        }
        for file in crate::source::files::of(path) {
            let place = folder.unwrap_or(Path::new(".")).join(&file.name);
            let modified = place.metadata().and_then(|data| data.modified()).ok();
            stamp.files += 1;
            stamp.bytes = stamp.bytes.saturating_add(file.bytes);
            stamp.modified = stamp.modified.max(modified);
        }
        stamp
    }
}

/// The files that are watched.
#[derive(Default)]
pub(crate) struct Watch {
    of: Option<(PathBuf, Stamp)>,
    stop: Arc<AtomicBool>,
}

impl Watch {
    /// Watches these files and no others.
    pub(crate) fn follow(&mut self, source: Option<&(PathBuf, Stamp)>, jobs: &mut Jobs) {
        if self.of.as_ref() == source {
            return;
        }
        self.stop.store(true, Ordering::Relaxed);
        jobs.abandon(Task::Watch);
        self.of = source.cloned();
        let Some((path, stamp)) = source.cloned().filter(|_| jobs.on_threads()) else {
            return;
        };
        let stop = Arc::new(AtomicBool::new(false));
        self.stop = Arc::clone(&stop);
        jobs.start(Task::Watch, "watch", move |tell| {
            while Stamp::of(&path) == stamp {
                std::thread::sleep(EVERY);
                if stop.load(Ordering::Relaxed) {
                    return;
                }
            }
            tell(News::Changed(path));
        });
    }

    /// Looks now: the user comes back to the window, perhaps from changing a file.
    pub(crate) fn look(&self, jobs: &mut Jobs) {
        let Some((path, stamp)) = self.of.clone().filter(|_| !jobs.on_threads()) else {
            return;
        };
        jobs.start(Task::Watch, "watch", move |tell| {
            if Stamp::of(&path) != stamp {
                tell(News::Changed(path));
            }
        });
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
