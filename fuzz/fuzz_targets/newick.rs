//! libFuzzer on the target `newick`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| featgen_fuzz::newick(bytes));
