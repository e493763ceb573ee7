//! libFuzzer on the target `store`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| featgen_fuzz::store(bytes));
