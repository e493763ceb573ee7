//! libFuzzer on the target `arrow`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| featgen_fuzz::arrow(bytes));
