//! Exports: what stands in them, and what they say where they run.

mod common;
mod homes;
mod structure;
