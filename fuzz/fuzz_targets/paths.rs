//! libFuzzer on the target `paths`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| featgen_fuzz::paths(bytes));
