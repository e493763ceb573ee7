//! libFuzzer on the target `model`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| featgen_fuzz::model(bytes));
