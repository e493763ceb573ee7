//! libFuzzer on the target `mtx`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| featgen_fuzz::mtx(bytes));
