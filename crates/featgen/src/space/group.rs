//! Groups of input features, selected as a whole: disjoint, or overlapping as latent copies (section 2.3 of the paper).

use std::collections::HashSet;
use std::ops::Range;

use rayon::prelude::*;

use super::ask::Residuals;
use super::inputs::{Between, Sieve};
use super::topb::{Tops, Wanted};
use super::{
    Ask, Candidate, DataFacts, Demand, Feature, FeatureSpace, Footprint, Inputs, Members, Precision,
    Settings, WorstCase,
};
use crate::data::read::quoted;
use crate::digest::digest;
use crate::error::{Error, Place, Result};
use crate::operator::Operator;
use crate::parallel;

/// A group of more features is refused, or in a tree never proposed: it would be fitted as a whole.
pub const MOST_MEMBERS: usize = 1 << 16;

/// How much a group's size counts against it: its score is `s_g / eta_g^2`, its norm `eta_g^2 ||w_g||^2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GroupWeight {
    /// `eta_g = 1`: larger groups tend to win.
    #[default]
    None,
    /// `eta_g = sqrt(size of g)`: groups of noise score the same on average, whatever their size.
    Sqrt,
}

impl GroupWeight {
    /// `eta_g^2` of a group of `size` features.
    pub(super) fn squared(self, size: u32) -> f64 {
        match self {
            Self::None => 1.0,
            Self::Sqrt => size.max(1).into(),
        }
    }

    /// What the command calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Sqrt => "sqrt",
        }
    }

    /// `1 / eta_g`.
    pub(super) fn scale(self, size: u32) -> f64 {
        1.0 / self.squared(size).sqrt()
    }
}

/// Lists of features, one after the other, with the names of the groups.
///
/// Features are kept as positions of a storage: four bytes for each that occurs, and nothing for the others but their
/// count.
#[derive(Debug, Clone)]
pub struct Groups {
    /// Increasing within a group.
    members: Vec<u32>,
    ends: Vec<u64>,
    /// Members of each group with those that do not occur, as far as 32 bits count.
    sizes: Vec<u32>,
    pub(super) names: GroupNames,
    /// Number of columns that the groups are over.
    columns: u32,
    /// Where a file first speaks of a feature beyond the last that occurs, if it does.
    pub(super) beyond: Option<Place>,
    /// What the data lack, of groups that may name features that are not there.
    pub(super) lacking: Option<Lacking>,
}

/// What the data lack of the groups of a file that is made for many data sets, such as pathways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lacking {
    /// Different members that no feature is called.
    pub members: usize,
    /// All different members.
    pub of_members: usize,
    /// Groups without any member among the features, which are left out.
    pub groups: usize,
    /// All groups.
    pub of_groups: usize,
}

impl Groups {
    /// No groups yet, over the columns of `inputs`.
    pub fn over(inputs: &Inputs<'_>) -> Result<Self> {
        Ok(Self {
            members: Vec::new(),
            ends: Vec::new(),
            sizes: Vec::new(),
            names: GroupNames::default(),
            columns: inputs.held()?,
            beyond: None,
            lacking: None,
        })
    }

    /// Adds a group of features given by their ids, counted from 0. A group is a set: repeated ids count once.
    pub fn push(
        &mut self,
        inputs: &Inputs<'_>,
        name: Option<&str>,
        ids: impl IntoIterator<Item = u64>,
    ) -> Result<()> {
        let shown = || name.map_or_else(|| (self.len() + 1).to_string(), str::to_owned);
        let known = |id: u64| {
            let unknown = || Error::Data(format!("group {}: no feature {}", shown(), u128::from(id) + 1));
            (id < inputs.dimension()).then(|| id..id + 1).ok_or_else(unknown)
        };
        let mut ranges = ids.into_iter().map(known).collect::<Result<Vec<_>>>()?;
        if ranges.is_empty() {
            return Err(Error::Data(format!("group {} is empty", shown())));
        }
        self.push_known(inputs, name, &mut ranges);
        Ok(())
    }

    /// The same with ranges of ids that exist; sorts and joins them.
    pub(super) fn push_known(
        &mut self,
        inputs: &Inputs<'_>,
        name: Option<&str>,
        ranges: &mut Vec<Range<u64>>,
    ) {
        ranges.sort_unstable_by_key(|range| range.start);
        ranges.dedup_by(|next, range| {
            let joined = next.start <= range.end;
            if joined {
                range.end = range.end.max(next.end);
            }
            joined
        });
        let mut size = 0u64;
        for range in &*ranges {
            let positions = inputs.positions(range);
            self.members.extend(positions.start as u32..positions.end as u32);
            size += range.end - range.start;
        }
        self.names.push(self.ends.len(), name);
        self.ends.push(self.members.len() as u64);
        self.sizes.push(u32::try_from(size).unwrap_or(u32::MAX));
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Makes every feature that occurs and is in no group a group of its own.
    pub fn add_singletons(&mut self) {
        let covered = self.covered();
        self.names.rest_by_feature(self.len());
        for position in uncovered(&covered) {
            self.members.push(position);
            self.ends.push(self.members.len() as u64);
            self.sizes.push(1);
        }
    }

    /// Features that occur but are in no group: they cannot be selected.
    pub fn left_out(&self) -> usize {
        uncovered(&self.covered()).count()
    }

    /// Where the file first speaks of a feature beyond the last that occurs, if it does: it may be a mistake.
    pub fn beyond(&self) -> Option<&Place> {
        self.beyond.as_ref()
    }

    /// What the data lack, of groups that may name features that are not there.
    pub fn lacking(&self) -> Option<Lacking> {
        self.lacking
    }

    fn covered(&self) -> Vec<bool> {
        let mut covered = vec![false; self.columns()];
        self.members.iter().for_each(|&p| covered[p as usize] = true);
        covered
    }

    /// Where the members of group `g` begin.
    fn start(&self, g: usize) -> usize {
        if g == 0 { 0 } else { self.ends[g - 1] as usize }
    }

    /// The sum over the members of each of `groups` of what `values` has at their positions. Nothing else happens here: the
    /// time goes into fetching values from all over memory.
    fn sums(&self, groups: Range<usize>, values: &[f32]) -> Vec<f64> {
        let mut first = self.start(groups.start);
        let sum = |&end: &u64| {
            let members = &self.members[first..end as usize];
            first = end as usize;
            members.iter().map(|&p| f64::from(values[p as usize])).sum()
        };
        self.ends[groups].iter().map(sum).collect()
    }

    /// The members of group `g` that occur, by their positions.
    pub(super) fn present(&self, g: usize) -> &[u32] {
        &self.members[self.start(g)..self.ends[g] as usize]
    }

    /// Number of members of group `g`, with those that do not occur.
    pub(super) fn size(&self, g: usize) -> u32 {
        self.sizes[g]
    }

    /// Number of columns that the groups are over.
    pub(super) fn columns(&self) -> usize {
        self.columns as usize
    }
}

/// Positions that nothing covers.
pub(super) fn uncovered(covered: &[bool]) -> impl Iterator<Item = u32> + '_ {
    (0..).zip(covered).filter(|(_, covered)| !**covered).map(|(position, _)| position)
}

/// The names of groups in one piece of text; nothing at all while no group has a name.
#[derive(Debug, Clone, Default, Hash)]
pub(super) struct GroupNames {
    text: String,
    ends: Vec<u64>,
    /// From this group on, groups are single features and called like them.
    by_feature: Option<usize>,
}

impl GroupNames {
    /// Names group `g`; groups are named in order, and may have no name.
    pub(super) fn push(&mut self, g: usize, name: Option<&str>) {
        if let Some(name) = name {
            self.ends.resize(g, self.text.len() as u64);
            self.text.push_str(name);
            self.ends.push(self.text.len() as u64);
        }
    }

    /// Says that all groups from `g` on are single features.
    pub(super) fn rest_by_feature(&mut self, g: usize) {
        self.by_feature.get_or_insert(g);
    }

    /// Bytes that they take.
    pub(super) fn held(&self) -> usize {
        self.text.len() + 8 * self.ends.len()
    }

    /// The name of group `g`, if it has one of its own.
    pub(super) fn get(&self, g: usize) -> Option<&str> {
        let end = *self.ends.get(g)? as usize;
        let first = if g == 0 { 0 } else { self.ends[g - 1] as usize };
        Some(&self.text[first..end]).filter(|name| !name.is_empty())
    }

    /// What a user calls group `g`, whose first feature is given: its name, its feature's, or its number.
    pub(super) fn show(&self, g: usize, inputs: &Inputs<'_>, first: Option<u32>) -> String {
        let by_feature = first.filter(|_| self.by_feature.is_some_and(|from| g >= from));
        match (self.get(g), by_feature) {
            (Some(name), _) => name.to_owned(),
            (None, Some(position)) => {
                let name = inputs.name(&inputs.feature(position as usize));
                // A number alone could also be that of a group.
                if inputs.names().is_empty() { format!("feature {name}") } else { name }
            }
            (None, None) => (g + 1).to_string(),
        }
    }

    /// The same in messages about a file, where groups are neither long nor strange to a terminal.
    pub(super) fn quoted(&self, g: u32) -> String {
        self.get(g as usize).map_or_else(|| (u64::from(g) + 1).to_string(), |name| quoted(name.as_bytes()))
    }
}

/// Groups of input features to choose from.
pub struct GroupSpace<'a> {
    inputs: Inputs<'a>,
    groups: Groups,
    weight: GroupWeight,
    sieve: Sieve,
}

/// Groups that one task scores.
const TASK: usize = 1 << 12;

/// How much a rough sum, with its square root and all, may be off, relative to itself.
const ROUGHNESS: f64 = 1e-6;

/// What the rounding of a sum of squares may come to, relative to its root.
const SIFTED: f64 = 1e-10;

/// What squares too small for 32 bits beside the largest may come to.
const LOST: f64 = 1e-35;

impl<'a> GroupSpace<'a> {
    /// These groups of the features of `inputs`, over which they were made.
    pub fn new(inputs: Inputs<'a>, groups: Groups, weight: GroupWeight) -> Result<Self> {
        if groups.columns() != inputs.columns().len() {
            return Err(Error::Data("the groups belong to other data".into()));
        }
        Ok(Self { inputs, groups, weight, sieve: Sieve::default() })
    }

    /// The best groups, given the square of every column's correlation.
    fn best_of(&self, squares: &[f64], wanted: Wanted, taken: &[u32]) -> Tops<u32> {
        let count = self.groups.len();
        // Rough sums settle most groups: their table is half as large, and nearer to the processor.
        let largest = squares.iter().fold(f64::MIN_POSITIVE, |most, &square| most.max(square));
        let rough: Vec<f32> = squares.iter().map(|square| (square / largest) as f32).collect();
        // Tops go from task to task: the later ones begin with a threshold, and the result is the same however they are shared.
        let score = |mut tops: Tops<u32>, task: usize| {
            // A rough square below which nobody has a chance.
            let enough_for = |threshold: f64| threshold.max(0.0).powi(2) / largest * (1.0 - ROUGHNESS);
            let mut enough = enough_for(tops.threshold());
            let groups = task * TASK..count.min((task + 1) * TASK);
            let sums = self.groups.sums(groups.clone(), &rough);
            for (g, sum) in groups.zip(sums) {
                if sum + LOST >= enough * self.weight.squared(self.groups.size(g)) {
                    self.offer(g, squares, &mut tops, taken);
                    enough = enough_for(tops.threshold());
                }
            }
            tops
        };
        let tasks = (0..count.div_ceil(TASK)).into_par_iter();
        let tops = tasks.fold(|| Tops::new(wanted), score).reduce_with(Tops::merge);
        tops.unwrap_or_else(|| Tops::new(0))
    }

    /// The same, given between which the lengths of all columns' correlations are: only the columns of groups that may be among the
    /// best have theirs computed.
    fn sifted(
        &self,
        v: Residuals<'_>,
        lengths: &[Between],
        wanted: Wanted,
        taken: &[u32],
    ) -> Result<Tops<u32>> {
        let score = |g: usize| {
            let sum = |size: fn(&Between) -> f64| {
                let squares = self.groups.present(g).iter().map(|&p| size(&lengths[p as usize]).powi(2));
                (squares.sum::<f64>() / self.weight.squared(self.groups.size(g))).sqrt()
            };
            Between {
                least: sum(|length| length.least) * (1.0 - SIFTED),
                most: sum(|length| length.most) * (1.0 + SIFTED),
            }
        };
        let scores: Vec<Between> = parallel::map_runs(self.groups.len(), TASK, score);
        let mut known = Tops::new(wanted);
        (0..).zip(&scores).for_each(|(g, score)| known.offer(score.least, g, taken));
        let left: Vec<usize> =
            (0..scores.len()).filter(|&g| !scores[g].is_surely_below(known.threshold())).collect();
        let mut needed = vec![false; lengths.len()];
        left.iter().flat_map(|&g| self.groups.present(g)).for_each(|&p| needed[p as usize] = true);
        let positions = (0..needed.len()).filter(|&p| needed[p]);
        let squares = self.inputs.squares_at(positions, v, &self.sieve)?;
        let mut tops = Tops::new(wanted);
        left.into_iter().for_each(|g| self.offer(g, &squares, &mut tops, taken));
        Ok(tops)
    }

    /// Offers a group by its score.
    fn offer(&self, g: usize, squares: &[f64], tops: &mut Tops<u32>, taken: &[u32]) {
        let sum: f64 = self.groups.present(g).iter().map(|&p| squares[p as usize]).sum();
        tops.offer((sum / self.weight.squared(self.groups.size(g))).sqrt(), g as u32, taken);
    }
}

impl FeatureSpace for GroupSpace<'_> {
    fn data(&self) -> &dyn DataFacts {
        &self.inputs
    }

    fn size(&self) -> u128 {
        self.groups.len() as u128
    }

    fn worst_case(&self, ask: &Ask<'_>) -> Result<WorstCase> {
        let (v, wanted) = (ask.residuals(self.inputs.rows())?, ask.wanted(self.groups.len()));
        let taken = taken_groups(&ask.taken);
        let tops = match self.inputs.lengths_roughly(v, wanted, self.groups.len(), &self.sieve)? {
            Some(lengths) => self.sifted(v, &lengths, wanted, &taken)?,
            None => self.best_of(&self.inputs.squares(v)?, wanted, &taken),
        };
        Ok(WorstCase::new(tops, self.groups.len() as u128, Candidate::Group))
    }

    fn precision(&self) -> Result<Precision> {
        let members = |g: usize| self.groups.present(g).len();
        let square = |g: usize| members(g) as f64 / self.weight.squared(self.groups.size(g));
        let most = (0..self.groups.len()).map(square).fold(0.0, f64::max);
        let largest_group = (0..self.groups.len()).map(members).max().unwrap_or(0);
        Ok(Precision::of_groups(self.inputs.radius()? * most.sqrt(), largest_group))
    }

    fn group(&self, candidate: &Candidate) -> Result<Members> {
        let g = group_number(candidate, self.groups.len())?;
        let present = self.groups.present(g);
        let size = self.groups.size(g);
        let (features, column_scales) = self.inputs.members(present);
        Ok(Members {
            name: Some(self.groups.names.show(g, &self.inputs, present.first().copied())),
            size: size as usize,
            features,
            scale: self.weight.scale(size),
            column_scales,
            range: None,
        })
    }

    fn generate(&self, features: &[Feature]) -> Result<Vec<Operator>> {
        self.inputs.operators(features)
    }

    fn settings(&self) -> Settings {
        let Groups { members, ends, sizes, names, .. } = &self.groups;
        let settings = grouped(self.groups.len(), digest((members, ends, sizes, names)), self.weight);
        settings.into_iter().chain(self.inputs.scale_setting()).collect()
    }

    fn suggested_cost(&self, features: usize, weights: Option<&[f64]>) -> Result<Option<f64>> {
        self.inputs.suggested_cost(features, weights)
    }

    fn footprint(&self, demand: &Demand) -> Footprint {
        let Groups { members, ends, names, .. } = &self.groups;
        let held = 4 * members.len() + 12 * ends.len() + names.held();
        // Squared sums, and rough ones.
        let search = (held + 12 * self.groups.columns()) as u64 + self.inputs.sums_bytes(demand.outputs);
        let group = |g: usize| self.inputs.extent(self.groups.present(g));
        let groups = (0..self.groups.len()).map(group);
        let footprint = Footprint::of_groups(search, self.inputs.rows(), groups, demand);
        // Between which the scores of columns and of groups are.
        let sift = ((self.groups.columns() + ends.len()) * size_of::<Between>()) as u64;
        let sift = match self.inputs.columns().rough_bytes() {
            0 => 0,
            copy => copy.saturating_add(sift),
        };
        Footprint { most: footprint.most.saturating_add(sift), ..footprint }
    }

    fn limit(&mut self, _bytes: u64) {
        // What rough sums need is all that can be done without.
        self.sieve.room = 0;
    }
}

/// The settings of a space of so many groups, with their digest.
pub(super) fn grouped(count: usize, digest: u64, weight: GroupWeight) -> Settings {
    let groups = format!("of {count} groups with checksum {digest:016x}");
    vec![("space", "linear".into()), ("groups", groups), ("group-weight", weight.name().into())]
}

/// The groups among candidates, in order.
pub(super) fn taken_groups(taken: &HashSet<Candidate>) -> Vec<u32> {
    let number = |candidate: &Candidate| match candidate {
        Candidate::Group(g) => Some(*g),
        Candidate::Feature(_) => None,
    };
    let mut groups: Vec<u32> = taken.iter().filter_map(number).collect();
    groups.sort_unstable();
    groups
}

/// The number of a candidate that is one of `count` groups.
pub(super) fn group_number(candidate: &Candidate, count: usize) -> Result<usize> {
    match candidate {
        Candidate::Group(g) if (*g as usize) < count => Ok(*g as usize),
        other => Err(Error::Data(format!("no group {other:?} among {count}"))),
    }
}
