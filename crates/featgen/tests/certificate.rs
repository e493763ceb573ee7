//! What every round of every run claims is true: its bounds enclose the optimum, its weights are as good as it says.

mod common;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use common::Problem;
use featgen::machine::{Select, Stop};
use featgen::model::{Round, Seconds};
use featgen::operator::Operator;
use featgen::space::{
    Ask, Candidate, DataFacts, Demand, Feature, FeatureSpace, Footprint, Members, Precision, Settings,
    WorstCase,
};
use featgen::{Error, LinearSpace, Machine, Model, Result};

/// Beyond what rounding explains.
const SLACK: f64 = 1e-9;

/// Beyond what the reference may be off by: some problems are hard for it.
const REFERENCE: f64 = 1e-8;

/// Runs the machine and checks all that must hold of any run.
fn checked(problem: &Problem, machine: &Machine) -> Model {
    let columns = problem.store();
    let mut seen: Vec<Round> = Vec::new();
    let mut observer = |round: &Round| seen.push(round.clone());
    let space = LinearSpace::over(&*columns);
    let model = machine.fit_observed(&space, &problem.labels(), &mut observer).unwrap();
    // While a run goes on, terms are not numbered for good.
    let told = |round: &Round| Round { terms: Vec::new(), seconds: Seconds::default(), ..round.clone() };
    let same = seen.iter().map(told).eq(model.rounds.iter().map(told));
    assert!(same, "{problem}: the observer saw other rounds");

    let distinct: HashSet<&Feature> = model.terms.iter().map(|term| &term.feature).collect();
    assert_eq!(distinct.len(), model.terms.len(), "{problem}: a feature has two terms");

    let mut optima: HashMap<u64, f64> = HashMap::new();
    for round in &model.rounds {
        let optimum = *optima.entry(round.cost.to_bits()).or_insert_with(|| problem.optimum(round.cost));
        let (t, objective, bound) = (round.round, round.objective, round.lower_bound);
        assert!(
            bound <= optimum * (1.0 + REFERENCE),
            "{problem}, round {t}: bound {bound} above optimum {optimum}"
        );
        assert!(
            objective >= optimum * (1.0 - REFERENCE),
            "{problem}, round {t}: {objective} below optimum {optimum}"
        );
        assert_eq!(round.selected, round.terms.len(), "{problem}, round {t}");
        assert!(
            round.weights.iter().all(|w| *w != 0.0),
            "{problem}, round {t}: a selected feature without weight"
        );
        assert!(
            round.terms.iter().all(|&k| model.terms[k].round <= t),
            "{problem}, round {t}: a later feature"
        );
        let w = weights(
            problem,
            &*columns,
            round.terms.iter().map(|&k| &model.terms[k].feature).zip(&round.weights),
        );
        let reached = problem.objective(&w, round.bias.one(), round.cost);
        assert!(
            reached <= objective * (1.0 + SLACK),
            "{problem}, round {t}: {reached} at its weights, not {objective}"
        );
    }
    for pair in model.rounds.windows(2).filter(|pair| pair[0].cost == pair[1].cost) {
        let (before, after, t) = (&pair[0], &pair[1], pair[1].round);
        let (rise, fall) = (after.objective / before.objective - 1.0, after.lower_bound - before.lower_bound);
        assert!(rise <= 1e-12, "{problem}, round {t}: the objective rises by {rise:e}");
        assert!(fall >= 0.0, "{problem}, round {t}: the lower bound falls by {fall:e}");
    }
    check_path(problem, &model);
    model
}

/// The weights by column.
fn weights<'a>(
    problem: &Problem,
    columns: &dyn featgen::data::Columns,
    terms: impl Iterator<Item = (&'a Feature, &'a f64)>,
) -> Vec<f64> {
    let mut w = vec![0.0; problem.columns.len()];
    for (feature, weight) in terms {
        let id = feature.as_input().unwrap_or_else(|| panic!("{problem}: {feature:?} is not an input"));
        w[columns.position(id).expect("a column that exists")] = *weight;
    }
    w
}

/// The model at each number of features is the round that had it.
fn check_path(problem: &Problem, model: &Model) {
    for (t, round) in model.rounds.iter().enumerate() {
        if model.rounds[t + 1..].iter().any(|later| later.selected == round.selected) {
            continue;
        }
        let at = model.at(round.selected).unwrap();
        let kept = at.terms.iter().enumerate().filter(|(_, term)| !term.weight.is_zero());
        let kept: HashMap<usize, f64> = kept.map(|(k, term)| (k, term.weight.one())).collect();
        let wanted = round.terms.iter().copied().zip(round.weights.iter().copied()).collect();
        assert_eq!(kept, wanted, "{problem}: at {} features", round.selected);
        assert_eq!(at.rounds.last(), Some(round), "{problem}");
        assert_eq!((&at.bias, at.cost), (&round.bias, round.cost), "{problem}");
        let certificate = (at.certificate.objective, at.certificate.lower_bound);
        assert_eq!(certificate, (round.objective, round.lower_bound), "{problem}");
    }
    assert!(model.at(problem.columns.len() + 1).is_none(), "{problem}");
    let last = model.rounds.last().expect("a round");
    assert_eq!(model.selected().len(), last.selected, "{problem}");
    assert_eq!(model.bias, last.bias, "{problem}");
}

#[test]
fn with_new_features_only() {
    for problem in (0..60).map(Problem::random) {
        let model = checked(&problem, &problem.machine().tol(1e-9));
        let most = problem.columns.len().min(problem.budget * model.rounds.len());
        assert!(model.terms.len() <= most, "{problem}: more than B features a round");
    }
}

#[test]
fn with_a_wanted_number_of_features() {
    for problem in (0..60).map(Problem::contradictory) {
        let wanted = 1 + (problem.seed as usize * 7) % usable_columns(&problem).min(problem.signs.len() / 4);
        let model = checked(&problem, &problem.machine().select(Select::Paper).features(wanted));
        assert_eq!(model.stopped, Stop::Features, "{problem}: {wanted} wanted");
        assert_eq!(model.selected().len(), wanted, "{problem}: {wanted} wanted");
    }
}

/// Columns that are not a multiple of another or of the shift's.
fn usable_columns(problem: &Problem) -> usize {
    let direction = |x: &Vec<f64>| {
        let largest = x.iter().fold(0f64, |most, x| if x.abs() > most.abs() { *x } else { most });
        x.iter().map(|x| (1e9 * x / largest).round() as i64).collect::<Vec<_>>()
    };
    let varies = |x: &&Vec<f64>| x.iter().any(|v| *v != x[0]);
    problem.columns.iter().filter(varies).map(direction).collect::<HashSet<_>>().len()
}

#[test]
fn with_more_features_wanted_than_there_are() {
    for problem in (0..60).map(Problem::random) {
        let (columns, m) = (problem.store(), problem.columns.len());
        let machine = problem.machine().select(Select::Paper).features(m + 1);
        let model = machine.fit(&LinearSpace::over(&*columns), &problem.labels()).unwrap();
        assert!(matches!(model.stopped, Stop::Exhausted | Stop::Optimal), "{problem}: {:?}", model.stopped);
        check_path(&problem, &model);
        // Raising the cost may lose features: the model is the point with the most.
        let most = model.rounds.iter().map(|round| round.selected).max();
        assert_eq!(model.rounds.last().map(|round| round.selected), most, "{problem}");
        let fewer = machine.features(model.count()).fit(&LinearSpace::over(&*columns), &problem.labels());
        assert_eq!(fewer.unwrap().count(), model.count(), "{problem}");
    }
}

#[test]
fn with_a_certified_gap() {
    for problem in (0..60).map(Problem::random) {
        let gap = [1e-2, 1e-4, 1e-7][problem.seed as usize % 3];
        let model = checked(&problem, &problem.machine().gap(gap));
        assert_eq!(model.stopped, Stop::Gap, "{problem}");
        assert!(model.certificate.gap() <= gap, "{problem}: gap {:e}", model.certificate.gap());
    }
}

/// A space whose searches are given up from some time on.
struct Tiring<'a> {
    space: LinearSpace<'a>,
    searches: AtomicUsize,
}

impl FeatureSpace for Tiring<'_> {
    fn data(&self) -> &dyn DataFacts {
        self.space.data()
    }

    fn size(&self) -> u128 {
        self.space.size()
    }

    fn worst_case(&self, ask: &Ask<'_>) -> Result<WorstCase> {
        match self.searches.fetch_sub(1, Ordering::Relaxed) {
            0 => Err(Error::GivenUp("too long".into())),
            _ => self.space.worst_case(ask),
        }
    }

    fn precision(&self) -> Result<Precision> {
        self.space.precision()
    }

    fn group(&self, candidate: &Candidate) -> Result<Members> {
        self.space.group(candidate)
    }

    fn generate(&self, features: &[Feature]) -> Result<Vec<Operator>> {
        self.space.generate(features)
    }

    fn settings(&self) -> Settings {
        self.space.settings()
    }

    fn footprint(&self, demand: &Demand) -> Footprint {
        self.space.footprint(demand)
    }
}

/// A search that is given up ends a run, but takes nothing away that was found and proven before.
#[test]
fn with_a_search_that_is_given_up() {
    let problem = Problem::contradictory(3);
    let (columns, labels) = (problem.store(), problem.labels());
    let machine = problem.machine().select(Select::Paper).budget(1).features(3);
    let fit = |searches: usize| {
        let space = LinearSpace::over(&*columns);
        machine.fit(&Tiring { space, searches: searches.into() }, &labels)
    };
    assert!(matches!(fit(0), Err(Error::GivenUp(_))));
    let (whole, part) = (fit(100).unwrap(), fit(2).unwrap());
    assert_eq!((part.stopped, part.rounds.len()), (Stop::Search, 2));
    let told = |round: &Round| (round.objective, round.weights.clone());
    assert!(part.rounds.iter().map(told).eq(whole.rounds[..2].iter().map(told)));
    assert!(part.certificate.lower_bound <= problem.optimum(part.cost) && part.certificate.lower_bound > 0.0);
}
