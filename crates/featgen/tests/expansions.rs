//! Spaces that are never written down find the optimum that a conic solver finds on the features written down.

mod common;

use std::collections::HashSet;

use common::{Problem, optimum};
use featgen::space::{AdditiveSpace, Ask, Candidate, FeatureSpace, Inputs, PolySpace};

const GAP: f64 = 1e-6;

/// Every candidate's columns, scaled as the space scales them.
fn expansion(space: &dyn FeatureSpace, candidates: &[Candidate], n: usize) -> (Vec<Vec<f64>>, Vec<usize>) {
    let (mut columns, mut sizes) = (Vec::new(), Vec::new());
    for candidate in candidates {
        let group = space.group(candidate).unwrap();
        sizes.push(group.features.len());
        for operator in space.generate(&group.features).unwrap() {
            for l in 0..operator.width() {
                let unit: Vec<f64> =
                    (0..operator.width()).map(|k| if k == l { group.scale } else { 0.0 }).collect();
                let mut column = vec![0.0; n];
                operator.apply(&unit, &mut column);
                columns.push(column);
            }
        }
    }
    (columns, sizes)
}

/// Candidates are what the worst case proposes if all are asked for, at duals that no feature is blind to.
fn all_candidates(space: &dyn FeatureSpace, n: usize) -> Vec<Candidate> {
    let duals: Vec<f64> = (0..n).map(|i| ((i * i) as f64 + 0.7).sin()).collect();
    let found = space.worst_case(&Ask::one(&duals, 10_000, &HashSet::new())).unwrap();
    found.best.into_iter().map(|scored| scored.item).collect()
}

fn agrees(problem: &Problem, space: &dyn FeatureSpace, what: &str) {
    let (columns, sizes) = expansion(space, &all_candidates(space, problem.signs.len()), problem.signs.len());
    let costs = problem.costs(problem.cost);
    let expected =
        optimum(&columns, &sizes, &problem.signs, &costs, problem.loss, problem.budget, problem.shift);
    for solver in ["auto", "newton"] {
        let machine = problem.machine().gap(GAP).solver(solver);
        let model = machine.fit(space, &problem.labels()).unwrap();
        let (found, gap) = (model.certificate.objective, model.certificate.gap());
        let away = (found - expected) / expected;
        assert!(away.abs() <= GAP, "{problem}, {what}, {solver}: {found}, not {expected}: {away:e} away");
        assert!(gap <= GAP, "{problem}, {what}, {solver}: a gap of {gap:e}");
    }
}

/// The same problem with few and nonnegative features, so that its expansion is one that can be written down.
fn small(seed: u64) -> Problem {
    let mut problem = Problem::mild(seed);
    problem.columns.truncate(8);
    problem.ids.truncate(8);
    problem.columns.iter_mut().flatten().for_each(|x| *x = x.abs());
    problem
}

#[test]
fn products_of_two_agree() {
    for (k, (gamma, coef0)) in [(1.0, 1.0), (0.5, 0.0), (2.0, 0.3)].into_iter().enumerate() {
        for problem in (0..14).map(|seed| small(20 * k as u64 + seed)) {
            let columns = problem.store();
            let space = PolySpace::new(Inputs::over(&*columns), gamma, coef0).unwrap();
            agrees(&problem, &space, &format!("gamma {gamma}, coef0 {coef0}"));
        }
    }
}

#[test]
fn curves_agree() {
    for problem in (0..20).map(small) {
        let columns = problem.store();
        let inputs = Inputs::over(&*columns);
        agrees(&problem, &AdditiveSpace::hik(inputs, 7).unwrap(), "hik");
        agrees(&problem, &AdditiveSpace::intersection(inputs, 5, 0.5).unwrap(), "intersection");
        agrees(&problem, &AdditiveSpace::gaussian(inputs, None).unwrap(), "gaussian");
    }
}

/// So many levels that their curvature is not written down.
#[test]
fn curves_of_many_levels_agree() {
    for problem in (0..10).map(small) {
        let columns = problem.store();
        let inputs = Inputs::over(&*columns);
        agrees(&problem, &AdditiveSpace::hik(inputs, 60).unwrap(), "hik of 60 levels");
        agrees(&problem, &AdditiveSpace::intersection(inputs, 300, 0.5).unwrap(), "intersection of 300");
    }
}

/// What is saved and loaded predicts what the solver saw.
#[test]
fn predictions_follow_from_the_raw_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    for problem in (0..10).map(small) {
        let columns = problem.store();
        let inputs = Inputs::over(&*columns);
        let spaces: [Box<dyn FeatureSpace>; 3] = [
            Box::new(PolySpace::new(inputs, 1.0, 1.0).unwrap()),
            Box::new(AdditiveSpace::hik(inputs, 9).unwrap()),
            Box::new(AdditiveSpace::gaussian(inputs, None).unwrap()),
        ];
        for space in &spaces {
            let model = problem.machine().fit(&**space, &problem.labels()).unwrap();
            model.save(&path).unwrap();
            let mut loaded = featgen::Model::load(&path).unwrap();
            loaded.rounds.iter_mut().zip(&model.rounds).for_each(|(a, b)| a.seconds = b.seconds);
            assert!(loaded == model, "{problem}");
            let data = featgen::Dataset::new(problem.store(), problem.labels(), Default::default(), "test");
            let decision = loaded.decision(&data).unwrap();
            let scores = loaded.scores(&decision, &loaded.truth(&data.labels).unwrap());
            assert_eq!(scores.accuracy, model.training.accuracy, "{problem}");
            let margins: Vec<f64> = decision.iter().zip(&problem.signs).map(|(f, y)| f * y).collect();
            let costs = problem.costs(problem.cost);
            let loss: f64 = margins.iter().zip(&costs).map(|(z, c)| c * problem.loss.at(*z)[0]).sum();
            assert!(loss <= model.certificate.objective * (1.0 + 1e-9), "{problem}: {loss}");
        }
    }
}

/// Curves are what terms add up to.
#[test]
fn curves_have_points() {
    let problem = small(3);
    let columns = problem.store();
    let space = AdditiveSpace::hik(Inputs::over(&*columns), 20).unwrap();
    let model = problem.machine().fit(&space, &problem.labels()).unwrap();
    for selected in model.selected_groups() {
        let points = model.curve(&selected, 0);
        assert!(points[0][0] > 0.0 || points[0] == [0.0, 0.0]);
        assert!(points.windows(2).all(|pair| pair[0][0] <= pair[1][0]));
        let top: f64 = selected.terms.iter().map(|term| term.weight.one()).sum();
        let last = points.last().unwrap();
        let step = selected.terms[0].feature.as_step().expect("a step");
        assert!((last[1] - top * (step.top.0 / 20.0).sqrt()).abs() < 1e-9);
    }
}
