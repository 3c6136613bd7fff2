//! Models on this computer, found in trees as programs leave them.

mod bounds;
mod broken;
mod duplicates;
mod files;
mod programs;
mod usable;

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use plimsoll::hardware::Os;
use plimsoll::source::library::{self, Found, Library, Places};

/// A computer with an empty home.
struct Computer {
    folder: tempfile::TempDir,
    places: Places,
    folders: Vec<PathBuf>,
}

impl Computer {
    fn new(os: Os) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir(&home).unwrap();
        Self {
            places: Places {
                home: Some(home),
                environment: BTreeMap::new(),
                os,
                root: folder.path().to_owned(),
            },
            folder,
            folders: Vec::new(),
        }
    }

    fn linux() -> Self {
        Self::new(Os::Linux)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Writes a file and the folders above it.
    fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// A file that begins as GGUF files do and is of its own content.
    fn gguf(&self, path: &str) -> PathBuf {
        self.write(path, content(path))
    }

    #[cfg(unix)]
    fn link(&self, target: &str, path: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, &path).unwrap();
        path
    }

    fn set(&mut self, variable: &str, path: &str) {
        let path = self.path(path).to_str().unwrap().to_owned();
        self.places.environment.insert(variable.to_owned(), path);
    }

    fn add(&mut self, path: &str) {
        self.folders.push(self.path(path));
    }

    fn scan(&self) -> Library {
        library::scan(&self.places, &self.folders, &mut |_| {
            ControlFlow::Continue(())
        })
    }

    /// A path as it is below the computer's root.
    fn short(&self, path: &Path) -> String {
        let path = path.strip_prefix(self.folder.path()).unwrap_or(path);
        path.to_string_lossy().replace('\\', "/")
    }

    /// The titles found, in order, each with its library and path.
    fn titles(&self) -> Vec<String> {
        let library = self.scan();
        assert_eq!(library.broken, [], "nothing here is broken");
        library.models.iter().map(|model| self.row(model)).collect()
    }

    fn row(&self, model: &Found) -> String {
        let quant = model.quant.as_deref().unwrap_or("-");
        let library = model.places[0].library;
        format!(
            "{} {quant} {library} {}",
            model.title,
            self.short(&model.path)
        )
    }

    /// The complaints, each with its path.
    fn complaints(&self) -> Vec<String> {
        let library = self.scan();
        let broken = library.broken.iter();
        broken
            .map(|broken| format!("{}: {}", self.short(&broken.path), broken.reason))
            .collect()
    }
}

/// The smallest GGUF file that is a model; its name tells it from others.
fn content(name: &str) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let mut content = b"GGUF\x03\0\0\0".to_vec();
    content.extend(1_u64.to_le_bytes());
    content.extend(2_u64.to_le_bytes());
    for (key, value) in [
        ("general.architecture", "of-tomorrow"),
        ("general.name", name),
    ] {
        content.extend(text(key));
        content.extend(8_u32.to_le_bytes());
        content.extend(text(value));
    }
    content.extend(text("token_embd.weight"));
    content.extend(1_u32.to_le_bytes());
    content.extend(8_u64.to_le_bytes());
    content.extend([0; 12]);
    content.resize(content.len().next_multiple_of(32) + 32, 0);
    content
}

/// A configuration of a small model, with further fields.
fn config(more: &str) -> String {
    format!(
        r#"{{{more}{}"model_type": "llama", "hidden_size": 64, "vocab_size": 100, "num_hidden_layers": 1,
        "num_attention_heads": 4, "intermediate_size": 128, "max_position_embeddings": 512}}"#,
        if more.is_empty() { "" } else { ", " }
    )
}

/// A safetensors file with one small tensor of this name.
fn tensors(name: &str) -> Vec<u8> {
    let header = format!(r#"{{"{name}":{{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}}}"#);
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend([0; 16]);
    file
}
