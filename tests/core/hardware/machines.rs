//! Machine presets and the plan's `[machine]` table.

use plimsoll::catalog::gpus::GpuCatalog;
use plimsoll::catalog::machines::{Error, MachineCatalog, needs_detection, reference, resolve};
use plimsoll::hardware::{Machine, Os, Vendor};
use plimsoll::plan::{GpuRef, MachineRef};
use plimsoll::units::Bytes;

fn read(table: &str) -> MachineRef {
    toml::from_str(table).expect("a machine table")
}

fn resolved(table: &str) -> Result<Machine, Error> {
    let gpus = GpuCatalog::embedded().expect("GPU presets load");
    let machines = MachineCatalog::embedded().expect("machine presets load");
    resolve(Some(&read(table)), None, &gpus, &machines)
}

fn refused(table: &str, part: &str) {
    let error = resolved(table).expect_err(table).to_string();
    assert!(error.contains(part), "{table}: {error}");
}

#[test]
fn every_preset_is_a_machine() {
    let gpus = GpuCatalog::embedded().expect("GPU presets load");
    let machines = MachineCatalog::embedded().expect("machine presets load");
    let mut count = 0;
    for preset in machines.iter() {
        let machine = preset.machine(&gpus).expect(&preset.id);
        assert!(machine.host.ram > Bytes::ZERO, "{}", preset.id);
        for gpu in &machine.gpus {
            assert!(gpu.memory.usable <= gpu.memory.total, "{}", preset.id);
            assert!(gpu.bandwidth_gb_s.is_some(), "{}", preset.id);
        }
        count += 1;
    }
    assert!(count >= 20, "{count} presets");
}

#[test]
fn a_machine_described_means_the_same_machine() {
    let gpus = GpuCatalog::embedded().expect("GPU presets load");
    let machines = MachineCatalog::embedded().expect("machine presets load");
    let mut all: Vec<Machine> = machines
        .iter()
        .map(|preset| preset.machine(&gpus).expect(&preset.id))
        .collect();
    let mut edited = all[0].clone();
    edited.gpus = resolved(r#"preset = "2x-rtx-3090""#)
        .expect("it exists")
        .gpus;
    edited.gpus[1].memory.in_use = Bytes::from_mib(600);
    edited.gpus[1].memory.usable = Bytes::from_mib(20_000);
    all.push(edited);
    for machine in all {
        let table = toml::to_string(&reference(&machine, &gpus)).expect("a table");
        let again = resolved(&table).expect(&table);
        assert_eq!(again.os, machine.os);
        assert_eq!(again.nodes, machine.nodes);
        assert_eq!(again.host.ram, machine.host.ram);
        assert_eq!(again.gpus.len(), machine.gpus.len());
        for (again, gpu) in again.gpus.iter().zip(&machine.gpus) {
            assert_eq!((&again.name, again.unified), (&gpu.name, gpu.unified));
            assert_eq!(again.bandwidth_gb_s, gpu.bandwidth_gb_s, "{table}");
            assert_eq!(again.compute_capability, gpu.compute_capability);
            let mib = |bytes: Bytes| bytes.get() >> 20;
            assert_eq!(mib(again.memory.usable), mib(gpu.memory.usable), "{table}");
            assert_eq!(mib(again.memory.total), mib(gpu.memory.total), "{table}");
            assert_eq!(again.memory.in_use, gpu.memory.in_use, "{table}");
        }
    }
}

#[test]
fn a_preset_is_found_by_its_id() {
    let machine = resolved(r#"preset = "4x-a100-40gb""#).expect("it exists");
    assert_eq!(machine.gpus.len(), 4);
    assert_eq!(machine.gpus[0].memory.total, Bytes::from_mib(40960));
    assert_eq!(machine.host.ram, Bytes::from_gib(512));
    refused(r#"preset = "4x-a100-48gb""#, "4x-a100-40gb");
}

#[test]
fn a_plan_changes_a_preset() {
    let table = "preset = \"macbook-pro-m4-max-128gb\"\nram_mib = 65536\nram_in_use_mib = 32768";
    let machine = resolved(table).expect("it exists");
    assert_eq!(machine.os, Os::Macos);
    assert_eq!(machine.gpus[0].memory.usable, Bytes::from_gib(48));
    // 64 GiB less 32 in use leaves 32 of the 48 that Metal would allow.
    assert_eq!(machine.gpus[0].memory.in_use, Bytes::from_gib(16));
}

#[test]
fn a_machine_is_described_by_hand() {
    let machine = resolved(
        r#"
os = "windows"
ram_mib = 65536
ram_in_use_mib = 4096
ram_bandwidth_gb_s = 89.6
gpus = [
  { name = "RTX 4090", count = 2, in_use_mib = 600 },
  { name = "AMD Radeon RX 7900 XTX", usable_mib = 20000, bandwidth_gb_s = 900 },
  { name = "My own card", vram_mib = 32000, compute_capability = "12.0" },
]
nodes = 2
"#,
    )
    .expect("all is in order");
    assert_eq!(machine.nodes, 2);
    assert_eq!(machine.host.in_use, Bytes::from_gib(4));
    assert_eq!(machine.host.bandwidth_gb_s, Some(89.6));
    let names: Vec<&str> = machine.gpus.iter().map(|gpu| gpu.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "NVIDIA GeForce RTX 4090",
            "NVIDIA GeForce RTX 4090",
            "AMD Radeon RX 7900 XTX",
            "My own card"
        ]
    );
    assert_eq!(machine.gpus[1].memory.in_use, Bytes::from_mib(600));
    assert_eq!(machine.gpus[1].memory.usable, Bytes::from_mib(24563));
    assert_eq!(machine.gpus[2].memory.usable, Bytes::from_mib(20000));
    assert_eq!(machine.gpus[2].bandwidth_gb_s, Some(900.0));
    assert_eq!(machine.gpus[3].vendor, Vendor::Nvidia);
    assert_eq!(machine.gpus[3].compute_capability, Some((12, 0)));
    assert_eq!(machine.gpus[3].memory.usable, Bytes::from_mib(32000));
}

#[test]
fn a_board_with_more_memory_keeps_the_drivers_reserve() {
    let machine = resolved("ram_mib = 1\ngpus = [{ name = \"RTX 4090\", vram_mib = 49140 }]")
        .expect("boards with 48 GB exist");
    assert_eq!(machine.gpus[0].memory.total, Bytes::from_mib(49140));
    assert_eq!(machine.gpus[0].memory.usable, Bytes::from_mib(49140 - 600));
}

#[test]
fn nothing_is_a_machine_too() {
    let machine = resolved("ram_mib = 0\ngpus = []").expect("a processor alone");
    assert!(machine.gpus.is_empty());
    let machine = resolved("ram_mib = 1024\ngpus = [{ name = \"none\", vram_mib = 0 }]")
        .expect("a card without memory");
    assert_eq!(machine.gpus[0].memory.usable, Bytes::ZERO);
    let machine = resolved("ram_mib = 1073741824\ngpus = []").expect("a PiB");
    assert_eq!(machine.host.ram, Bytes::new(1 << 50));
    refused(
        "ram_mib = 1073741825\ngpus = []",
        "`ram_mib` in [machine] is more than 1073741824",
    );
}

#[test]
fn a_thousand_cards_work_and_more_are_refused() {
    let machine = resolved("ram_mib = 1024\ngpus = [{ name = \"RTX 3090\", count = 1000 }]")
        .expect("a thousand cards");
    assert_eq!(machine.gpus.len(), 1000);
    refused(
        "ram_mib = 1\ngpus = [{ name = \"RTX 3090\", count = 4294967295 }]",
        "4294967295 GPUs",
    );
    refused("ram_mib = 1\ngpus = []\nnodes = 4294967295", "at most 1024");
    refused(
        "ram_mib = 1\ngpus = [{ name = \"RTX 3090\", count = 8 }]\nnodes = 1000",
        "8000 GPUs",
    );
}

#[test]
fn what_makes_no_sense_is_refused_in_words() {
    refused("gpus = []", "ram_mib");
    refused("ram_mib = 1\ngpus = []\nnodes = 0", "at least 1");
    refused("ram_mib = 1\ngpus = [{ name = \"RTX 4099\" }]", "RTX 4090");
    refused(
        "ram_mib = 1\ngpus = [{ name = \"A100\" }]",
        "A100-SXM4-40GB",
    );
    refused(
        "ram_mib = 1\ngpus = [{ name = \"RTX 4090\", compute_capability = \"new\" }]",
        "compute_capability",
    );
    refused(
        "ram_mib = 1\ngpus = [{ name = \"RTX 4090\", bandwidth_gb_s = nan }]",
        "bandwidth_gb_s",
    );
    for bandwidth in ["0", "1e300", "1e-300", "inf"] {
        refused(
            &format!("ram_mib = 1\ngpus = []\nram_bandwidth_gb_s = {bandwidth}"),
            "`ram_bandwidth_gb_s` in [machine] must be between",
        );
        refused(
            &format!(
                "ram_mib = 1\ngpus = [{{ name = \"RTX 4090\", bandwidth_gb_s = {bandwidth} }}]"
            ),
            "`bandwidth_gb_s` must be between",
        );
    }
    refused(
        "ram_mib = 1\ngpus = [{ name = \"x\", vram_mib = 1, usable_mib = 2 }]",
        "usable_mib",
    );
}

#[test]
fn what_the_table_leaves_open_is_detected() {
    assert!(needs_detection(None));
    assert!(needs_detection(Some(&read("ram_mib = 1"))));
    assert!(!needs_detection(Some(&read("preset = \"dgx-spark\""))));
    assert!(!needs_detection(Some(&read("ram_mib = 1\ngpus = []"))));
    let gpus = GpuCatalog::embedded().expect("GPU presets load");
    let machines = MachineCatalog::embedded().expect("machine presets load");
    let here = resolved(r#"preset = "2x-rtx-3090""#).expect("it exists");
    assert_eq!(
        resolve(None, Some(&here), &gpus, &machines),
        Ok(here.clone())
    );
    assert_eq!(
        resolve(None, None, &gpus, &machines),
        Err(Error::NothingDetected)
    );
    let more = resolve(
        Some(&read("ram_mib = 262144")),
        Some(&here),
        &gpus,
        &machines,
    )
    .expect("this machine with other RAM");
    assert_eq!(more.gpus, here.gpus);
    assert_eq!(more.host.ram, Bytes::from_gib(256));
}

proptest::proptest! {
    /// Any table gives a machine within bounds or an error in words.
    #[test]
    fn no_description_panics(
        name in "[a-zA-Z0-9 ]{0,12}|RTX 4090|A100|Apple M4|GB10",
        numbers in proptest::collection::vec(proptest::option::of(proptest::prelude::any::<u64>()), 6),
        count in proptest::option::of(proptest::prelude::any::<u32>()),
        nodes in proptest::option::of(0_u32..2000),
        bandwidth in proptest::option::of(proptest::prelude::any::<f64>()),
        capability in proptest::option::of("[0-9.]{0,5}"),
    ) {
        let table = MachineRef {
            ram_mib: numbers[0],
            ram_in_use_mib: numbers[1],
            nodes,
            gpus: Some(vec![GpuRef {
                name,
                count,
                in_use_mib: numbers[2],
                usable_mib: numbers[3],
                vram_mib: numbers[4],
                bandwidth_gb_s: bandwidth,
                compute_capability: capability,
            }]),
            ..MachineRef::default()
        };
        let gpus = GpuCatalog::embedded().expect("GPU presets load");
        match resolve(Some(&table), None, &gpus, &MachineCatalog::default()) {
            Ok(machine) => {
                assert!(machine.gpus.len() * machine.nodes as usize <= 1024);
                assert!(machine.host.in_use <= machine.host.ram);
                assert!(machine.gpus.iter().all(|gpu| gpu.memory.usable <= gpu.memory.total));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}
