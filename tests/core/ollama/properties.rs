//! What holds of any plan for Ollama.

use plimsoll::engine::ollama::Ollama;
use plimsoll::engine::setting::Kind;
use plimsoll::engine::{Engine as _, Inputs, Margin, Memo};
use plimsoll::model::Model;
use plimsoll::plan::{Settings, Value};
use plimsoll::projection::{Category, Severity};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq};
use proptest::{proptest, sample};

use super::{cards, model, of, ollama};

/// Values of the right kind, sensible and absurd.
fn value(kind: &Kind) -> proptest::strategy::BoxedStrategy<Value> {
    let text = |word: &str| Value::Text(word.to_owned());
    match kind {
        Kind::Toggle => any::<bool>().prop_map(Value::Bool).boxed(),
        Kind::Integer { words, .. } => {
            let odd = [0, 1, -1, 7, 512, 4096, 99_999, 1 << 40, i64::MAX, i64::MIN];
            let words = words.iter().map(|word| text(word));
            let all: Vec<Value> = words.chain(odd.into_iter().map(Value::Integer)).collect();
            sample::select(all).boxed()
        }
        Kind::Choice { .. } => {
            let words = [
                "auto", "on", "off", "f16", "q8_0", "q4_0", "Q4_K_M", "IQ1_S", "nonsense", "",
            ];
            sample::select(words.to_vec()).prop_map(text).boxed()
        }
        _ => sample::select(vec!["0.33.0", "0.12.3", "latest", "", "-1"])
            .prop_map(text)
            .boxed(),
    }
}

fn written() -> impl Strategy<Value = Settings> {
    let each: Vec<_> = Ollama
        .settings()
        .iter()
        .map(|setting| {
            let absent = Just(None::<Value>);
            let given = value(&setting.kind).prop_map(Some);
            proptest::prop_oneof![2 => absent, 1 => given]
        })
        .collect();
    each.prop_map(|values| {
        let names = Ollama
            .settings()
            .iter()
            .map(|setting| setting.name.to_owned());
        names
            .zip(values)
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    })
}

fn some_model() -> impl Strategy<Value = Model> {
    sample::select(vec![
        "Qwen2.5-0.5B-Instruct",
        "gemma-3-1b-it",
        "DeepSeek-V2-Lite",
        "gpt-oss-20b",
        "Qwen3.5-27B",
    ])
    .prop_map(model)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is asked for: an answer about every device, the same sums either way, every setting resolved.
    #[test]
    fn every_plan_has_an_answer(
        model in some_model(),
        settings in written(),
        sizes in sample::select(vec![vec![], vec![12], vec![24, 8], vec![6, 6, 6]]),
    ) {
        let machine = cards(&sizes, 48);
        let memo = Memo::default();
        let inputs = Inputs {
            model: &model, draft: None, machine: &machine, settings: &settings, margin: Margin::DEFAULT, memo: &memo,
        };
        let outcome = Ollama.project(&inputs);
        prop_assert_eq!(outcome.resolved.len(), Ollama.settings().len());
        for moment in &outcome.projection.moments {
            prop_assert_eq!(moment.devices.len(), sizes.len() + 1);
        }
        let errors = outcome.notes.iter().any(|note| note.severity == Severity::Error);
        prop_assert_eq!(errors, outcome.refused);
        let names: Vec<&str> = Ollama.settings().iter().map(|setting| setting.name).collect();
        for note in &outcome.notes {
            prop_assert!(note.setting.is_none_or(|name| names.contains(&name)));
            let fixes = note.fix.iter().flat_map(|fix| fix.set.keys());
            for name in fixes {
                prop_assert!(names.contains(&name.as_str()), "{}", name);
            }
        }
        let free = Ollama.free(&inputs);
        prop_assert_eq!(free.is_none(), outcome.refused);
        if let (Some(free), Some(moment)) = (free, outcome.projection.peak_moment()) {
            prop_assert_eq!(free.len(), sizes.len() + 1);
            for (index, gpu) in machine.gpus.iter().enumerate() {
                let left = gpu.memory.usable.signed_sub(gpu.memory.in_use + moment.devices[index].total());
                prop_assert_eq!(free[index], left);
            }
        }
    }

    /// Weights are somewhere, however they are spread.
    #[test]
    fn weights_are_conserved(layers in 0_i64..40, spread in any::<bool>(), parallel in 1_i64..5) {
        let text = format!("num_gpu = {layers}\nsched_spread = {spread}\nnum_parallel = {parallel}\nnum_ctx = 2048");
        let (model, machine) = (model("Qwen3-8B"), cards(&[24, 24], 64));
        let all = of(&ollama(&model, &machine, "num_gpu = 0"), Category::Weights);
        prop_assert_eq!(of(&ollama(&model, &machine, &text), Category::Weights), all);
    }
}
