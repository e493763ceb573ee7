//! libFuzzer on the target `parents`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| featgen_fuzz::parents(bytes));
