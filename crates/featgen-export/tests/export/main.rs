//! Exports: what stands in them, and what they say where they run.

#![allow(clippy::print_stderr)] // a skipped test says so

mod common;
mod homes;
mod structure;
