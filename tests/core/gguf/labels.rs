//! What the form of a file's weights is called: by its name or its header as far as its tensors bear them out.

use plimsoll::engine::llamacpp::file_type::FileType;
use plimsoll::engine::llamacpp::tensors::TensorTable;
use plimsoll::quality;
use plimsoll::source::gguf;

use super::file::{Folder, Writer};
use super::round_trip::preset;

/// The label of a file of this name whose header has this number, with tensors as the quantizer makes them.
fn label(name: &str, header: Option<u32>, tensors: FileType) -> String {
    let table = TensorTable::new(&preset("Llama-3.1-8B-Instruct"), tensors, false);
    let mut writer = Writer::new();
    writer.key("general.architecture", &"llama".into());
    if let Some(number) = header {
        writer.key("general.file_type", &number.into());
    }
    let folder = Folder::of(name, writer.table(&table.expect("a table")).file());
    let file = gguf::read(&folder, name).expect("a file");
    file.checkpoint.label.clone().expect("a label")
}

/// Numbers of `llama_ftype`.
const Q2_K: Option<u32> = Some(10);
const Q8_0: Option<u32> = Some(7);
const Q4_K_M: Option<u32> = Some(15);

#[test]
fn what_the_tensors_bear_out_is_believed() {
    for (name, header, tensors, expected) in [
        ("m-Q4_K_M.gguf", Q4_K_M, FileType::Q4_K_M, "Q4_K_M"),
        ("m.gguf", Q4_K_M, FileType::Q4_K_M, "Q4_K_M"),
        // A dynamic mixture is named by its maker, and its header by one of its types.
        ("m-UD-Q4_K_XL.gguf", Q4_K_M, FileType::Q4_K_M, "UD-Q4_K_XL"),
        ("m-UD-Q3_K_XL.gguf", Q2_K, FileType::Q3_K_M, "UD-Q3_K_XL"),
        // One of two is right.
        ("m-Q2_K.gguf", Q8_0, FileType::Q8_0, "Q8_0"),
        ("m-Q8_0.gguf", Q2_K, FileType::Q8_0, "Q8_0"),
    ] {
        assert_eq!(label(name, header, tensors), expected, "{name} {header:?}");
    }
}

#[test]
fn what_they_belie_is_called_as_they_are() {
    for (name, header, tensors, expected) in [
        ("m-Q2_K.gguf", Q2_K, FileType::Q8_0, "Q8_0"),
        ("m-UD-Q2_K_XL.gguf", Q2_K, FileType::Q4_K_M, "Q4_K mix"),
        ("m.gguf", None, FileType::Q4_K_M, "Q4_K mix"),
        ("m.gguf", None, FileType::BF16, "BF16"),
    ] {
        assert_eq!(label(name, header, tensors), expected, "{name} {header:?}");
    }
    // The loss is quoted by this name; of a mixture without measurements, by its bits.
    assert!(quality::of_weights("Q8_0").is_some());
    assert!(quality::of_weights("Q4_K mix").is_none());
}
