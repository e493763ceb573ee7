"use strict";
/* Elements and tables. Names of features are whatever somebody called them: they only ever become text. */

/** An element with attributes and children; children that are text become text. */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== null) made.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== undefined && child !== null) made.append(child);
  }
  return made;
}

/** A name, kept from mixing its direction with the text around it; a long one opens when it is touched. */
function label(name) {
  const shown = element("bdi", { class: "label", dir: "auto" }, name);
  if (name.length > 60) {
    shown.classList.add("long");
    shown.title = name.length > 500 ? name.slice(0, 500) + "…" : name;
    shown.addEventListener("click", () => shown.classList.toggle("open"));
  }
  return shown;
}

/** A number with four digits. */
function short(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e6 || size < 1e-4) return x.toExponential(2);
  return String(Number(x.toPrecision(4)));
}

const byName = new Intl.Collator("en", { numeric: true });
const percent = (x, digits = 1) => (100 * x).toFixed(digits) + " %";
const counted = (n) => Number(n).toLocaleString("en");

/** A bar as long as a weight, to both sides of the middle where weights have signs. */
function bar(weight, largest, twoSided) {
  const part = largest > 0 ? Math.min(1, Math.abs(weight) / largest) : 0;
  const inner = element("i");
  const width = (twoSided ? 50 : 100) * part;
  inner.style.width = Math.max(width, 0.5) + "%";
  inner.style.left = (twoSided ? (weight < 0 ? 50 - width : 50) : 0) + "%";
  inner.style.background = weight < 0 ? "var(--negative)" : "var(--positive)";
  return element("div", { class: twoSided ? "bar" : "bar one-sided", "aria-hidden": "true" }, inner);
}

/** A curve as large as a word. */
function spark(curve) {
  const space = "http://www.w3.org/2000/svg";
  const values = curve.values[0];
  const low = Math.min(0, ...values), high = Math.max(0, ...values);
  const y = (v) => (high > low ? 28 - (26 * (v - low)) / (high - low) : 15);
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("class", "spark");
  svg.setAttribute("viewBox", "0 0 120 30");
  svg.setAttribute("preserveAspectRatio", "none");
  const zero = document.createElementNS(space, "line");
  for (const [name, value] of [["x1", 0], ["x2", 120], ["y1", y(0)], ["y2", y(0)]]) zero.setAttribute(name, value);
  const path = document.createElementNS(space, "path");
  const step = 120 / Math.max(1, values.length - 1);
  path.setAttribute("d", values.map((v, k) => `${k ? "L" : "M"}${(k * step).toFixed(1)} ${y(v).toFixed(1)}`).join(""));
  svg.append(zero, path);
  return svg;
}

/**
 * A table that sorts by any column and can be searched. Columns have a `title`, a `value` to sort by, a `cell`, and may be a `number`.
 * Rows are drawn some at a time: a page of thousands would be slow for nothing.
 */
function sortable(rows, columns, { search, unit, className }) {
  const PORTION = 100;
  const texts = rows.map((row) => columns.map((column) => (column.text ? column.text(row) : "")).join("\n").toLowerCase());
  let order = rows.map((_, k) => k);
  let shown = PORTION;
  let sorted = { column: null, down: true };
  const body = element("tbody");
  const told = element("span", { class: "soft small", role: "status" });
  const more = element("button", { class: "more", type: "button" });
  const all = element("button", { class: "more", type: "button" });
  const field = element("input", { type: "search", placeholder: `Search ${unit}s`, "aria-label": `Search ${unit}s` });

  function draw() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = words.length ? order.filter((k) => words.every((word) => texts[k].includes(word))) : order;
    const drawn = found.slice(0, shown).map((k) =>
      element("tr", {}, columns.map((column) => element("td", { class: column.className || (column.number ? "number" : "") }, column.cell(rows[k])))));
    body.replaceChildren(...drawn);
    const left = found.length - drawn.length;
    const matching = words.length ? `${counted(found.length)} of ${counted(rows.length)} match` : `${counted(rows.length)} ${unit}${rows.length === 1 ? "" : "s"}`;
    told.textContent = left > 0 ? `${matching}; the first ${counted(drawn.length)} are shown` : matching;
    more.hidden = left <= 0;
    all.hidden = left <= PORTION;
    more.textContent = `Show ${counted(Math.min(left, PORTION))} more`;
    all.textContent = `Show all ${counted(found.length)}`;
  }

  function sortBy(column, head) {
    const again = sorted.column === column;
    const down = again ? !sorted.down : Boolean(column.number);
    sorted = { column, down };
    const worth = rows.map(column.value);
    const compare = column.number
      ? (a, b) => (worth[a] ?? -Infinity) - (worth[b] ?? -Infinity)
      : (a, b) => byName.compare(String(worth[a]), String(worth[b]));
    order = rows.map((_, k) => k).sort((a, b) => (down ? compare(b, a) : compare(a, b)) || a - b);
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    draw();
  }

  const heads = columns.map((column) => {
    const head = element("th", { scope: "col", class: column.number ? "number" : "" });
    if (column.value) {
      const button = element("button", { type: "button", title: `Sort by ${column.title}` }, column.title);
      button.addEventListener("click", () => sortBy(column, head));
      head.append(button);
    } else {
      head.append(column.title);
    }
    return head;
  });
  field.addEventListener("input", () => { shown = PORTION; draw(); });
  more.addEventListener("click", () => { shown += PORTION; draw(); });
  all.addEventListener("click", () => { shown = Infinity; draw(); });
  draw();
  const table = element("table", { class: className || "" }, element("thead", {}, element("tr", {}, heads)), body);
  return element("div", {},
    element("div", { class: "controls" }, search ? field : null, told),
    element("div", { class: "wide" }, table),
    element("div", { class: "controls" }, more, all));
}
