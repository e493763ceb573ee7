//! What `demo` can be told.

use clap::Args;

/// See it work: make data in memory, find the relevant features again, and compare.
#[derive(Args)]
#[command(after_help = "\
Examples:
  featgen demo
  featgen demo --features 100000 --relevant 20 --select 20 --seed 7")]
pub(crate) struct DemoArgs {
    /// Training instances; 1,000 more are for the test
    #[arg(long, value_name = "N", default_value_t = 4000)]
    pub(crate) rows: usize,

    /// Features
    #[arg(long, value_name = "M", default_value_t = 10_000)]
    pub(crate) features: usize,

    /// Features that decide the labels
    #[arg(long, value_name = "R", default_value_t = 30)]
    pub(crate) relevant: usize,

    /// Features to select
    #[arg(long, value_name = "K", default_value_t = 30)]
    pub(crate) select: usize,

    /// What makes the random numbers differ
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
}
