//! Columns that are elsewhere: in other processes, on other machines. A driver runs the machine; each shard holds a range of the
//! columns, for all rows, and answers questions about them.
//!
//! Nothing here knows how bytes travel: a [`Shards`] hands a request to every shard and brings the replies. An answer is a pure
//! function of the columns of the shard and of the request, so that a shard that is lost is loaded again elsewhere and asked again.
//!
//! For the driver, [`ShardColumns`] is a storage like any other, and spaces over it are the ordinary ones. Only where a space would
//! have to see every sum, or every value, it asks the shards for the best of theirs instead, and merges. Sums over a column are made
//! where the column is, in the order that its storage has everywhere, and ties are broken by ids: the model is the same to the bit for
//! any number of shards.

mod columns;
mod message;
mod server;

pub use columns::ShardColumns;
pub(super) use message::{Question, SentColumn, Vectors};
pub use server::ShardServer;
pub(super) use server::{Memory, remembered, reply};

use super::{
    Ask, Candidate, DataFacts, Demand, Feature, FeatureSpace, Footprint, Members, Precision, Settings,
    WorstCase,
};
use crate::error::Result;
use crate::operator::Operator;

/// Where the shards are.
pub trait Shards: Send + Sync {
    /// Hands a request to every shard; the replies, in the order of the shards, which is that of their columns. An error if a shard
    /// cannot be asked, also when it was tried again.
    fn ask(&self, request: &[u8]) -> Result<Vec<Vec<u8>>>;
}

/// Shards in this process.
impl Shards for Vec<ShardServer> {
    fn ask(&self, request: &[u8]) -> Result<Vec<Vec<u8>>> {
        Ok(self.iter().map(|shard| shard.answer(request)).collect())
    }
}

/// A space over shards. Sums over columns cannot fail, so that a storage has no way to say that a shard could not be asked: it is
/// said here.
pub(super) struct ShardedSpace<'a> {
    pub(super) space: Box<dyn FeatureSpace + 'a>,
    pub(super) columns: &'a ShardColumns<'a>,
}

impl FeatureSpace for ShardedSpace<'_> {
    fn data(&self) -> &dyn DataFacts {
        self
    }

    fn size(&self) -> u128 {
        self.space.size()
    }

    fn worst_case(&self, ask: &Ask<'_>) -> Result<WorstCase> {
        self.columns.settle(self.space.worst_case(ask))
    }

    fn precision(&self) -> Result<Precision> {
        self.columns.settle(self.space.precision())
    }

    fn group(&self, candidate: &Candidate) -> Result<Members> {
        self.columns.settle(self.space.group(candidate))
    }

    fn generate(&self, features: &[Feature]) -> Result<Vec<Operator>> {
        self.columns.settle(self.space.generate(features))
    }

    fn aliases(&self, features: &[Feature], most: usize) -> Result<Vec<Vec<Feature>>> {
        self.columns.settle(self.space.aliases(features, most))
    }

    fn settings(&self) -> Settings {
        self.space.settings()
    }

    fn suggested_cost(&self, features: usize, weights: Option<&[f64]>) -> Result<Option<f64>> {
        self.columns.settle(self.space.suggested_cost(features, weights))
    }

    fn footprint(&self, demand: &Demand) -> Footprint {
        self.space.footprint(demand)
    }

    fn limit(&mut self, bytes: u64) {
        self.space.limit(bytes);
    }

    fn name(&self, feature: &Feature) -> String {
        self.space.name(feature)
    }
}

impl DataFacts for ShardedSpace<'_> {
    fn rows(&self) -> usize {
        self.space.data().rows()
    }

    fn dimension(&self) -> u64 {
        self.space.data().dimension()
    }

    fn nonzeros(&self) -> u64 {
        self.space.data().nonzeros()
    }

    fn input_name(&self, id: u64) -> String {
        self.space.data().input_name(id)
    }

    fn named(&self) -> bool {
        self.space.data().named()
    }

    fn label_column(&self) -> Option<String> {
        self.space.data().label_column()
    }

    fn names_digest(&self) -> u64 {
        self.space.data().names_digest()
    }

    fn fingerprint(&self) -> Result<u64> {
        self.columns.settle(self.space.data().fingerprint())
    }
}
