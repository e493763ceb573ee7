//! libFuzzer on the target `labels`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| featgen_fuzz::labels(bytes));
