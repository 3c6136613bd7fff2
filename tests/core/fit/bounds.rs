//! What a search refuses without graphs: nothing that would have done.

use plimsoll::engine::search::{Ask, Bound, Effort, Residency};
use plimsoll::engine::{self, Inputs, Margin, Memo};
use plimsoll::hardware::Machine;
use plimsoll::model::Model;
use plimsoll::plan::{Settings, Value};
use plimsoll::speed;
use plimsoll::units::Bytes;

use super::{integer, preset};
use crate::modelled;

const MODELS: [&str; 6] = [
    "Qwen3-30B-A3B",
    "gpt-oss-120b",
    "DeepSeek-R1",
    "Qwen3-Next-80B-A3B-Instruct",
    "Nemotron-H-56B-Base-8K",
    "Llama-3.3-70B-Instruct",
];

fn machine() -> Machine {
    let mut machine = modelled::machine(&[Bytes::from_gib(24)], (8, 9));
    machine.host.ram = Bytes::from_gib(1024);
    machine
}

/// Tokens per second of one user, where that can be told.
fn speed(inputs: &Inputs<'_>, settings: &Settings) -> Option<f64> {
    let engine = engine::find("llama.cpp").unwrap();
    let traffic = engine.traffic(&Inputs {
        settings,
        ..*inputs
    })?;
    let estimate = speed::estimate(&traffic, inputs.machine).ok()?;
    Some(estimate.decode.likely)
}

/// No arrangement that fits has more on the GPU than its bound, or is faster.
fn check(model: &Model, machine: &Machine, weights: &str, cache: &str) {
    let text = |word: &str| Value::Text(word.to_owned());
    let settings = Settings::from([
        ("weights".to_owned(), text(weights)),
        ("cache_type_k".to_owned(), text(cache)),
        ("cache_type_v".to_owned(), text(cache)),
        ("ctx_size".to_owned(), Value::Integer(8192)),
        ("parallel".to_owned(), Value::Integer(1)),
    ]);
    let memo = Memo::default();
    let inputs = Inputs {
        model,
        draft: None,
        machine,
        settings: &settings,
        margin: Margin::DEFAULT,
        memo: &memo,
    };
    let engine = engine::find("llama.cpp").unwrap();
    let ask = Ask {
        pinned: &[],
        residency: Residency::Anywhere,
        effort: Effort::Best,
    };
    let found = engine.arrange(&inputs, &ask).unwrap();
    let case = format!("{} {weights} {cache}", model.name);
    let bound = match engine.bound(&inputs, &[]).unwrap() {
        Bound::Nowhere => {
            assert!(!found.probe.fits(), "{case}");
            return;
        }
        Bound::Settings(settings) => settings,
    };
    if !found.probe.fits() {
        return;
    }
    let in_ram = |settings: &Settings| integer(settings, "n_cpu_moe").unwrap_or(0);
    if found.settings.contains_key("n_cpu_moe") {
        assert!(in_ram(&bound) <= in_ram(&found.settings), "{case}");
    }
    let speeds = [&bound, &found.settings].map(|settings| speed(&inputs, settings));
    if let [Some(bound), Some(found)] = speeds {
        assert!(bound >= found, "{case}: {found} above {bound}");
    }
}

#[test]
fn nothing_that_fits_is_above_its_bound() {
    let machine = machine();
    for id in MODELS {
        let model = preset(id);
        for weights in ["BF16", "Q8_0", "Q4_K_M"] {
            for cache in ["f16", "q8_0"] {
                check(&model, &machine, weights, cache);
            }
        }
    }
}
