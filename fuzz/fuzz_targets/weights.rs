//! libFuzzer on the target `weights`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| featgen_fuzz::weights(bytes));
