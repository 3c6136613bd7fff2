//! How many users fit, against a walk over all numbers. More users can need less: the micro-batch is rounded up to a multiple
//! of them. `PROPTEST_CASES=400 cargo test --release --no-default-features --test core fit::users` walks over many plans.

use plimsoll::advisor::Objective;
use plimsoll::engine::llamacpp::LlamaCpp;
use plimsoll::engine::{Engine as _, Inputs, Margin, Memo};
use plimsoll::plan::{Settings, Value};
use proptest::{prop_assert, prop_assert_eq, proptest, sample};

use super::{Case, cases, integer, names, preset, with};
use crate::report::machine;

/// Small ones of each kind: dense, windows, latent, experts, recurrent, two mixers at once.
const MODELS: [&str; 6] = [
    "Qwen2.5-0.5B-Instruct",
    "gemma-3-1b-it",
    "DeepSeek-V2-Lite",
    "Qwen3-30B-A3B",
    "granite-4.0-h-tiny",
    "Falcon-H1-0.5B-Instruct",
];

const MOST: i64 = 256;

fn number(settings: &mut Settings, name: &str, number: i64) {
    settings.insert(name.to_owned(), Value::Integer(number));
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn no_larger_number_of_users_fits(
        id in sample::select(MODELS.to_vec()),
        mib in 2_000_u64..24_000,
        each in sample::select(vec![256_i64, 1_024, 4_096]),
        micro_batch in sample::select(vec![128_i64, 512, 2_048]),
    ) {
        let model = preset(id);
        let card = format!("ram_mib = 65536\ngpus = [{{ name = \"RTX 4090\", usable_mib = {mib} }}]");
        let machine = machine(&card);
        let memo = Memo::default();
        let word = |word: &str| Value::Text(word.to_owned());
        let mut settings = Settings::from([
            ("weights".to_owned(), word("Q4_K_M")),
            ("n_gpu_layers".to_owned(), word("all")),
            ("cache_type_k".to_owned(), word("f16")),
            ("cache_type_v".to_owned(), word("f16")),
        ]);
        number(&mut settings, "ubatch_size", micro_batch);
        let fits = |settings: &Settings, users: i64, each: i64| {
            let mut settings = settings.clone();
            number(&mut settings, "parallel", users);
            number(&mut settings, "ctx_size", users * each);
            let inputs = Inputs {
                model: &model,
                draft: None,
                machine: &machine,
                settings: &settings,
                margin: Margin::DEFAULT,
                memo: &memo,
            };
            let room = LlamaCpp.room(&inputs, Margin::DEFAULT);
            let users = LlamaCpp.most_users(&inputs).map(|users| users.most);
            (room.is_some_and(|room| room.iter().all(|room| *room >= 0)), users)
        };
        let (_, counted) = fits(&settings, 1, each);
        let walked = (1..=MOST).rev().find(|users| fits(&settings, *users, each).0);
        prop_assert_eq!(counted, walked.and_then(|users| u64::try_from(users).ok()));
        // And of what a search finds.
        let pinned = names(&["weights", "n_gpu_layers", "cache_type_k", "cache_type_v", "ubatch_size"]);
        let case = Case { model: &model, machine: &machine, settings: &settings, pinned: &pinned };
        if let Ok(fitted) = case.fit(Objective::Batch, &memo) {
            let found = with(&settings, &fitted.best);
            let users = integer(&found, "parallel").unwrap();
            let each = integer(&found, "ctx_size").unwrap() / users;
            let more = (users + 1..=MOST).find(|more| fits(&found, *more, each).0);
            prop_assert!(more.is_none(), "{} and not {:?}", users, more);
        }
    }
}
