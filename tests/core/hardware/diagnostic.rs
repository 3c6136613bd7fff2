//! A machine report, written and opened again.

use plimsoll::hardware::diagnostic::{Error, REPORT_LIMIT, from_json, to_json, to_text};

use super::mock::Fake;

#[test]
fn a_report_opens_as_the_same_machine() {
    for case in ["TWO_4090", "GB10", "MIG", "LOST", "WDDM"] {
        let detection = Fake::nvml(case).detect();
        let opened = from_json(&to_json(&detection)).expect(case);
        assert_eq!(opened.machine, detection.machine, "{case}");
        assert_eq!(opened.findings, detection.findings, "{case}");
        assert_eq!(opened.cards.len(), detection.cards.len(), "{case}");
        assert_eq!(to_json(&opened), to_json(&detection), "{case}");
    }
}

#[test]
fn names_of_programs_stay_here() {
    let fake = Fake::nvml("TWO_4090");
    fake.file("proc/4242/comm", "secret-project\n");
    let detection = fake.detect();
    let processes = detection.cards[0]
        .facts
        .processes
        .as_ref()
        .expect("two programs");
    assert_eq!(processes[0].name.as_deref(), Some("secret-project"));
    assert!(!to_json(&detection).contains("secret-project"));
    assert!(!to_text(&detection).contains("secret-project"));
}

#[test]
fn the_text_says_what_was_found_and_what_was_not() {
    let text = to_text(&Fake::nvml("TWO_4090").detect());
    for part in [
        "GPU 0: NVIDIA GeForce RTX 4090",
        "23.52 GiB usable",
        "capability  8.9",
        "CUDA up to  13.0",
        "PCIe now    1 x4",
        "ecc         not offered by this card or driver",
        "pcie-narrow",
    ] {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
    let text = to_text(&Fake::new().detect());
    assert!(text.contains("No GPU found"), "{text}");
}

#[test]
fn what_is_no_report_is_refused_in_words() {
    let good = to_json(&Fake::nvml("TWO_4090").detect());
    assert!(matches!(from_json("hello"), Err(Error::Malformed(_))));
    assert!(matches!(from_json("{}"), Err(Error::OtherFormat)));
    let newer = good.replacen("\"schema\": 1", "\"schema\": 2", 1);
    let error = from_json(&newer).expect_err("written by a newer build");
    assert!(error.to_string().contains("schema 2"), "{error}");
    let long = " ".repeat(REPORT_LIMIT + 1);
    assert!(matches!(from_json(&long), Err(Error::TooLong(_))));
    let many = good.replacen("\"nodes\": 1", "\"nodes\": 4294967295", 1);
    assert!(matches!(from_json(&many), Err(Error::TooMany(_))));
}

#[test]
fn figures_that_contradict_each_other_are_bounded() {
    let good = to_json(&Fake::nvml("TWO_4090").detect());
    let total = (24564_u64 << 20).to_string();
    let odd = good.replace(&format!("\"total\": {total}"), "\"total\": 7");
    let opened = from_json(&odd).expect("odd, but a report");
    assert!(
        opened
            .machine
            .gpus
            .iter()
            .all(|gpu| gpu.memory.usable <= gpu.memory.total)
    );
}
