//! Every version's own options, and what is said where it has none.

use plimsoll::engine::{Engine, llamacpp::LlamaCpp};
use plimsoll::units::Bytes;

use super::case::Case;
use super::llama_server::{has, value};

#[test]
fn a_version_without_fitting_gets_the_numbers() {
    let words = Case::new("engine_version = \"2025-06\"\n")
        .chosen("n_gpu_layers = 48\ntensor_split = [40, 9]\n")
        .words();
    assert!(!has(&words, "--fit"));
    assert_eq!(value(&words, "--n-gpu-layers"), Some("48"));
    assert_eq!(value(&words, "--tensor-split"), Some("40,9"));
}

#[test]
fn loading_is_spelled_as_the_version_does() {
    for (version, expected) in [
        ("0.6.0", &["--load-mode", "none"][..]),
        ("b10434", &["--load-mode", "none"]),
        ("2026-05", &["--no-mmap"]),
        ("b9123", &["--no-mmap"]),
    ] {
        let settings = format!("load_mode = \"none\"\nengine_version = \"{version}\"\n");
        let words = Case::new(&settings).words();
        let joined = words.join(" ");
        assert!(joined.contains(&expected.join(" ")), "{version}: {joined}");
        assert_eq!(has(&words, "--no-mmap"), expected == ["--no-mmap"]);
    }
}

#[test]
fn what_a_version_lacks_is_said() {
    let case = Case::new(
        "load_mode = \"dio\"\nn_cpu_ffn = 3\nengine_version = \"b9000\"\nn_outputs_max = 0\n",
    );
    let mut case = case;
    case.plan.settings.insert(
        "override_tensor".to_owned(),
        plimsoll::plan::Value::List(vec![plimsoll::plan::Value::Text("a{1,2}=CPU".to_owned())]),
    );
    assert_eq!(
        case.launch().not_expressible,
        [
            "override_tensor = [\"a{1,2}=CPU\"]: llama-server b9000 has no option for it",
            "n_cpu_ffn = 3: llama-server b9000 has no option for it",
            "n_outputs_max = 0: the server takes it from its slots and draft tokens",
        ]
    );
    assert!(has(&case.words(), "--direct-io"));
}

/// Every setting is an option in some version, or has a reason why not: none is dropped in silence.
#[test]
fn every_setting_is_written_or_accounted_for() {
    let table: toml::Table =
        toml::from_str(include_str!("../../../presets/flags/llama-server.toml")).unwrap();
    let flags = table["flag"].as_array().unwrap();
    for setting in LlamaCpp.settings() {
        let written = flags
            .iter()
            .any(|flag| flag["setting"].as_str() == Some(setting.name));
        let explained = table["unwritten"].get(setting.name).is_some();
        assert!(written != explained, "{}", setting.name);
    }
}

/// Plans that bring out every option of every setting.
const EVERY_OPTION: [&str; 3] = [
    "ctx_size = 4096\nparallel = 2\nkv_unified = true\nbatch_size = 256\nubatch_size = 128\nn_gpu_layers = \"all\"\n\
     split_mode = \"row\"\ntensor_split = [3, 1]\nmain_gpu = 1\noverride_tensor = ['exps=CPU']\ncpu_moe = true\n\
     n_cpu_moe = 3\nkv_offload = false\nop_offload = false\nswa_full = true\nload_mode = \"none\"\nrepack = false\n\
     host_buffer = false\ncache_ram = 0\nctx_checkpoints = 1\ncheckpoint_min_step = 9\nembedding = true\n\
     backend_sampling = true\nflash_attn = \"off\"\n",
    "kv_unified = false\nload_mode = \"mmap+mlock\"\nfit_ctx = 512\n",
    "load_mode = \"mlock\"\nn_gpu_layers = 3\nn_cpu_ffn = 2\nlazy_mode = \"on\"\nkv_unified_per_slot = 512\n",
];

/// The options of two versions as they were recorded from the server itself and from its source.
#[test]
fn every_option_is_one_that_the_version_has() {
    let recorded = [
        ("b10434", include_str!("../../data/llama-server/b10434.txt")),
        (
            "0.6.0",
            include_str!("../../data/llama-server/0.6.0-dev.txt"),
        ),
    ];
    for (version, options) in recorded {
        for settings in EVERY_OPTION {
            for path in [None, Some("/a.gguf")] {
                let mut case = Case::new(&format!("{settings}engine_version = \"{version}\"\n"))
                    .published_in("a/b");
                case.margin = Bytes::from_mib(7);
                case.plan.launch.model_path = path.map(str::to_owned);
                for word in case.words().iter().filter(|word| word.starts_with("--")) {
                    assert!(
                        options.lines().any(|option| option == word),
                        "{version}: {word}"
                    );
                }
            }
        }
    }
    let newest = Case::new(&format!("{}engine_version = \"0.6.0\"\n", EVERY_OPTION[2]));
    assert_eq!(newest.launch().not_expressible, [""; 0]);
}
