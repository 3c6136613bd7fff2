//! Main memory, processor, disk.

use plimsoll::hardware::probe::{Sources, SystemSource};
use plimsoll::units::Bytes;

use super::mock::{Fake, codes, host};

#[test]
fn this_machine_has_memory_and_a_processor() {
    let mut fake = Fake::new();
    fake.sources.system = SystemSource::System;
    fake.sources.proc_root = Sources::default().proc_root;
    fake.sources.models_folder = Some(fake.path().join("models/not/there/yet"));
    let detection = fake.detect();
    let host = &detection.machine.host;
    assert!(host.ram > Bytes::from_mib(64));
    assert!(host.in_use <= host.ram);
    assert!(host.disk_free.is_some(), "{detection:#?}");
    assert!(host.cpu_features.windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn a_containers_limit_is_all_there_is() {
    let mut fake = Fake::new();
    let mut facts = host(64);
    facts.cgroup_limit = Some(Bytes::from_gib(16));
    facts.cgroup_free = Some(Bytes::from_gib(10));
    fake.sources.system = SystemSource::Recorded(Box::new(facts.clone()));
    let machine = fake.detect().machine;
    assert_eq!(machine.host.ram, Bytes::from_gib(16));
    assert_eq!(machine.host.in_use, Bytes::from_gib(6));
    // A limit above what there is limits nothing.
    facts.cgroup_limit = Some(Bytes::from_gib(512));
    fake.sources.system = SystemSource::Recorded(Box::new(facts));
    let machine = fake.detect().machine;
    assert_eq!(machine.host.ram, Bytes::from_gib(64));
    assert_eq!(machine.host.in_use, Bytes::from_gib(8));
}

#[test]
fn unknown_memory_is_said() {
    let mut fake = Fake::new();
    fake.sources.system = SystemSource::Recorded(Box::default());
    let detection = fake.detect();
    assert!(codes(&detection).contains(&"ram-unknown"));
    assert_eq!(detection.machine.host.ram, Bytes::ZERO);
}

#[test]
fn features_are_the_kernels_words() {
    let mut fake = Fake::new();
    fake.sources.system = SystemSource::System;
    fake.file(
        "proc/cpuinfo",
        "processor\t: 0\nflags\t\t: fpu sse4_2 fma avx avx2 avx512f avx512_vnni amx_int8 amx_tile\n",
    );
    fake.file(
        "proc/sys/kernel/osrelease",
        "5.15.167.4-microsoft-standard-WSL2\n",
    );
    fake.file(
        "proc/device-tree/model",
        "NVIDIA Jetson AGX Orin Developer Kit\0",
    );
    for node in 0..2 {
        let meminfo =
            format!("Node {node} MemTotal:  1048576 kB\nNode {node} MemFree:  524288 kB\n");
        fake.file(
            &format!("sys/devices/system/node/node{node}/meminfo"),
            &meminfo,
        );
    }
    let host = fake.detect().host;
    assert_eq!(
        host.cpu_features,
        [
            "amx_int8",
            "amx_tile",
            "avx",
            "avx2",
            "avx512_vnni",
            "avx512f",
            "fma",
            "sse4_2"
        ]
    );
    assert!(host.wsl);
    assert_eq!(
        host.board.as_deref(),
        Some("NVIDIA Jetson AGX Orin Developer Kit")
    );
    assert_eq!(host.numa_memory.len(), 2);
    assert_eq!(host.numa_memory[&1].total, Bytes::from_gib(1));
    assert_eq!(host.numa_memory[&1].free, Bytes::from_mib(512));
}
