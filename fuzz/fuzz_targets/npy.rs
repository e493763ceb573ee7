//! libFuzzer on the target `npy`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| featgen_fuzz::npy(bytes));
