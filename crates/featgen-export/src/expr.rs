//! Decisions as expressions, for targets that are languages.

use crate::plan::{Part, Plan};

/// What a decision is.
#[derive(Debug)]
pub(crate) enum Expr {
    Number(f64),
    /// A value, by its index.
    Value(usize),
    Sum(Vec<Expr>),
    Product(Vec<Expr>),
    Sine(Box<Expr>),
    Size(Box<Expr>),
    /// 0, or what stands at the last of the points that the expression is above. Points increase.
    Stairs(Box<Expr>, Vec<(f64, f64)>),
}

/// Terms of a sum that stand beside each other. Engines limit how deep expressions may be, and `a + b + c` is one more for each.
const BESIDE: usize = 32;

impl Expr {
    fn sum(mut terms: Vec<Self>) -> Self {
        while terms.len() > BESIDE {
            let mut rest = terms.into_iter().peekable();
            terms = Vec::new();
            while rest.peek().is_some() {
                terms.push(Self::Sum(rest.by_ref().take(BESIDE).collect()));
            }
        }
        match terms.len() {
            1 => terms.swap_remove(0),
            _ => Self::Sum(terms),
        }
    }

    fn sine(frequency: f64, value: usize) -> Self {
        Self::Sine(Box::new(Self::Product(vec![Self::Number(frequency), Self::Value(value)])))
    }
}

impl Plan {
    /// A decision as an expression.
    pub(crate) fn decision(&self, output: usize) -> Expr {
        let mut terms = vec![Expr::Number(self.intercepts[output])];
        self.parts.iter().for_each(|part| part.add_to(output, &mut terms));
        Expr::sum(terms)
    }
}

impl Part {
    fn add_to(&self, output: usize, terms: &mut Vec<Expr>) {
        match self {
            Self::Product { values, weights } => {
                if weights[output] != 0.0 {
                    let values = values.iter().map(|&value| Expr::Value(value));
                    terms.push(Expr::Product(
                        [Expr::Number(weights[output])].into_iter().chain(values).collect(),
                    ));
                }
            }
            Self::Stairs { value, by_size, rises } => {
                let x = Box::new(Expr::Value(*value));
                let x = if *by_size { Box::new(Expr::Size(x)) } else { x };
                let mut height = 0.0;
                let mut reached = |&(above, ref by): &(f64, Vec<f64>)| {
                    height += by[output];
                    (above, height)
                };
                terms.push(Expr::Stairs(x, rises.iter().map(&mut reached).collect()));
            }
            Self::Waves { value, frequency, waves } => {
                let waves = &waves[output];
                for (h, (&cosine, &sine)) in waves.cosines.iter().zip(&waves.sines).enumerate() {
                    let frequency = frequency * (h + 1) as f64;
                    if cosine != 0.0 {
                        // cos t - 1 without cancellation.
                        let half = || Expr::sine(0.5 * frequency, *value);
                        terms.push(Expr::Product(vec![Expr::Number(-2.0 * cosine), half(), half()]));
                    }
                    if sine != 0.0 {
                        terms.push(Expr::Product(vec![Expr::Number(sine), Expr::sine(frequency, *value)]));
                    }
                }
            }
        }
    }
}

/// A language with signs between operands.
pub(crate) trait Language {
    fn number(&self, x: f64) -> String;
    fn value(&self, value: usize) -> String;
    /// The names of sine and of the absolute value.
    const SINE: &'static str;
    const SIZE: &'static str;
    fn stairs(&mut self, x: String, points: &[(f64, f64)]) -> String;

    /// An expression in the language.
    fn written(&mut self, expr: &Expr) -> String {
        match expr {
            Expr::Number(x) => self.number(*x),
            Expr::Value(value) => self.value(*value),
            Expr::Sum(terms) => {
                let mut text = String::from("(");
                for (k, term) in terms.iter().enumerate() {
                    let term = self.written(term);
                    match term.strip_prefix('-') {
                        _ if k == 0 => text += &term,
                        Some(positive) => text += &format!("\n    - {positive}"),
                        None => text += &format!("\n    + {term}"),
                    }
                }
                text + ")"
            }
            Expr::Product(factors) => {
                factors.iter().map(|factor| self.written(factor)).collect::<Vec<_>>().join(" * ")
            }
            Expr::Sine(x) => format!("{}({})", Self::SINE, self.written(x)),
            Expr::Size(x) => format!("{}({})", Self::SIZE, self.written(x)),
            Expr::Stairs(x, points) => {
                let x = self.written(x);
                self.stairs(x, points)
            }
        }
    }
}
