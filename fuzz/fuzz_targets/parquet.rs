//! libFuzzer on the target `parquet`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| featgen_fuzz::parquet(bytes));
