//! Groups of columns, disjoint, overlapping, or nested in a tree.

use std::collections::HashSet;

use featgen::data::Columns;
use featgen::space::{
    Ask, Candidate, Feature, FeatureSpace, GroupSpace, GroupWeight, Groups, Inputs, Scored, Tree, TreeSpace,
};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::common::{Storage, nested, overlapping};
use crate::contract::{Known, MOST_OUTPUTS, keeps_the_contract};
use crate::{cases, integers, reals};

/// The candidates of a space of groups, given by the columns they hold.
fn grouped(
    stored: &dyn Columns,
    columns: &[Vec<f64>],
    groups: &[Vec<usize>],
    weight: GroupWeight,
) -> Vec<Known> {
    let known = |(g, members): (u32, &Vec<usize>)| Known {
        candidate: Candidate::Group(g),
        features: members.iter().map(|&j| (Feature::input(stored.id(j)), columns[j].clone())).collect(),
        eta_squared: if weight == GroupWeight::Sqrt { members.len() as f64 } else { 1.0 },
    };
    (0..).zip(groups).map(known).collect()
}

/// The same groups as the library holds them.
fn lists(inputs: &Inputs<'_>, groups: &[Vec<usize>]) -> Groups {
    let mut lists = Groups::over(inputs).unwrap();
    for members in groups {
        lists.push(inputs, None, members.iter().map(|&j| inputs.columns().id(j))).unwrap();
    }
    lists
}

const WEIGHTS: [GroupWeight; 2] = [GroupWeight::None, GroupWeight::Sqrt];

/// A group space, and a tree space where the groups form a tree, over all storages and with all weights.
fn check_groups(columns: &[Vec<f64>], groups: &[Vec<usize>], tree: bool, vs: &[Vec<f64>], exact: bool) {
    for (storage, weight) in Storage::ALL.into_iter().flat_map(|s| WEIGHTS.map(|w| (s, w))) {
        let stored =
            storage.store(columns, &(0..columns.len() as u64).map(|j| 7 * j + 2).collect::<Vec<_>>());
        let inputs = Inputs::over(&*stored);
        let known = grouped(&*stored, columns, groups, weight);
        let lists = lists(&inputs, groups);
        let what = format!("{} groups, {weight:?}, over {storage:?}", groups.len());
        if tree {
            let space = TreeSpace::new(inputs, Tree::new(&lists).unwrap(), weight).unwrap();
            keeps_the_contract(&space, &known, vs, exact, &format!("tree of {what}"));
        }
        let space = GroupSpace::new(inputs, lists, weight).unwrap();
        keeps_the_contract(&space, &known, vs, exact, &what);
    }
}

proptest! {
    #![proptest_config(cases(40))]

    /// Random trees, random overlapping groups; integers, so that ties are frequent and exact, and real numbers.
    #[test]
    fn groups_and_trees(seed in any::<u64>(), n in 2usize..30, m in 1usize..40, exact in any::<bool>()) {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let columns: Vec<_> = (0..m)
            .map(|_| if exact { integers(rng, n, 2, 0.5) } else { reals(rng, n) })
            .collect();
        let all = MOST_OUTPUTS * n;
        let vs = [if exact { integers(rng, all, 2, 0.3) } else { reals(rng, all) }];
        check_groups(&columns, &nested(rng, m), true, &vs, exact);
        check_groups(&columns, &overlapping(rng, m), false, &vs, exact);
    }
}

#[test]
fn large_groups_are_summed_as_exactly_as_small_ones() {
    let rng = &mut ChaCha8Rng::seed_from_u64(11);
    let m = 2000;
    // Most of the sum stands before the features of the later groups.
    let columns: Vec<_> = (0..m)
        .map(|j| vec![if j < 10 { 1e6 } else { f64::from(rng.random_range(0.0f32..1.0)) }, 1.0])
        .collect();
    let mut groups = vec![(0..m).collect::<Vec<_>>(), (10..m).collect(), (500..m).collect()];
    groups.extend((0..40).map(|k| (500 + 35 * k..500 + 35 * (k + 1)).collect()));
    check_groups(&columns, &groups, true, &[[1.0, 0.0].repeat(MOST_OUTPUTS)], false);
}

/// A balanced binary tree of 2^20 - 1 groups over 2^19 features, some of which matter: most of it is never looked at.
#[test]
fn most_of_a_large_tree_is_left_alone() {
    const LEAVES: usize = 1 << 19;
    const ROWS: u32 = 64;
    let rng = &mut ChaCha8Rng::seed_from_u64(12);
    let rows: Vec<u32> = (0..LEAVES).map(|_| rng.random_range(0..ROWS)).collect();
    let matters = |j: usize| j % 10_007 == 5;
    let values = (0..LEAVES).map(|j| if matters(j) { 10.0 } else { 0.01 }).collect();
    let columns = featgen::data::Sparse::new(
        ROWS as usize,
        LEAVES as u64,
        (0..LEAVES as u64).collect(),
        (0..=LEAVES as u64).collect(),
        rows,
        featgen::data::Values::F64(values),
    )
    .unwrap();
    let inputs = Inputs::over(&columns);
    let mut lists = Groups::over(&inputs).unwrap();
    let mut width = LEAVES;
    while width > 0 {
        for first in (0..LEAVES).step_by(width) {
            lists.push(&inputs, None, first as u64..(first + width) as u64).unwrap();
        }
        width /= 2;
    }
    assert_eq!(lists.len(), 2 * LEAVES - 1);
    let v: Vec<f64> = (0..2 * ROWS).map(|i| 0.5 + f64::from(i % 7)).collect();
    for weight in WEIGHTS {
        let tree = Tree::new(&lists).unwrap();
        let space = TreeSpace::new(inputs, tree, weight).unwrap();
        let none = HashSet::new();
        let found = space.worst_case(&Ask::many(&v, 2, 20, &none)).unwrap();
        // Groups too large to be fitted as one are not among a tree's candidates: leave them out of the comparison.
        let all = GroupSpace::new(inputs, lists.clone(), weight).unwrap();
        let expected = all.worst_case(&Ask::many(&v, 2, 20 + 15, &none)).unwrap();
        let small =
            |s: &&Scored<Candidate>| space.group(&s.item).unwrap().size <= featgen::space::MOST_MEMBERS;
        let expected: Vec<&Scored<Candidate>> = expected.best.iter().filter(small).take(20).collect();
        assert_eq!(found.best.len(), expected.len());
        for (found, expected) in found.best.iter().zip(expected) {
            assert!(
                (found.score / expected.score - 1.0).abs() < 1e-12,
                "{weight:?}: {found:?}, not {expected:?}"
            );
        }
        assert!(found.scored < 5000, "{weight:?}: {} groups scored", found.scored);
    }
}

#[test]
fn crossing_groups_are_named() {
    let columns = vec![vec![1.0, 2.0]; 6];
    let stored = Storage::ALL[0].store(&columns, &[]);
    let inputs = Inputs::over(&*stored);
    let crossing = |groups: &[Vec<usize>]| Tree::new(&lists(&inputs, groups)).unwrap_err();
    let found = crossing(&[vec![0, 1, 2, 3], vec![0, 1], vec![2, 3], vec![1, 2]]);
    let [a, b] = found.groups;
    assert_eq!((a, found.only[0] + found.shared), (3, 3), "{found:?}");
    assert!(b == 1 && found.only[1] == 0 || b == 2 && found.only[1] == 3, "{found:?}");
    let found = crossing(&[vec![0, 1, 2], vec![2, 3]]);
    assert_eq!((found.groups, found.shared, found.only), ([1, 0], 2, [3, 0]));
}
