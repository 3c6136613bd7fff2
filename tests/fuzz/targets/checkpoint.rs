//! A folder with a configuration and weights.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| plimsoll_fuzz::checkpoint(input));
