/* The page: sections in order, each from its part of the report. */

const report = JSON.parse(document.getElementById("report").textContent);
const page = document.getElementById("page");
const CURVES = 12;

function figures(list) {
  return element("ul", { class: "figures" }, list.map((one) => element("li", {},
    element("div", { class: "name" }, one.name),
    element("div", { class: "text" }, one.text),
    element("div", { class: "told" }, one.told))));
}

const sections = [];
function section(id, title, ...children) {
  sections.push([id, title]);
  return element("section", { id }, element("h2", {}, title), children);
}

/** A product by its factors, anything else by its name. */
function nameCell(row) {
  if (!row.factors || row.factors.length < 2) return label(row.name);
  return row.factors.flatMap((factor, k) => (k ? [element("span", { class: "times" }, "×"), factor] : [factor])).reduce((cell, part) => {
    cell.append(part instanceof Node ? part : element("bdi", { dir: "auto", class: "inline" }, part));
    return cell;
  }, element("div", { class: "label", title: row.name.length > 60 ? row.name.slice(0, 500) : undefined }));
}

function list(names) {
  const some = names.slice(0, 3).join(", ");
  return label(names.length > 3 ? `${some} and ${names.length - 3} more` : some);
}

function tinted(x, largest) {
  // As many decimals as the largest needs: beside it, more would be noise.
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(largest)) - 1);
  const cell = element("span", {}, largest > 1e-4 && largest < 1e6 ? x.toFixed(Math.min(decimals, 8)) : short(x));
  const part = largest > 0 ? Math.round(45 * Math.min(1, Math.abs(x) / largest)) : 0;
  cell.style.background = `color-mix(in srgb, var(${x < 0 ? "--negative" : "--positive"}) ${part}%, transparent)`;
  cell.style.padding = "2px 4px";
  return cell;
}

function featureTable(selection) {
  const { rows, classes = [], curves } = selection;
  const signs = rows.some((row) => row.weight < 0);
  const has = (test) => rows.some(test);
  const tested = has((row) => row.effect !== undefined);
  const size = tested ? (row) => (row.weight < 0 ? -row.effect : row.effect) : (row) => row.weight;
  const largest = rows.reduce((most, row) => Math.max(most, Math.abs(size(row))), 0);
  const columns = [
    { title: "feature", value: (row) => row.name, text: (row) => row.name, cell: nameCell, className: "name-cell" },
    { title: curves || classes.length ? "size" : "weight", number: true, value: (row) => (signs ? row.weight : Math.abs(row.weight)), cell: (row) => short(row.weight) },
    ...(tested ? [{ title: "effect", number: true, value: (row) => row.effect, cell: (row) => short(row.effect) }] : []),
    { title: "", cell: (row) => bar(size(row), largest, signs), className: "bar-cell" },
  ];
  // With several outputs there are several curves: those are drawn below.
  if (has((row) => row.curve?.values.length === 1)) columns.push({ title: "curve", cell: (row) => (row.curve ? spark(row.curve) : "") });
  const widest = rows.reduce((most, row) => Math.max(most, ...(row.weights || [0]).map(Math.abs)), 0);
  classes.forEach((name, k) => {
    if (has((row) => row.weights)) columns.push({ title: name, number: true, value: (row) => row.weights[k], cell: (row) => tinted(row.weights[k], widest) });
  });
  if (has((row) => row.group)) columns.push({ title: "group", value: (row) => row.group || "", text: (row) => row.group || "", cell: (row) => (row.group ? label(row.group) : ""), className: "name-cell" });
  if (has((row) => row.stability !== undefined)) columns.push({ title: "stability", number: true, value: (row) => row.stability, cell: (row) => (row.stability === undefined ? "" : percent(row.stability, 0)) });
  if (has((row) => row.stand_ins)) {
    const told = (row) => (row.stand_ins || []).map((other) => (other.correlation === undefined ? other.name : `${other.name} (${other.correlation.toFixed(2)})`));
    columns.push({ title: "stand-ins", text: (row) => told(row).join(" "), cell: (row) => (row.stand_ins ? list(told(row)) : ""), className: "name-cell" });
  }
  if (has((row) => row.aliases)) columns.push({ title: "same values", text: (row) => (row.aliases || []).join(" "), cell: (row) => (row.aliases ? list(row.aliases) : ""), className: "name-cell" });
  columns.push({ title: "round", number: true, value: (row) => row.round, cell: (row) => String(row.round) });
  return sortable(rows, columns, { search: true, unit: "feature", className: "selected" });
}

function groupTable(groups) {
  const largest = groups.reduce((most, row) => Math.max(most, row.norm), 0);
  return sortable(groups, [
    { title: "group", value: (row) => row.name, text: (row) => row.name, cell: (row) => label(row.name), className: "name-cell" },
    { title: "size of weights", number: true, value: (row) => row.norm, cell: (row) => short(row.norm) },
    { title: "", cell: (row) => bar(row.norm, largest, false), className: "bar-cell" },
    { title: "members", number: true, value: (row) => row.members, cell: (row) => counted(row.members) },
    { title: "with weight", number: true, value: (row) => row.weighing, cell: (row) => counted(row.weighing) },
    { title: "round", number: true, value: (row) => row.round, cell: (row) => String(row.round) },
  ], { search: groups.length > 20, unit: "group", className: "selected" });
}

/** The largest curves, and more of them when asked for. */
function curveCharts(selection, watch) {
  const drawable = selection.rows.filter((row) => row.curve);
  const grid = element("div", { class: "charts small-ones" });
  const more = element("button", { class: "more", type: "button" });
  let shown = 0;
  const add = () => {
    drawable.slice(shown, shown + CURVES).forEach((row) => grid.append(curveChart(row, selection.classes || [])));
    shown = Math.min(drawable.length, shown + CURVES);
    more.hidden = shown >= drawable.length;
    more.textContent = `Show ${Math.min(CURVES, drawable.length - shown)} more of ${counted(drawable.length)}`;
  };
  more.addEventListener("click", () => { add(); watch.now(); });
  add();
  return [grid, more];
}

function selectionSection(selection, watch) {
  const { rows, count, unit, sides, curves, groups, kept } = selection;
  const parts = [];
  if (sides && !curves && rows.length) {
    const [first, second] = sides;
    parts.push(element("p", { class: "small soft" }, "Weights above 0 speak for ", element("bdi", { class: "inline" }, second.slice(0, 100)), ", weights below 0 for ", element("bdi", { class: "inline" }, first.slice(0, 100)), "."));
  }
  if (rows.length && !curves) {
    const effect = "The effect is how much a feature changes the decision value over the test data: the standard deviation of its weight times its value.";
    const units = "Weights are in units of the data: a feature with small values has a large weight. With test data, the page shows effects, which can be compared.";
    parts.push(element("p", { class: "small soft" }, rows[0].effect === undefined ? units : effect));
  }
  if (curves) parts.push(element("p", { class: "small soft" }, "Each feature has a curve: what it adds to the decision value at each of its values. Its size is the length of the curve's weights.", rows.some((row) => row.effect !== undefined) ? " The effect is how much it changes the decision value over the test data: the standard deviation of what it adds." : ""));
  if (!rows.length) parts.push(element("p", {}, "No feature helps."));
  if (groups) parts.push(element("h3", {}, "Groups"), groupTable(groups), element("h3", {}, "Features in them"));
  if (rows.length) parts.push(featureTable(selection));
  if (count > rows.length) parts.push(element("p", { class: "small" }, `The table has the ${counted(rows.length)} largest of ${counted(count)}.`));
  if (rows.some((row) => row.curve)) parts.push(element("h3", {}, "Curves"), ...curveCharts(selection, watch));
  if (kept) {
    parts.push(element("h3", {}, "Kept: always in the model, and not counted"));
    parts.push(sortable(kept, [
      { title: "column", value: (row) => row.name, text: (row) => row.name, cell: (row) => label(row.name), className: "name-cell" },
      { title: kept[0].weights.length > 1 ? "weights" : "weight", number: true, value: (row) => row.weights[0], cell: (row) => row.weights.map(short).join(", ") },
    ], { search: kept.length > 20, unit: "column" }));
  }
  return section("selected", "What was selected", parts);
}

function countsSection(counts, unit) {
  const told = element("p", { class: counts.held_out ? "" : "note" }, counts.told);
  if (counts.points.length < 2) return section("counts", `How many ${unit}s`, told, element("p", {}, `With ${counted(counts.model.features)} ${unit}s: ${counts.percent ? percent(counts.model.mean, 2) : short(counts.model.mean)}.`));
  return section("counts", `How many ${unit}s`, told, countsChart(counts, unit));
}

function confusionTable({ classes, counts, recall, precision, mistakes }) {
  if (mistakes) {
    const rows = mistakes.map(([k, l, n]) => element("tr", {}, element("td", {}, label(classes[k])), element("td", {}, label(classes[l])), element("td", { class: "number" }, counted(n))));
    return [element("h3", {}, "The most frequent mistakes"), element("div", { class: "wide" }, element("table", {},
      element("thead", {}, element("tr", {}, element("th", {}, "true"), element("th", {}, "taken for"), element("th", {}, "times"))), element("tbody", {}, rows)))];
  }
  if (!counts) return [];
  const part = (x) => (x === null ? "" : percent(x));
  const head = (name) => element("th", { scope: "col", title: name.slice(0, 500) }, element("bdi", {}, name.slice(0, 40)));
  const body = counts.map((row, k) => {
    const all = row.reduce((a, b) => a + b, 0);
    const cells = row.map((n, l) => {
      const cell = element("td", { class: "count" }, counted(n));
      const share = all ? Math.round((60 * n) / all) : 0;
      cell.style.background = `color-mix(in srgb, var(${k === l ? "--positive" : "--negative"}) ${share}%, transparent)`;
      return cell;
    });
    return element("tr", {}, element("th", { scope: "row", title: classes[k].slice(0, 500) }, element("bdi", {}, classes[k].slice(0, 40))), cells, element("td", { class: "count soft" }, part(recall[k])));
  });
  const last = element("tr", {}, element("th", { scope: "row", class: "soft" }, "right (precision)"), precision.map((x) => element("td", { class: "count soft" }, part(x))), element("td", {}));
  return [
    element("h3", {}, "Which class was taken for which"),
    element("p", { class: "small soft" }, "The true class down, the predicted one across."),
    element("div", { class: "wide" }, element("table", { class: "matrix" },
      element("thead", {}, element("tr", {}, element("th", {}, "true"), classes.map(head), element("th", { scope: "col" }, "recognised (recall)"))),
      element("tbody", {}, body, last))),
  ];
}

function survivalTable({ thirds, times }) {
  const row = (third) => element("tr", {}, element("td", {}, third.name), element("td", { class: "number" }, counted(third.n)), element("td", { class: "number" }, counted(third.events)),
    element("td", { class: "number" }, third.median === undefined ? "not reached" : short(third.median)), third.at_risk.map((n) => element("td", { class: "number" }, counted(n))));
  return [element("h3", {}, "Still watched"), element("div", { class: "wide" }, element("table", {},
    element("thead", {}, element("tr", {}, ["third", "instances", "events", "median time"].map((title, k) => element("th", { class: k ? "number" : "" }, title)), times.map((t) => element("th", { class: "number" }, `at ${short(t)}`)))),
    element("tbody", {}, thirds.map(row))))];
}

function testSection(tested) {
  const { confusion, ranking, numbers, survival } = tested;
  const parts = [
    element("p", {}, `${counted(tested.n)} instances of `, element("bdi", {}, tested.name),
      ", given as test data. Figures flatter if the model was learned from any of them."),
    figures(tested.figures),
    (tested.notes || []).map((note) => element("p", { class: "note small" }, note)),
  ];
  if (confusion) parts.push(confusionTable(confusion));
  if (ranking) {
    const second = ranking.positive.slice(0, 60);
    const drawn = [ranking.roc ? rocChart(ranking) : null, ranking.calibration.length > 1 ? calibrationChart(ranking) : null];
    parts.push(element("h3", {}, "Ranking and calibration"));
    parts.push(element("p", { class: "small soft" }, "Looked for is the second class, ", element("bdi", {}, second), ". Calibration: instances in parts of the same size by what was predicted; the bars are 95 % intervals.", ranking.probabilities ? " Well calibrated predictions lie on the dashed line." : ""));
    parts.push(element("div", { class: "charts" }, drawn));
  }
  if (numbers) {
    const some = numbers.points.length < numbers.n ? ` ${counted(numbers.points.length)} of ${counted(numbers.n)} instances are drawn.` : "";
    parts.push(element("p", { class: "small soft" }, `Good predictions lie on the dashed line; the line with dots shows the means of tenths of the instances.${some}`));
    parts.push(element("div", { class: "charts" }, numberCharts(numbers)));
  }
  if (survival) {
    parts.push(element("p", { class: "small soft" }, "Instances in thirds by the risk that the model gives them. The further the curves are apart, the more the risk says."));
    parts.push(survivalChart(survival), survivalTable(survival));
  }
  return section("test", "On test data", parts);
}

function facts(title, rows) {
  return element("div", {}, element("h3", {}, title), element("table", {}, element("tbody", {},
    rows.map((row) => element("tr", {}, element("th", { scope: "row" }, row.name), element("td", {}, element("bdi", {}, row.text)))))));
}

function build() {
  const watch = { now: () => {} };
  const { selection, counts, tested } = report;
  const made = [
    selectionSection(selection, watch),
    tested ? testSection(tested) : null,
    countsSection(counts, selection.unit),
    section("proof", "What is proven", report.proof.map((sentence, k) => element("p", { class: k > 1 ? "soft" : "" }, sentence))),
    section("repeat", "Data, parameters, and how to repeat it",
      element("div", { class: "facts" }, facts("Data", report.data), facts("Parameters", report.parameters)),
      element("h3", {}, "The same again"), element("pre", {}, report.repeat)),
  ];
  page.append(
    element("header", {},
      element("h1", {}, element("bdi", {}, report.title)),
      element("p", {}, report.about),
      figures(report.figures),
      element("nav", {}, sections.map(([id, title]) => element("a", { href: `#${id}` }, title)))),
    ...made.filter(Boolean),
    element("footer", {}, `Made by ${report.made_by}. Charts: uPlot, MIT licence. This page asks nothing of the network.`));
  watch.now = drawCharts();
}

build();
