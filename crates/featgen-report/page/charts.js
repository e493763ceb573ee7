/* Charts, drawn by uPlot. Colours are those of the page, and are asked for whenever a chart is drawn: themes may change. */

const charts = [];
/** A colour by its name on the page, or as it is. */
const colour = (name) => (name.startsWith("#") ? name : getComputedStyle(document.documentElement).getPropertyValue(name).trim());
const PIXELS = () => window.devicePixelRatio || 1;

/** An axis in the colours of the page. */
function axis(title, values, size) {
  return {
    label: title,
    labelSize: 22,
    labelFont: "12px system-ui, sans-serif",
    font: "12px system-ui, sans-serif",
    size: size || 34,
    stroke: () => colour("--soft"),
    grid: { stroke: () => colour("--grid"), width: 1 },
    ticks: { stroke: () => colour("--line"), width: 1, size: 5 },
    values: values ? (_, splits) => splits.map((x) => (x === null ? "" : values(x))) : undefined,
  };
}

/** A straight line between two points of a chart, in its own units. */
function drawLine(u, from, to, stroke, dash) {
  const { ctx } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  ctx.clip();
  ctx.strokeStyle = stroke;
  ctx.lineWidth = 1.5 * PIXELS();
  ctx.setLineDash((dash || []).map((x) => x * PIXELS()));
  ctx.beginPath();
  ctx.moveTo(u.valToPos(from[0], "x", true), u.valToPos(from[1], "y", true));
  ctx.lineTo(u.valToPos(to[0], "x", true), u.valToPos(to[1], "y", true));
  ctx.stroke();
  ctx.restore();
}

/** A dot with a rim. */
function drawDot(u, [x, y], fill) {
  const { ctx } = u;
  ctx.save();
  ctx.beginPath();
  ctx.arc(u.valToPos(x, "x", true), u.valToPos(y, "y", true), 5.5 * PIXELS(), 0, 2 * Math.PI);
  ctx.fillStyle = fill;
  ctx.fill();
  ctx.lineWidth = 2 * PIXELS();
  ctx.strokeStyle = colour("--paper");
  ctx.stroke();
  ctx.restore();
}

/** Words beside a point: to its right, or to its left where there is no room. */
function drawWords(u, text, x, y, fill) {
  const { ctx } = u;
  ctx.save();
  ctx.font = `${12 * PIXELS()}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  const width = ctx.measureText(text).width;
  const gap = 6 * PIXELS();
  const fits = x + gap + width <= u.bbox.left + u.bbox.width;
  const left = fits ? x + gap : x - gap - width;
  const top = Math.max(u.bbox.top + 14 * PIXELS(), Math.min(y, u.bbox.top + u.bbox.height - 6 * PIXELS()));
  ctx.fillStyle = fill;
  ctx.fillText(text, left, top);
  ctx.restore();
}

/** A figure with a chart as wide as there is room for. */
function chart(title, options, data, height = 280) {
  const place = element("div", { class: "chart", role: "img" });
  place.setAttribute("aria-label", typeof title === "string" ? title : options.about);
  const figure = element("figure", {}, element("figcaption", {}, title), place);
  charts.push({ place, options, data, height, made: null });
  return figure;
}

const widthOf = (chart) => Math.max(200, Math.floor(chart.place.clientWidth));

/** Draws a chart that has a place on the page. */
function draw(one) {
  const { options, data, place, height } = one;
  one.made = new uPlot({
    width: widthOf(one),
    height,
    padding: [12, 14, 0, 4],
    cursor: { drag: { x: true, y: false } },
    legend: { show: true },
    ...options,
  }, data, place);
}

/** Draws charts once they come near the window, and again when their room or the colours change. */
function drawCharts() {
  const near = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) {
      const one = charts.find((other) => other.place === target);
      if (isIntersecting && one && !one.made) draw(one);
    }
  }, { rootMargin: "600px" });
  const room = new ResizeObserver((changed) => {
    for (const { target } of changed) {
      const one = charts.find((other) => other.place === target);
      if (one?.made && one.made.width !== widthOf(one)) one.made.setSize({ width: widthOf(one), height: one.height });
    }
  });
  const watch = () => charts.filter((one) => !one.watched).forEach((one) => {
    one.watched = true;
    near.observe(one.place);
    room.observe(one.place);
  });
  const redraw = () => charts.forEach((one) => one.made?.redraw(false, true));
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  // Paper is light, and as wide as it is: charts must not be cut off there.
  const PAPER = 640;
  window.addEventListener("beforeprint", () => {
    document.documentElement.dataset.print = "";
    for (const one of charts) {
      if (!one.made) draw(one);
      const width = Math.min(widthOf(one), charts.length > 0 && one.place.closest(".charts") ? PAPER / 2 - 10 : PAPER);
      one.made.setSize({ width, height: one.height });
    }
    redraw();
  });
  window.addEventListener("afterprint", () => {
    delete document.documentElement.dataset.print;
    for (const one of charts) one.made?.setSize({ width: widthOf(one), height: one.height });
    redraw();
  });
  watch();
  return watch;
}

/** A line of a chart. */
const line = (name, stroke, more) => ({
  label: name, stroke: () => colour(stroke), width: 2, value: (_, x) => (x === null || x === undefined ? "–" : short(x)), ...more,
});

/** Dots of a chart. */
const dots = (name, fill, size, more) => ({
  label: name,
  stroke: () => colour(fill),
  paths: () => null,
  points: { show: true, size, width: 0, fill: () => colour(fill), stroke: () => colour(fill) },
  value: (_, x) => (x === null || x === undefined ? "–" : short(x)),
  ...more,
});

/** Room around values, so that nothing lies on the edge. */
const roomy = (_, low, high) => {
  const room = high > low ? 0.06 * (high - low) : Math.abs(high) || 1;
  return [low - room, high + room];
};

/** Steps between whole numbers. */
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000, 1000000];

/** How good any number of features is. */
function countsChart(counts, unit) {
  const { points, model } = counts;
  const shown = counts.percent ? (x) => percent(x) : short;
  const value = (_, x) => (x === null || x === undefined ? "–" : counts.percent ? percent(x, 2) : short(x));
  const x = points.map((point) => point.features);
  const mean = points.map((point) => point.mean);
  const has = points.some((point) => point.se !== undefined);
  const high = points.map((point) => point.mean + (point.se || 0));
  const low = points.map((point) => point.mean - (point.se || 0));
  const wide = x.length > 1 && x[0] > 0 && model.features > 0 && Math.max(x[x.length - 1], model.features) / x[0] > 60;
  const first = Math.min(x[0], model.features), last = Math.max(x[x.length - 1], model.features);
  const room = 0.03 * (last - first) || 1;
  const across = () => (wide ? [first / 1.2, last * 1.2] : [first - room, last + room]);
  const edge = { stroke: "transparent", width: 0, points: { show: false }, value };
  const seen = [...high, ...low, model.mean, ...(counts.baseline === undefined ? [] : [counts.baseline])];
  const options = {
    scales: {
      x: { time: false, ...(wide ? { distr: 3 } : {}), range: across },
      y: { range: (u) => roomy(u, Math.min(...seen), Math.max(...seen)) },
    },
    axes: [{ ...axis(`number of ${unit}s`, (n) => (Number.isInteger(n) ? counted(n) : "")), ...(wide ? {} : { incrs: WHOLE }) }, axis(counts.name, shown, 62)],
    series: [
      { label: `${unit}s`, value: (_, n) => (n === null ? "–" : counted(n)) },
      line(counts.held_out ? "held out" : "training data", "--positive", { value, points: { show: x.length < 60, size: 6, fill: () => colour("--positive") } }),
      ...(has ? [{ ...edge, label: "plus one error" }, { ...edge, label: "minus one error" }] : []),
    ],
    bands: has ? [{ series: [2, 3], fill: () => colour("--band") }] : [],
    hooks: {
      draw: [(u) => {
        const { x: across } = u.scales;
        const at = (n, text, stroke, row) => {
          drawLine(u, [n, u.scales.y.min], [n, u.scales.y.max], stroke, [4, 4]);
          drawWords(u, text, u.valToPos(n, "x", true), u.bbox.top + u.bbox.height - (8 + 16 * row) * PIXELS(), stroke);
        };
        if (counts.baseline !== undefined) {
          drawLine(u, [across.min, counts.baseline], [across.max, counts.baseline], colour("--soft"), [2, 4]);
          drawWords(u, "no features at all", u.bbox.left, u.valToPos(counts.baseline, "y", true) - 5 * PIXELS(), colour("--soft"));
        }
        if (counts.chosen !== undefined && counts.chosen !== model.features) at(counts.chosen, `chosen: ${counted(counts.chosen)}`, colour("--soft"), 1);
        at(model.features, `this model: ${counted(model.features)}`, colour("--negative"), 2.2);
        drawDot(u, [model.features, model.mean], colour("--negative"));
      }],
    },
  };
  // The edges of the band are no lines of their own.
  options.class = "banded";
  return chart(`${counts.name} by number of ${unit}s, ${counts.held_out ? "on instances held out" : "on the training data"}`, options, has ? [x, mean, high, low] : [x, mean], 320);
}

const unitRange = () => [-0.02, 1.02];

/** Hits against false alarms. */
function rocChart(ranking) {
  const part = (_, x) => (x === null || x === undefined ? "–" : percent(x));
  const options = {
    scales: { x: { time: false, range: unitRange }, y: { range: unitRange } },
    axes: [axis("false alarms: part of the others", percentAxis), axis("hits: part of those looked for", percentAxis, 54)],
    series: [{ label: "false alarms", value: part }, line("hits", "--positive", { value: part, points: { show: false } })],
    hooks: {
      draw: [(u) => {
        drawLine(u, [0, 0], [1, 1], colour("--soft"), [3, 4]);
        if (ranking.at) {
          drawDot(u, ranking.at, colour("--negative"));
          drawWords(u, "this model", u.valToPos(ranking.at[0], "x", true) + 4 * PIXELS(), u.valToPos(ranking.at[1], "y", true) + 16 * PIXELS(), colour("--negative"));
        }
      }],
    },
  };
  const area = ranking.auc === null ? "" : `, area ${ranking.auc.toFixed(4)}`;
  return chart(`ROC curve${area}`, options, [ranking.roc.map((p) => p[0]), ranking.roc.map((p) => p[1])], 340);
}

const percentAxis = (x) => `${Math.round(100 * x)} %`;

/** Whether what is predicted comes true as often as predicted. */
function calibrationChart(ranking) {
  const bins = ranking.calibration;
  const part = (_, x) => (x === null || x === undefined ? "–" : percent(x));
  const x = bins.map((bin) => bin.predicted);
  const options = {
    scales: { x: ranking.probabilities ? { time: false, range: unitRange } : { time: false, range: roomy }, y: { range: unitRange } },
    axes: [
      ranking.probabilities ? axis("predicted probability", percentAxis) : axis("decision value"),
      axis("observed", percentAxis, 54),
    ],
    series: [
      { label: ranking.probabilities ? "predicted" : "decision value", value: ranking.probabilities ? part : (_, v) => short(v) },
      line("observed", "--positive", { value: part, points: { show: true, size: 8, fill: () => colour("--positive") } }),
    ],
    hooks: {
      draw: [(u) => {
        if (ranking.probabilities) drawLine(u, [0, 0], [1, 1], colour("--soft"), [3, 4]);
        for (const bin of bins) drawLine(u, [bin.predicted, bin.low], [bin.predicted, bin.high], colour("--positive"));
      }],
    },
  };
  const title = ranking.probabilities ? "Calibration: predicted against observed" : "How often it is the second class, by decision value";
  return chart(title, options, [x, bins.map((bin) => bin.observed)], 340);
}

/** Predicted against true, and what is left of it. */
function numberCharts(numbers) {
  const x = numbers.points.map((p) => p[0]);
  const truth = numbers.points.map((p) => p[1]);
  const size = x.length > 1000 ? 3.5 : 5;
  const title = numbers.counts ? "expected count" : "predicted";
  const both = [...x, ...truth];
  const low = both.reduce((a, b) => Math.min(a, b), Infinity), high = both.reduce((a, b) => Math.max(a, b), -Infinity);
  const means = new Map(numbers.means.map(([p, y]) => [p, y]));
  const table = uPlot.join([[x, truth], [[...means.keys()], [...means.values()]]].map(([a, b]) => ordered(a, b)));
  const against = {
    scales: { x: { time: false, range: roomy }, y: { range: () => roomy(null, low, high) } },
    axes: [axis(title, short), axis(numbers.counts ? "true count" : "true", short, 62)],
    series: [
      { label: title, value: (_, v) => short(v) },
      dots("true", "--positive", size),
      line("mean of a tenth", "--negative", { points: { show: true, size: 8, fill: () => colour("--negative") } }),
    ],
    hooks: { draw: [(u) => drawLine(u, [low, low], [high, high], colour("--soft"), [3, 4])] },
  };
  const residual = {
    scales: { x: { time: false, range: roomy }, y: { range: roomy } },
    axes: [axis(title, short), axis("true minus predicted", short, 62)],
    series: [{ label: title, value: (_, v) => short(v) }, dots("residual", "--positive", size)],
    hooks: { draw: [(u) => drawLine(u, [u.scales.x.min, 0], [u.scales.x.max, 0], colour("--soft"), [3, 4])] },
  };
  return [
    chart("Predicted against true", against, table, 340),
    chart("Residuals", residual, [x, truth.map((y, k) => y - x[k])], 340),
  ];
}

/** Points in order of x, with one y for each x of several: what joins tables takes no other. */
function ordered(x, y) {
  const order = x.map((_, k) => k).sort((a, b) => x[a] - x[b]);
  const xs = order.map((k) => x[k]);
  // Equal places are moved apart by what nobody sees.
  for (let k = 1; k < xs.length; k++) {
    if (xs[k] <= xs[k - 1]) xs[k] = xs[k - 1] + Math.max(Math.abs(xs[k - 1]) * 1e-12, 1e-300);
  }
  return [xs, order.map((k) => y[k])];
}

/** How many are left without an event, by thirds of the risk. */
function survivalChart(survival) {
  const strokes = { "low risk": "--positive", "middle risk": "--third", "high risk": "--negative" };
  const part = (_, x) => (x === null || x === undefined ? "–" : percent(x));
  const stepped = uPlot.paths.stepped({ align: 1 });
  const tables = survival.thirds.map((third) => ordered(third.steps.map((s) => s[0]), third.steps.map((s) => s[1])));
  const options = {
    scales: { x: { time: false, range: (_, a, b) => [a, b] }, y: { range: unitRange } },
    axes: [axis("time", short), axis("left without event", percentAxis, 54)],
    series: [
      { label: "time", value: (_, v) => short(v) },
      ...survival.thirds.map((third) => line(third.name, strokes[third.name], { paths: stepped, points: { show: false }, value: part })),
    ],
  };
  return chart("Kaplan-Meier curves by thirds of the risk", options, uPlot.join(tables), 360);
}

/** Colours of classes, which can be told apart on light and on dark paper. */
const CLASSES = ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"];

/** What a feature adds to the decision value, over its values. */
function curveChart(row, classes) {
  const { from, to, values } = row.curve;
  const n = values[0].length;
  const x = values[0].map((_, k) => from + ((to - from) * k) / Math.max(1, n - 1));
  const shown = values.slice(0, classes.length || 1);
  const options = {
    about: "curve of a feature",
    legend: { show: values.length > 1 },
    scales: { x: { time: false }, y: { range: (u, a, b) => roomy(u, Math.min(0, a), Math.max(0, b)) } },
    axes: [axis("value", short), axis("adds", short, 58)],
    series: [
      { label: "value", value: (_, v) => short(v) },
      ...shown.map((_, k) => line(values.length > 1 ? classes[k] : "adds", values.length > 1 ? CLASSES[k % CLASSES.length] : "--positive", { points: { show: false } })),
    ],
    hooks: { draw: [(u) => drawLine(u, [u.scales.x.min, 0], [u.scales.x.max, 0], colour("--soft"), [2, 4])] },
  };
  return chart(label(row.name), options, [x, ...shown], 200);
}
