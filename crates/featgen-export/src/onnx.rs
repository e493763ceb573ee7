//! An ONNX graph: the values of all rows as a matrix, what is made of them as further matrices, each times its weights.

use std::collections::BTreeMap;

use featgen::Result;
use featgen::objective::Output;

use crate::plan::{Kind, Part, Plan, Texts, Value};
use crate::protobuf::Message;
use crate::refuse;

const IR_VERSION: i64 = 8;
const OPSET: i64 = 17;
const ML_OPSET: i64 = 3;
const ML_DOMAIN: &str = "ai.onnx.ml";

/// Types of tensors.
const INT: i64 = 7;
const STRING: i64 = 8;
const DOUBLE: i64 = 11;

/// An attribute of a node.
enum Attribute<'a> {
    Int(&'a str, i64),
    Ints(&'a str, Vec<i64>),
    Strings(&'a str, Vec<&'a str>),
}

impl Attribute<'_> {
    fn message(self) -> Message {
        let named = |name: &str, kind| Message::default().bytes(1, name).int(20, kind);
        match self {
            Self::Int(name, i) => named(name, 2).int(3, i),
            Self::Ints(name, ints) => named(name, 7).each(ints, |m, i| m.int(8, i)),
            Self::Strings(name, texts) => named(name, 8).each(texts, |m, text| m.bytes(9, text)),
        }
    }
}

/// A graph in the making. Tensors are called by a prefix that no column has, and a number.
struct Graph {
    message: Message,
    prefix: String,
    tensors: usize,
}

impl Graph {
    fn name(&mut self) -> String {
        self.tensors += 1;
        format!("{}{}", self.prefix, self.tensors)
    }

    fn add(&mut self, field: u32, part: Message) {
        self.message = std::mem::take(&mut self.message).message(field, part);
    }

    /// Adds an operation, and returns the name of what it computes.
    fn op(&mut self, kind: &str, inputs: &[&str], attributes: Vec<Attribute<'_>>) -> String {
        let name = self.name();
        self.op_called(&name, kind, inputs, attributes);
        name
    }

    fn op_called(&mut self, name: &str, kind: &str, inputs: &[&str], attributes: Vec<Attribute<'_>>) {
        let domain = if kind == "LabelEncoder" { ML_DOMAIN } else { "" };
        let node = Message::default()
            .each(inputs, |m, input| m.bytes(1, input))
            .bytes(2, name)
            .bytes(4, kind)
            .each(attributes, |m, attribute| m.message(5, attribute.message()))
            .bytes(7, domain);
        self.add(1, node);
    }

    /// Adds a constant of these dimensions, whose data are `fill`ed in.
    fn constant(&mut self, kind: i64, dims: &[usize], fill: impl FnOnce(Message) -> Message) -> String {
        let name = self.name();
        let tensor =
            Message::default().each(dims, |m, &dim| m.int(1, dim as i64)).int(2, kind).bytes(8, &name);
        self.add(5, fill(tensor));
        name
    }

    fn doubles(&mut self, dims: &[usize], numbers: &[f64]) -> String {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.constant(DOUBLE, dims, |m| m.bytes(9, bytes))
    }

    /// A matrix by rows.
    fn matrix(&mut self, rows: &[&[f64]]) -> String {
        let outputs = rows.first().map_or(0, |row| row.len());
        self.doubles(&[rows.len(), outputs], &rows.concat())
    }

    fn ints(&mut self, numbers: impl IntoIterator<Item = usize>) -> String {
        let numbers: Vec<i64> = numbers.into_iter().map(|x| x as i64).collect();
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.constant(INT, &[numbers.len()], |m| m.bytes(9, bytes))
    }

    /// Some columns of a matrix.
    fn columns(&mut self, of: &str, columns: impl IntoIterator<Item = usize>) -> String {
        let columns = self.ints(columns);
        self.op("Gather", &[of, &columns], vec![Attribute::Int("axis", 1)])
    }

    /// Columns beside each other.
    fn beside(&mut self, parts: &[&str]) -> String {
        self.op("Concat", parts, vec![Attribute::Int("axis", 1)])
    }

    fn cast(&mut self, of: &str, to: i64) -> String {
        self.op("Cast", &[of], vec![Attribute::Int("to", to)])
    }

    /// Declares an input or output; the first dimension, that of rows, is free.
    fn declare(&mut self, field: u32, name: &str, kind: i64, columns: Option<u64>) {
        let rows = Message::default().bytes(2, "rows");
        let columns = columns.map(|n| Message::default().int(1, n as i64));
        let shape = Message::default().message(1, rows).each(columns, |m, dim| m.message(1, dim));
        let tensor = Message::default().int(1, kind).message(2, shape);
        let kind = Message::default().message(1, tensor);
        self.add(field, Message::default().bytes(1, name).message(2, kind));
    }

    fn input(&mut self, name: &str, kind: i64, columns: u64) {
        self.declare(11, name, kind, Some(columns));
    }
}

/// Columns that a matrix of data may have.
const MOST_COLUMNS: u64 = 1 << 31;

pub(crate) fn write(plan: &Plan) -> Result<Vec<u8>> {
    plan.check_names("onnx", |c| c != '\0')?;
    if let Some(width) = plan.width.filter(|&width| width > MOST_COLUMNS) {
        return refuse(format!(
            "{width} columns without names make too wide a matrix for onnx; sql and python take only those used"
        ));
    }
    let mut graph =
        Graph { message: Message::default().bytes(2, "featgen"), prefix: plan.own_prefix(), tensors: 0 };
    let values = values(&mut graph, plan);
    let mut sums = vec![linear(&mut graph, plan, &values)];
    sums.extend(products(&mut graph, plan, &values));
    sums.extend(steps(&mut graph, plan, &values));
    sums.extend(waves(&mut graph, plan, &values));
    sums.push(graph.doubles(&[1, plan.outputs()], &plan.intercepts));
    let decision = plan.own_name("decision");
    let inputs: Vec<&str> = sums.iter().map(String::as_str).collect();
    graph.op_called(&decision, "Sum", &inputs, Vec::new());
    graph.declare(12, &decision, DOUBLE, Some(plan.outputs() as u64));
    predictions(&mut graph, plan, &decision);
    let opset = |domain: &str, version| Message::default().bytes(1, domain).int(2, version);
    let model = Message::default()
        .int(1, IR_VERSION)
        .bytes(2, "featgen")
        .bytes(3, env!("CARGO_PKG_VERSION"))
        .message(7, graph.message)
        .message(8, opset("", OPSET))
        .message(8, opset(ML_DOMAIN, ML_OPSET));
    Ok(model.end())
}

/// The values of all rows, a column each.
fn values(graph: &mut Graph, plan: &Plan) -> String {
    let fills: Vec<f64> = plan
        .columns
        .iter()
        .filter_map(|column| match column.kind {
            Kind::Number { fill, .. } => Some(fill.unwrap_or(f64::NAN)),
            Kind::Text(_) => None,
        })
        .collect();
    // Blocks of columns, each with where its columns begin; `at` says where a column of the data is in its block.
    let (mut blocks, mut at, mut width) = (Vec::new(), vec![0; plan.columns.len()], 0);
    let mut missing_at = 0;
    if !fills.is_empty() {
        let numbers = numbers(graph, plan, &mut at);
        let gaps = graph.op("IsNaN", &[&numbers], Vec::new());
        let known = graph.doubles(&[1, fills.len()], &fills);
        blocks.push(graph.op("Where", &[&gaps, &known, &numbers], Vec::new()));
        missing_at = fills.len();
        width = fills.len();
        if plan.values.iter().any(|value| matches!(value, Value::Missing(_))) {
            blocks.push(graph.cast(&gaps, DOUBLE));
            width += fills.len();
        }
    }
    for (k, column) in plan.columns.iter().enumerate() {
        if let Kind::Text(texts) = &column.kind {
            let places = texts.levels.len() + 2;
            graph.input(&column.name, STRING, 1);
            blocks.push(indicators(graph, &column.name, texts, places));
            at[k] = width;
            width += places;
        }
    }
    let blocks: Vec<&str> = blocks.iter().map(String::as_str).collect();
    let all = graph.beside(&blocks);
    let place = |value: &Value| match *value {
        Value::Number(column) => at[column],
        Value::Missing(column) => missing_at + at[column],
        Value::Place(column, place) => at[column] + place,
    };
    graph.columns(&all, plan.values.iter().map(place))
}

/// The numbers of all rows: of a matrix, if columns have no names, else an input for each.
fn numbers(graph: &mut Graph, plan: &Plan, at: &mut [usize]) -> String {
    if let Some(width) = plan.width {
        (0..at.len()).for_each(|k| at[k] = k);
        graph.input("X", DOUBLE, width);
        return graph.columns("X", plan.columns.iter().map(|column| column.place as usize));
    }
    let mut names = Vec::new();
    for (k, column) in plan.columns.iter().enumerate() {
        if matches!(column.kind, Kind::Number { .. }) {
            graph.input(&column.name, DOUBLE, 1);
            at[k] = names.len();
            names.push(column.name.as_str());
        }
    }
    graph.beside(&names)
}

/// A column for each of so many places: 1 where the text has it.
fn indicators(graph: &mut Graph, column: &str, texts: &Texts, places: usize) -> String {
    const NOWHERE: i64 = -1;
    let place = |place: Option<usize>| place.map_or(NOWHERE, |place| place as i64);
    let mut keys: Vec<&str> = texts.levels.iter().map(String::as_str).collect();
    let mut found: Vec<i64> = (0..keys.len() as i64).collect();
    // Strings are never missing here; an empty one is, unless a level is called so.
    if !keys.contains(&"") {
        keys.push("");
        found.push(place(texts.missing));
    }
    let code = graph.op(
        "LabelEncoder",
        &[column],
        vec![
            Attribute::Strings("keys_strings", keys),
            Attribute::Ints("values_int64s", found),
            Attribute::Int("default_int64", place(texts.other)),
        ],
    );
    let all = graph.ints(0..places);
    let is = graph.op("Equal", &[&code, &all], Vec::new());
    graph.cast(&is, DOUBLE)
}

/// Values times weights. All values are there, those that have none with weight 0: a value that is not a number then spoils the
/// decision also where it is only compared with something.
fn linear(graph: &mut Graph, plan: &Plan, values: &str) -> String {
    let zero = vec![0.0; plan.outputs()];
    let mut rows: Vec<&[f64]> = vec![&zero; plan.values.len()];
    for part in &plan.parts {
        if let Part::Product { values, weights } = part
            && let [value] = values[..]
        {
            rows[value] = weights;
        }
    }
    let weights = graph.matrix(&rows);
    graph.op("MatMul", &[values, &weights], Vec::new())
}

/// Products times weights, those of as many factors together.
fn products(graph: &mut Graph, plan: &Plan, values: &str) -> Vec<String> {
    let mut by_degree: BTreeMap<usize, Vec<_>> = BTreeMap::new();
    for part in &plan.parts {
        if let Part::Product { values, weights } = part
            && values.len() > 1
        {
            by_degree.entry(values.len()).or_default().push((values, weights));
        }
    }
    let mut sums = Vec::new();
    for (degree, products) in by_degree {
        let mut whole = graph.columns(values, products.iter().map(|(values, _)| values[0]));
        for factor in 1..degree {
            let next = graph.columns(values, products.iter().map(|(values, _)| values[factor]));
            whole = graph.op("Mul", &[&whole, &next], Vec::new());
        }
        let weights = graph.matrix(&products.iter().map(|(_, weights)| &weights[..]).collect::<Vec<_>>());
        sums.push(graph.op("MatMul", &[&whole, &weights], Vec::new()));
    }
    sums
}

/// Whether values are above the points of stairs, times how much these rise there.
fn steps(graph: &mut Graph, plan: &Plan, values: &str) -> Option<String> {
    let stairs = plan.parts.iter().filter_map(|part| match part {
        Part::Stairs { value, by_size, rises } => Some((value, by_size, rises)),
        _ => None,
    });
    let all: Vec<(usize, bool, f64, &[f64])> = stairs
        .flat_map(|(&value, &by_size, rises)| {
            rises.iter().map(move |(above, by)| (value, by_size, *above, &by[..]))
        })
        .collect();
    let by_size = all.first()?.1;
    let sizes = if by_size { graph.op("Abs", &[values], Vec::new()) } else { values.to_owned() };
    let compared = graph.columns(&sizes, all.iter().map(|step| step.0));
    let points = graph.doubles(&[1, all.len()], &all.iter().map(|step| step.2).collect::<Vec<_>>());
    let above = graph.op("Greater", &[&compared, &points], Vec::new());
    let above = graph.cast(&above, DOUBLE);
    let rises = graph.matrix(&all.iter().map(|step| step.3).collect::<Vec<_>>());
    Some(graph.op("MatMul", &[&above, &rises], Vec::new()))
}

/// Sines, and cosines less 1, times weights: `cos t - 1` is `-2 sin^2(t / 2)`.
fn waves(graph: &mut Graph, plan: &Plan, values: &str) -> Vec<String> {
    let (mut sines, mut cosines): (Vec<(usize, f64, Vec<f64>)>, _) = (Vec::new(), Vec::new());
    for part in &plan.parts {
        let Part::Waves { value, frequency, waves } = part else { continue };
        for h in 0..crate::plan::HARMONICS {
            let frequency = frequency * (h + 1) as f64;
            sines.push((*value, frequency, waves.iter().map(|waves| waves.sines[h]).collect()));
            let weights = waves.iter().map(|waves| -2.0 * waves.cosines[h]);
            cosines.push((*value, 0.5 * frequency, weights.collect()));
        }
    }
    let mut sums = Vec::new();
    for (waves, squared) in [(sines, false), (cosines, true)] {
        if waves.is_empty() {
            continue;
        }
        let x = graph.columns(values, waves.iter().map(|wave| wave.0));
        let frequencies =
            graph.doubles(&[1, waves.len()], &waves.iter().map(|wave| wave.1).collect::<Vec<_>>());
        let phase = graph.op("Mul", &[&x, &frequencies], Vec::new());
        let mut sine = graph.op("Sin", &[&phase], Vec::new());
        if squared {
            sine = graph.op("Mul", &[&sine, &sine], Vec::new());
        }
        let weights = graph.matrix(&waves.iter().map(|wave| &wave.2[..]).collect::<Vec<_>>());
        sums.push(graph.op("MatMul", &[&sine, &weights], Vec::new()));
    }
    sums
}

/// What decisions say.
fn predictions(graph: &mut Graph, plan: &Plan, decision: &str) {
    let prediction = plan.own_name("prediction");
    let flat = graph.constant(INT, &[1], |m| m.bytes(9, (-1i64).to_le_bytes()));
    if plan.output != Output::Classes {
        let kind = if plan.output == Output::Rate { "Exp" } else { "Identity" };
        let number = graph.op(kind, &[decision], Vec::new());
        graph.op_called(&prediction, "Reshape", &[&number, &flat], Vec::new());
        graph.declare(12, &prediction, DOUBLE, None);
        return;
    }
    let class = if plan.outputs() == 1 {
        let zero = graph.doubles(&[1], &[0.0]);
        let above = graph.op("Greater", &[decision, &zero], Vec::new());
        let above = graph.cast(&above, INT);
        graph.op("Reshape", &[&above, &flat], Vec::new())
    } else {
        graph.op("ArgMax", &[decision], vec![Attribute::Int("axis", 1), Attribute::Int("keepdims", 0)])
    };
    let classes = graph
        .constant(STRING, &[plan.classes.len()], |m| m.each(&plan.classes, |m, class| m.bytes(6, class)));
    graph.op_called(&prediction, "Gather", &[&classes, &class], vec![Attribute::Int("axis", 0)]);
    graph.declare(12, &prediction, STRING, None);
    if plan.probabilities {
        let probability = plan.own_name("probability");
        if plan.outputs() == 1 {
            let minus = graph.op("Neg", &[decision], Vec::new());
            let both = graph.beside(&[&minus, decision]);
            graph.op_called(&probability, "Sigmoid", &[&both], Vec::new());
        } else {
            graph.op_called(&probability, "Softmax", &[decision], vec![Attribute::Int("axis", 1)]);
        }
        graph.declare(12, &probability, DOUBLE, Some(plan.classes.len() as u64));
    }
}
