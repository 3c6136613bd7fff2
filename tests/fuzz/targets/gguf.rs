//! A GGUF file or a set of two parts.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| plimsoll_fuzz::gguf(input));
