//! A plan file.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| plimsoll_fuzz::plan(input));
