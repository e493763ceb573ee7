//! libFuzzer on the target `csv`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| featgen_fuzz::csv(bytes));
