//! The cache of llama.cpp: `LLAMA_CACHE`, or `llama.cpp` in the system's folder for caches.
//!
//! Source: `fs_get_cache_directory`, 0.6.0-dev `common/common.cpp`. Older builds keep files flat in it, with slashes of
//! the repository's name turned to `_` and a `.json` beside each that has the address it came from; newer ones keep
//! them as Hugging Face does (`common/hf-cache.cpp`), in `LLAMA_CACHE` too.

use std::path::{Path, PathBuf};

use super::files::{self, Origin};
use super::scan::{DEPTH, Scan};
use super::{Places, Shelf};

/// The cache of llama.cpp.
pub(super) struct LlamaCpp;

impl Shelf for LlamaCpp {
    fn name(&self) -> &'static str {
        "llama.cpp"
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        let default = || Some(places.cache()?.join("llama.cpp"));
        places
            .variable("LLAMA_CACHE")
            .or_else(default)
            .into_iter()
            .collect()
    }

    fn read(&self, root: &Path, scan: &mut Scan<'_>) {
        files::walk(root, &Origin::default(), DEPTH, scan);
    }
}
