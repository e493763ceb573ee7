//! libFuzzer on the target `gmt`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| featgen_fuzz::gmt(bytes));
