//! libFuzzer on the target `plink`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| featgen_fuzz::plink(bytes));
