//! Models in several files.

use plimsoll::source::gguf;
use serde_json::{Map, json};

use super::file::{Folder, Writer};

/// Three parts with two tensors each.
fn set() -> Folder {
    let mut folder = Folder::default();
    for part in 0..3_u64 {
        let mut writer = Writer::new();
        if part == 0 {
            writer
                .key("general.architecture", &json!("llama"))
                .key("llama.block_count", &json!(2));
        }
        writer
            .key("split.no", &json!(part))
            .key("split.count", &json!(3))
            .key("split.tensors.count", &json!(6));
        for tensor in 0..2 {
            writer.tensor(&format!("t{part}.{tensor}"), &[32, 3], 8, 34 * 3);
        }
        let name = format!("m-{:05}-of-00003.gguf", part + 1);
        folder.0.insert(name, writer.file());
    }
    folder
}

#[test]
fn any_part_leads_to_the_others() {
    let folder = set();
    for name in ["m-00001-of-00003.gguf", "m-00003-of-00003.gguf"] {
        let file = gguf::read(&folder, name).expect(name);
        assert_eq!(file.files.len(), 3);
        assert_eq!(file.name(), "m-00001-of-00003.gguf");
        assert_eq!(file.title(), "m");
        assert_eq!(file.checkpoint.bytes.get(), 6 * 102);
        let names: Vec<&str> = file
            .checkpoint
            .tensors
            .iter()
            .map(|t| t.name.as_str())
            .collect();
        assert_eq!(names, ["t0.0", "t0.1", "t1.0", "t1.1", "t2.0", "t2.1"]);
        assert_eq!(file.metadata.text("general.architecture"), Some("llama"));
        assert_eq!(file.kind, gguf::Kind::Model);
    }
}

fn reason(folder: &Folder, name: &str) -> String {
    gguf::read(folder, name).expect_err(name).to_string()
}

#[test]
fn what_is_wrong_with_a_set_is_said() {
    let mut lacking = set();
    lacking.0.remove("m-00002-of-00003.gguf");
    let said = reason(&lacking, "m-00003-of-00003.gguf");
    assert!(
        said.contains("part 2 of 3 is missing, `m-00002-of-00003.gguf`"),
        "{said}"
    );

    let mut renamed = set();
    let part = renamed.0.remove("m-00002-of-00003.gguf").expect("a part");
    renamed.0.insert("other.gguf".to_owned(), part.clone());
    let said = reason(&renamed, "other.gguf");
    assert!(
        said.contains("part 2 of 3") && said.contains("-00002-of-00003.gguf"),
        "{said}"
    );

    let mut swapped = set();
    swapped.0.insert("m-00003-of-00003.gguf".to_owned(), part);
    let said = reason(&swapped, "m-00001-of-00003.gguf");
    assert!(
        said.contains("by its name this is part 3 of 3, by its contents 2 of 3"),
        "{said}"
    );

    let mut foreign = set();
    let mut writer = Writer::new();
    writer
        .key("split.no", &json!(2))
        .key("split.count", &json!(3));
    foreign
        .0
        .insert("m-00003-of-00003.gguf".to_owned(), writer.file());
    let said = reason(&foreign, "m-00001-of-00003.gguf");
    assert!(
        said.contains("4 tensors") && said.contains("should be 6"),
        "{said}"
    );

    let mut twice = set();
    let mut writer = Writer::new();
    writer
        .key("split.no", &json!(2))
        .key("split.count", &json!(3));
    writer
        .tensor("t0.0", &[32], 0, 128)
        .tensor("t2.1", &[32], 0, 128);
    twice
        .0
        .insert("m-00003-of-00003.gguf".to_owned(), writer.file());
    let said = reason(&twice, "m-00001-of-00003.gguf");
    assert!(said.contains("two tensors have the name `t0.0`"), "{said}");

    let mut cut = set();
    let part = cut.0.get_mut("m-00002-of-00003.gguf").expect("a part");
    part.size -= 40;
    let said = reason(&cut, "m-00001-of-00003.gguf");
    assert!(
        said.contains("download is not complete") && said.contains("m-00002"),
        "{said}"
    );
}

#[test]
fn a_claim_of_many_parts_looks_for_none() {
    let mut writer = Writer::new();
    writer
        .raw_key("split.count", 10, &u64::MAX.to_le_bytes())
        .key("split.no", &json!(0));
    for name in ["m.gguf", "m-00001-of-00003.gguf", "m-99999-of-99999.gguf"] {
        let folder = Folder::of(name, writer.file());
        assert!(gguf::read(&folder, name).is_err());
    }
    let single = Folder::of("m-00001-of-00003.gguf", Writer::with(&Map::new()).file());
    assert!(gguf::read(&single, "m-00001-of-00003.gguf").is_ok());
}
