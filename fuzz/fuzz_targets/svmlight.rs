//! libFuzzer on the target `svmlight`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| featgen_fuzz::svmlight(bytes));
