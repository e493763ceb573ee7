//! libFuzzer on the target `checkpoint`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| featgen_fuzz::checkpoint(bytes));
