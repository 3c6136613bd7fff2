use std::io;

use crate::model;
use crate::plain::quoted;
use crate::units::Bytes;

/// Why the files of a folder are no model: which file, and what is wrong with it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The list of files cannot be had.
    #[error("the files cannot be listed: {0}")]
    Listing(io::Error),
    /// One of the files is not as it should be.
    #[error("`{}` {reason}", quoted(.file))]
    File {
        /// Its name, as written.
        file: String,
        /// What is wrong with it.
        reason: Reason,
    },
    /// A configuration that is no model.
    #[error("{reason} in {file}")]
    Model {
        /// The configuration's name.
        file: String,
        /// What is wrong.
        reason: model::Error,
    },
    /// The same tensor in two files.
    #[error("the tensor `{}` is there twice", quoted(.0))]
    Twice(String),
    /// More tensors than any model has.
    #[error("there are more than {TENSORS} tensors")]
    Tensors,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// The system's reason.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    /// There is no such file.
    #[error("is missing: the download is not complete")]
    Missing,
    /// Larger than any of its kind.
    #[error("is larger than {limit}, the most that is read")]
    TooLarge {
        /// The most.
        limit: Bytes,
    },
    /// Not UTF-8.
    #[error("is not text")]
    NotText,
    /// Not JSON; with line and column.
    #[error("is not sound JSON: {0}")]
    Json(String),
    /// JSON of the wrong shape.
    #[error("{0}")]
    Shape(String),
    /// What Git leaves where large files were not fetched.
    #[error("is a Git LFS pointer, not the file: `git lfs pull` fetches it")]
    Pointer,
    /// Cut off.
    #[error("holds {held} of {claimed} bytes: the download is not complete")]
    Truncated {
        /// Bytes there are.
        held: u64,
        /// Bytes there should be.
        claimed: u64,
    },
    /// More than its header describes.
    #[error("has {bytes} bytes behind its last tensor")]
    Longer {
        /// How many.
        bytes: u64,
    },
    /// Some other kind of file.
    #[error("is no safetensors file")]
    NotSafetensors,
    /// A header that no file has.
    #[error("claims a header of {claimed} bytes, more than the {limit} that are read")]
    Header {
        /// What it claims.
        claimed: u64,
        /// The most.
        limit: Bytes,
    },
    /// A header that contradicts itself.
    #[error("is no sound safetensors file: {0}")]
    Unsound(String),
    /// A name that does not show as itself.
    #[error("has a tensor with control characters in its name, `{0}`")]
    Name(String),
    /// An index that leads elsewhere.
    #[error("names `{0}`, which is no file of the folder")]
    Outside(String),
}

/// Most tensors of a model. Kimi-K2, with 384 experts in 61 layers, has about 200,000 with their scales.
pub(super) const TENSORS: usize = 2_000_000;

impl Reason {
    /// With the file that it is about.
    pub(super) fn of(self, file: &str) -> Error {
        Error::File {
            file: file.to_owned(),
            reason: self,
        }
    }
}
