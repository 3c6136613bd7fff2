//! The llama-server command: every trap that users report, and every version's spelling.

use plimsoll::engine::launch::{ModelSource, Word};
use plimsoll::hardware::{Os, Vendor};
use plimsoll::units::Bytes;

use super::case::{Case, gpu, machine};

/// The value behind an option, where the option is there.
pub(super) fn value<'a>(words: &'a [String], option: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| word == option)?;
    words.get(at + 1).map(String::as_str)
}

pub(super) fn has(words: &[String], option: &str) -> bool {
    words.iter().any(|word| word == option)
}

#[test]
fn context_and_slots_are_always_written() {
    for settings in ["", "parallel = \"auto\"\n", "ctx_size = 0\n"] {
        let case =
            Case::new(settings).chosen("ctx_size = 20480\nparallel = 4\nkv_unified = true\n");
        let words = case.words();
        assert_eq!(value(&words, "--ctx-size"), Some("20480"));
        assert_eq!(value(&words, "--parallel"), Some("4"));
        assert!(has(&words, "--kv-unified"));
    }
    let words = Case::everyday().words();
    assert_eq!(value(&words, "--ctx-size"), Some("16384"));
    assert!(has(&words, "--no-kv-unified"));
}

#[test]
fn a_quantized_v_cache_has_flash_attention() {
    for flash in ["auto", "off"] {
        let case = Case::new(&format!(
            "cache_type_v = \"Q8_0\"\nflash_attn = \"{flash}\"\n"
        ));
        assert_eq!(value(&case.words(), "--flash-attn"), Some("on"));
        let remarks = case.launch().remarks;
        assert!(
            remarks
                .iter()
                .any(|remark| remark.contains("quantized V cache"))
        );
    }
    let case = Case::new("cache_type_k = \"q8_0\"\n");
    assert_eq!(value(&case.words(), "--flash-attn"), Some("auto"));
    // What the engine turns off by itself is not the same as what is asked off.
    let left = Case::new("").chosen("flash_attn = \"off\"\n");
    assert_eq!(value(&left.words(), "--flash-attn"), Some("auto"));
    let asked = Case::new("flash_attn = \"off\"\n").chosen("flash_attn = \"off\"\n");
    assert_eq!(value(&asked.words(), "--flash-attn"), Some("off"));
    let old = Case::new("cache_type_v = \"q8_0\"\nengine_version = \"b6000\"\n").words();
    let at = old.iter().position(|word| word == "--flash-attn").unwrap();
    assert!(old[at + 1].starts_with("--"));
}

#[test]
fn explicit_numbers_switch_fitting_off() {
    for settings in [
        "n_gpu_layers = 40\n",
        "n_gpu_layers = \"all\"\n",
        "tensor_split = [3, 1]\n",
        "n_cpu_moe = 12\n",
        "cpu_moe = true\n",
        "override_tensor = [\"exps=CPU\"]\n",
        "fit = false\n",
        "split_mode = \"tensor\"\n",
    ] {
        let words = Case::new(settings).chosen("n_gpu_layers = 48\n").words();
        assert_eq!(value(&words, "--fit"), Some("off"), "{settings}");
        assert!(has(&words, "--n-gpu-layers"), "{settings}");
        assert!(!has(&words, "--fit-target") && !has(&words, "--fit-ctx"));
    }
}

#[test]
fn fitting_gets_no_numbers_of_what_it_chooses() {
    for settings in ["", "n_gpu_layers = \"auto\"\n", "fit_ctx = 8192\n"] {
        let mut case = Case::new(settings).chosen(
            "n_gpu_layers = 48\ntensor_split = [40, 9]\noverride_tensor = ['blk\\.3\\.ffn_up_exps=CPU']\n",
        );
        case.margin = Bytes::from_mib(2048);
        let words = case.words();
        assert_eq!(value(&words, "--fit"), Some("on"));
        assert_eq!(value(&words, "--fit-target"), Some("2048"));
        for option in ["--n-gpu-layers", "--tensor-split", "--override-tensor"] {
            assert!(!has(&words, option), "{option}");
        }
        assert_eq!(has(&words, "--fit-ctx"), settings.starts_with("fit_ctx"));
    }
}

#[test]
fn the_cache_stays_on_the_gpu_unless_asked() {
    assert!(!has(&Case::everyday().words(), "--no-kv-offload"));
    assert!(has(
        &Case::new("kv_offload = false\n").words(),
        "--no-kv-offload"
    ));
}

#[test]
fn the_model_is_a_path_a_repository_or_asked_for() {
    let path = Case::everyday().model_path("/models/深度/R1 32B.gguf");
    assert_eq!(path.words()[..2], ["--model", "/models/深度/R1 32B.gguf"]);
    assert!(!has(&path.words(), "--no-mmproj"));

    let preset = Case::everyday();
    let source = "bartowski/DeepSeek-R1-Distill-Qwen-32B-GGUF:Q4_K_M";
    assert_eq!(preset.words()[..3], ["--hf-repo", source, "--no-mmproj"]);
    assert_eq!(
        preset.launch().model_source,
        ModelSource::Repository(source.to_owned())
    );

    let mut chosen = Case::everyday();
    chosen.plan.launch.hf_repo = Some("me/mine:IQ4_XS".to_owned());
    assert_eq!(chosen.words()[1], "me/mine:IQ4_XS");

    let experts = Case::new("weights = \"MXFP4_MOE\"\n").published_in("ggml-org/gpt-oss-20b-GGUF");
    assert_eq!(experts.words()[1], "ggml-org/gpt-oss-20b-GGUF:MXFP4");

    let mut named = Case::everyday().published_in("owner/R1-GGUF");
    named.file = Some("UD-Q2_K_XL/R1-00001-of-00003.gguf");
    assert_eq!(
        named.words()[..4],
        [
            "--hf-repo",
            "owner/R1-GGUF",
            "--hf-file",
            "UD-Q2_K_XL/R1-00001-of-00003.gguf"
        ]
    );

    let asked = Case::new("weights = \"Q6_K\"\n");
    assert_eq!(asked.words()[..2], ["--model", "$MODEL"]);
    assert_eq!(asked.launch().variables[0].name, "MODEL");

    // Before tags, a repository alone does not say which file.
    let old = Case::new("engine_version = \"b4400\"\n").published_in("a/b");
    assert_eq!(old.words()[1], "$MODEL");
    assert!(
        old.launch().variables[0]
            .meaning
            .contains("https://huggingface.co/a/b")
    );
}

#[test]
fn paths_that_depend_on_the_place_are_remarked() {
    let remarks = |path: &str| Case::new("").model_path(path).launch().remarks.join("\n");
    assert!(remarks("models/a.gguf").contains("is relative"));
    assert!(remarks("~/a.gguf").contains("begins with ~"));
    let mut beside = Case::new("").model_path("/a.gguf").chosen("mmproj = true");
    beside.plan.launch.mmproj_path = Some("m/mmproj.gguf".to_owned());
    beside.plan.launch.lora_paths = vec!["/l/a.gguf".to_owned(), "l/b.gguf".to_owned()];
    let told = beside.launch().remarks.join("\n");
    assert!(told.contains("The projector's path is relative"), "{told}");
    assert!(
        told.contains("The path of the adapter l/b.gguf is relative"),
        "{told}"
    );
    assert!(!told.contains("/l/a.gguf is"), "{told}");
    for whole in ["/a.gguf", "C:\\a.gguf", "\\\\server\\a.gguf"] {
        let remarks = remarks(whole);
        assert!(
            !remarks.contains("relative") && !remarks.contains('~'),
            "{remarks}"
        );
    }
}

#[test]
fn listens_here_unless_told_and_warns_without_a_key() {
    let words = Case::everyday().words();
    assert_eq!(value(&words, "--host"), Some("127.0.0.1"));
    assert_eq!(value(&words, "--port"), Some("8080"));
    let listening = |host: &str, key: Option<&str>| {
        let mut case = Case::everyday();
        case.plan.launch.host = Some(host.to_owned());
        case.plan.launch.api_key_env = key.map(str::to_owned);
        case.launch().remarks.join("\n")
    };
    for open in ["0.0.0.0", "::", "192.168.1.2", "gpu-box"] {
        assert!(listening(open, None).contains("WARNING"), "{open}");
        assert!(!listening(open, Some("KEY")).contains("WARNING"), "{open}");
    }
    for local in ["127.0.0.1", "::1", "localhost", "/run/llama.sock"] {
        assert!(!listening(local, None).contains("listens"), "{local}");
    }
}

#[test]
fn a_key_is_only_ever_a_variable() {
    let mut case = Case::everyday();
    case.plan.launch.api_key_env = Some("TEAM_KEY".to_owned());
    assert_eq!(case.environment(), ["LLAMA_API_KEY=$TEAM_KEY"]);
    assert!(!has(&case.words(), "--api-key"));
    // A name that is none leaves the server protected all the same.
    case.plan.launch.api_key_env = Some("x; rm -rf /".to_owned());
    assert_eq!(case.environment(), ["LLAMA_API_KEY=$LLAMA_API_KEY"]);
    assert_eq!(case.launch().not_expressible.len(), 1);
}

#[test]
fn cards_are_chosen_by_identity_in_the_order_of_the_bus() {
    const NVIDIA: &str = "GPU-1b2c3d4e-5f60-7182-93a4-b5c6d7e8f901";
    const AMD: &str = "GPU-a1b2c3d4e5f60718";
    let cards = [
        gpu("NVIDIA GeForce RTX 4090", Vendor::Nvidia, Some(NVIDIA)),
        gpu("AMD Radeon RX 7900 XTX", Vendor::Amd, Some(AMD)),
        gpu("Intel Arc B580", Vendor::Intel, Some("intel-0")),
    ];
    let chosen = |os: Os, uuids: &[&str]| {
        let mut case = Case::everyday().on(machine(&cards));
        case.machine.os = os;
        case.plan.launch.gpus = uuids.iter().map(|&uuid| uuid.to_owned()).collect();
        case
    };
    assert_eq!(chosen(Os::Linux, &[]).environment(), [""; 0]);
    let order = "CUDA_DEVICE_ORDER=PCI_BUS_ID";
    assert_eq!(
        chosen(Os::Linux, &[NVIDIA]).environment(),
        [order, &format!("CUDA_VISIBLE_DEVICES={NVIDIA}")]
    );
    assert_eq!(
        chosen(Os::Linux, &[AMD]).environment(),
        [
            "CUDA_VISIBLE_DEVICES=-1",
            &format!("ROCR_VISIBLE_DEVICES={AMD}")
        ]
    );
    assert_eq!(
        chosen(Os::Windows, &[AMD]).environment(),
        ["CUDA_VISIBLE_DEVICES=-1", "HIP_VISIBLE_DEVICES=0"]
    );
    let intel = chosen(Os::Linux, &["intel-0"]).launch().not_expressible;
    assert!(intel[0].starts_with("the choice of intel-0"), "{intel:?}");

    // A plan for another machine: the form of the identity tells the maker.
    let mut elsewhere = Case::everyday().on(machine(&[]));
    elsewhere.plan.launch.gpus = vec![NVIDIA.to_owned()];
    assert_eq!(
        elsewhere.environment(),
        [order, &format!("CUDA_VISIBLE_DEVICES={NVIDIA}")]
    );
}

#[test]
fn without_a_card_nothing_goes_to_one() {
    let words = Case::new("").on(machine(&[])).words();
    assert_eq!(value(&words, "--fit"), Some("off"));
    assert_eq!(value(&words, "--n-gpu-layers"), Some("0"));
    let asked = Case::new("n_gpu_layers = 20\n").on(machine(&[])).words();
    assert_eq!(value(&asked, "--n-gpu-layers"), Some("20"));
}

#[test]
fn several_cards_are_ordered_as_the_plan_lists_them() {
    let two = machine(&[
        gpu("RTX 3090", Vendor::Nvidia, None),
        gpu("RTX 3060", Vendor::Nvidia, None),
    ]);
    assert_eq!(
        Case::everyday().on(two).environment(),
        ["CUDA_DEVICE_ORDER=PCI_BUS_ID"]
    );
}

#[test]
fn defaults_that_move_are_written_and_others_are_not() {
    let words = Case::new("").words();
    for option in [
        "--ctx-size",
        "--parallel",
        "--batch-size",
        "--ubatch-size",
        "--flash-attn",
        "--cache-type-k",
        "--cache-type-v",
        "--host",
        "--port",
    ] {
        assert!(has(&words, option), "{option}");
    }
    for option in ["--split-mode", "--main-gpu", "--cache-ram", "--load-mode"] {
        assert!(!has(&words, option), "{option}");
    }
    let asked = Case::new("split_mode = \"layer\"\ncache_ram = 0\n").words();
    assert_eq!(value(&asked, "--split-mode"), Some("layer"));
    assert_eq!(value(&asked, "--cache-ram"), Some("0"));
}

#[test]
fn overrides_stand_before_the_options_for_experts() {
    let words = Case::new("override_tensor = ['exps=CPU', 'attn=CUDA0']\nn_cpu_moe = 4\n").words();
    assert_eq!(
        value(&words, "--override-tensor"),
        Some("exps=CPU,attn=CUDA0")
    );
    let place = |option: &str| words.iter().position(|word| word == option).unwrap();
    assert!(place("--override-tensor") < place("--n-cpu-moe"));
}

#[test]
fn extra_words_are_passed_through_last_in_lines_of_their_own() {
    let extra = ["first", "--jinja", "--temp", "-0.5", "--alias", "a b", "-"];
    let case = Case::everyday().extra_args(&extra);
    let launch = case.launch();
    let lines: Vec<Vec<&str>> = launch.steps[0]
        .arguments
        .iter()
        .rev()
        .take(4)
        .rev()
        .map(|argument| {
            argument
                .words
                .iter()
                .map(|word| match word {
                    Word::Literal(text) => text.as_str(),
                    Word::Variable(name) => name.as_str(),
                })
                .collect()
        })
        .collect();
    let expected: [&[&str]; 4] = [
        &["first"],
        &["--jinja"],
        &["--temp", "-0.5"],
        &["--alias", "a b", "-"],
    ];
    assert_eq!(lines, expected);
}

/// The engine takes what the main branch holds, whatever a plan was made from.
#[test]
fn a_revision_that_cannot_be_pinned_is_said() {
    for engine in ["llama.cpp", "ollama"] {
        let missing = |revision| {
            let mut case = Case::of(engine, "weights = \"Q4_K_M\"\n").published_in("owner/R1-GGUF");
            case.file = Some("R1-Q4_K_M.gguf");
            case.revision = revision;
            case.launch().not_expressible.join("\n")
        };
        let said = missing(Some("0f3c1d2"));
        for words in [
            "revision = \"0f3c1d2\"",
            "hf download owner/R1-GGUF R1-Q4_K_M.gguf --revision 0f3c1d2",
            "model_path",
        ] {
            assert!(said.contains(words), "{engine}: {words} in {said:?}");
        }
        assert_eq!(missing(Some("main")), "");
        assert_eq!(missing(None), "");
    }
    // A file that is here is what it is.
    let mut here = Case::everyday().model_path("/models/a.gguf");
    here.revision = Some("0f3c1d2");
    assert!(here.launch().not_expressible.is_empty());
}
