//! Presets: models, GPUs and machines, embedded and from the user's folder.
