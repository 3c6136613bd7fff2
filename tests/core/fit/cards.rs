//! Layers over several cards.

use plimsoll::advisor::Objective;
use plimsoll::plan::Value;
use plimsoll::report::Verdict;

use super::choices::{settings, text};
use super::{Case, fitted, integer, names, preset, report_of, with};
use crate::report::machine;

/// Who says how many layers leave their experts in main memory leaves open which card has which layers; so does who says how
/// many layers are on the cards.
#[test]
fn layers_are_shared_out_whatever_else_is_pinned() {
    let on = "ram_mib = 131072\ngpus = [{ name = \"RTX 4090\" }, { name = \"RTX 3060 12GB\" }]";
    let (model, machine) = (preset("Qwen3-30B-A3B"), machine(on));
    for (weights, pin, number) in [
        ("Q8_0", "n_cpu_moe", 10),
        ("Q6_K", "n_cpu_moe", 2),
        ("Q6_K", "n_gpu_layers", 99),
        ("Q8_0", "n_gpu_layers", 40),
    ] {
        let written = settings(&[
            ("weights", text(weights)),
            ("ctx_size", Value::Integer(8_192)),
            ("parallel", Value::Integer(1)),
            (pin, Value::Integer(number)),
        ]);
        let pinned = names(&["weights", "ctx_size", "parallel", pin]);
        let case = Case {
            model: &model,
            machine: &machine,
            settings: &written,
            pinned: &pinned,
        };
        let best = fitted(&case, Objective::Balanced);
        let settings = with(&written, &best);
        assert_eq!(integer(&settings, pin), Some(number), "{pin}");
        let report = report_of(&case, &settings);
        assert_eq!(
            report.verdict,
            Verdict::Fits,
            "{pin}: {}",
            report.sentence()
        );
        // Without a split the engine divides by free memory, which these do not fit.
        assert!(best.set.contains_key("tensor_split"), "{pin}: {best:?}");
        let every = if pin == "n_cpu_moe" {
            49
        } else {
            number.min(49)
        };
        assert_eq!(i64::try_from(best.figures.gpu_layers.0), Ok(every), "{pin}");
    }
}

/// Over several cards no more experts are in main memory than must be: what stays free is less than a layer per card.
#[test]
fn cards_are_filled_with_experts() {
    for (id, cards, ram) in [
        ("GLM-4.5-Air", "{ name = \"RTX 3090\", count = 2 }", 128),
        ("DeepSeek-R1", "{ name = \"RTX 3090\", count = 8 }", 256),
        (
            "GLM-4.6",
            "{ name = \"RTX 3090\", count = 2 }, { name = \"RTX 4090\", count = 2 }",
            512,
        ),
    ] {
        let on = format!("ram_mib = {}\ngpus = [{cards}]", ram * 1024);
        let (model, machine) = (preset(id), machine(&on));
        let written = settings(&[("ctx_size", Value::Integer(8_192))]);
        let case = Case {
            model: &model,
            machine: &machine,
            settings: &written,
            pinned: &[],
        };
        let best = fitted(&case, Objective::Balanced);
        let report = report_of(&case, &with(&written, &best));
        let layer = report.derived.file_bytes.get() / model.layers.len() as u64;
        let (_, cards) = best.figures.free.split_last().unwrap();
        let free: i64 = cards.iter().sum();
        let most = i64::try_from((layer + (1 << 30)) * cards.len() as u64).unwrap();
        assert!(best.figures.expert_layers_in_ram > 0, "{id}: {best:?}");
        assert!(free < most, "{id}: {free} of {most}, {best:?}");
    }
}

/// Where everything must be on one card and nobody said on which, it is the one that serves best.
#[test]
fn one_card_is_chosen_among_several() {
    let on = "ram_mib = 65536\ngpus = [{ name = \"RTX 3060 12GB\" }, { name = \"RTX 4090\" }]";
    let (model, machine) = (preset("Qwen3-14B"), machine(on));
    let written = settings(&[("split_mode", text("none"))]);
    let case = Case {
        model: &model,
        machine: &machine,
        settings: &written,
        pinned: &names(&["split_mode"]),
    };
    let best = fitted(&case, Objective::Quality);
    assert_eq!(integer(&best.set, "main_gpu"), Some(1));
}
