//! Model files by file type.

use serde_json::Value as Json;

use crate::catalog::models::ModelCatalog;
use crate::engine::llamacpp::file_type::FileType;
use crate::engine::llamacpp::tensors::TensorTable;

use super::{Accuracy, Outcome};

/// A file's tensor bytes.
#[derive(Clone, Debug)]
pub struct Size {
    /// Model and file type.
    pub name: String,
    /// By our tensor table.
    pub projected: u64,
    /// By the engine's quantizer.
    pub reported: u64,
}

impl Size {
    /// As a share of the reported size.
    pub fn error(&self) -> f64 {
        if self.reported == 0 {
            return 0.0;
        }
        (self.projected as f64 / self.reported as f64 - 1.0).abs()
    }
}

impl Accuracy {
    pub(super) fn size(&mut self, row: &Json, catalog: &ModelCatalog) -> Outcome<Size> {
        let word = |name: &str| row.get(name).and_then(Json::as_str);
        let (Some(id), Some(file_type), Some(reported)) = (
            word("preset").or_else(|| word("model")),
            word("ftype"),
            row.get("tensor_bytes").and_then(Json::as_u64),
        ) else {
            return Outcome::NotThis;
        };
        let imatrix = row.get("imatrix") == Some(&Json::Bool(true));
        let Some(model) = self.model(id, None, catalog) else {
            return Outcome::NoPreset(id.to_owned());
        };
        let table = file_type
            .parse::<FileType>()
            .ok()
            .and_then(|file_type| TensorTable::new(model, file_type, imatrix).ok());
        let Some(table) = table else {
            return Outcome::NotThis;
        };
        Outcome::Compared(Size {
            name: format!("{id} {file_type}{}", if imatrix { " imatrix" } else { "" }),
            projected: table.file_bytes().get(),
            reported,
        })
    }
}
