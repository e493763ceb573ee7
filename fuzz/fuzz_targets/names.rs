//! libFuzzer on the target `names`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| featgen_fuzz::names(bytes));
