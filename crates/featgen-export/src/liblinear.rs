//! The model file of LIBLINEAR: a weight for each column.

use featgen::Result;
use featgen::objective::Output;

use crate::plan::{Kind, Part, Plan, shown};
use crate::refuse;

/// LIBLINEAR counts columns in 32 bits.
const MOST_COLUMNS: u64 = 1 << 30;

pub(crate) fn write(plan: &Plan) -> Result<String> {
    if let Some(what) = plan.beyond_weights() {
        return refuse(format!(
            "liblinear has weights only, and the model has {what}; python, c, sql, pmml and onnx have them"
        ));
    }
    if plan.columns.iter().any(|column| !matches!(column.kind, Kind::Number { fill: None, .. })) {
        return refuse(
            "liblinear has no categories and no missing values, and the model has; python, c, sql, pmml and onnx have them",
        );
    }
    if plan.output == Output::Rate {
        return refuse("liblinear has no counts; python, c, sql, pmml and onnx have them");
    }
    let rows =
        plan.columns.iter().map(|column| column.place + 1).max().unwrap_or(0).max(plan.width.unwrap_or(0));
    if rows > MOST_COLUMNS {
        return refuse(format!(
            "{rows} columns are too many for liblinear; python, c, sql, pmml and onnx take only those used"
        ));
    }
    // Of two classes it has one decision, above 0 for the first.
    let difference = plan.outputs() == 2;
    let numbers = |of: &[f64]| match difference {
        true => format!("{:?} ", of[0] - of[1]),
        false => of.iter().map(|x| format!("{x:?} ")).collect(),
    };
    let mut classes = plan.classes.clone();
    if plan.outputs() == 1 {
        classes.reverse();
    }
    let kind = match (plan.output, plan.outputs(), plan.probabilities) {
        (Output::Classes, 1 | 2, true) => "L2R_LR",
        (Output::Classes, 1 | 2, false) => "L2R_L2LOSS_SVC",
        // Of others it makes probabilities in a way of its own.
        (Output::Classes, ..) => "MCSVM_CS",
        (Output::Number | Output::Rate | Output::Risk, ..) => "L2R_L2LOSS_SVR",
    };
    let mut text = format!("solver_type {kind}\nnr_class {}\n", classes.len().max(2));
    if !classes.is_empty() {
        let labels = classes.iter().map(|class| label(class)).collect::<Result<Vec<_>>>()?;
        text += &format!("label {}\n", labels.join(" "));
    }
    text += &format!("nr_feature {rows}\nbias 1\nw\n");
    let mut weights: Vec<Option<&[f64]>> = vec![None; rows as usize];
    for part in &plan.parts {
        if let Part::Product { values, weights: of } = part {
            weights[plan.columns[values[0]].place as usize] = Some(of);
        }
    }
    let zero = numbers(&vec![0.0; plan.outputs()]);
    for of in weights {
        text += &of.map_or_else(|| zero.clone(), numbers);
        text.push('\n');
    }
    Ok(text + &numbers(&plan.intercepts) + "\n")
}

/// A class as LIBLINEAR has it: a whole number.
fn label(class: &str) -> Result<String> {
    match class.trim().parse::<f64>() {
        Ok(number) if number.fract() == 0.0 && number.abs() <= f64::from(i32::MAX) => {
            Ok(format!("{number:.0}"))
        }
        _ => refuse(format!(
            "the classes of liblinear are whole numbers, and {} is none; python, c, sql, pmml and onnx take any",
            shown(class)
        )),
    }
}
