// Draws scenes as elements. Text only ever enters as textContent, so nothing in it can become markup.

const POSITIVE = [179, 88, 6], NEGATIVE = [33, 102, 172];
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
export const signed = (value, digits = 3) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(digits);

export function make(tag, { className = "", text, title, ...attributes } = {}, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  if (title !== undefined) element.title = title;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// A diverging scale with nothing at zero, so that the page's own paper shows through, light or dark.
export function paint(element, value, limit) {
  const share = Math.min(1, Math.abs(value) / (limit || 1)) ** 0.8;
  const [red, green, blue] = value >= 0 ? POSITIVE : NEGATIVE;
  element.style.background = `rgba(${red},${green},${blue},${share.toFixed(3)})`;
  element.style.color = share > 0.85 ? "#fff" : "";
}

const LONG = 80; // words; a longer text is shown sentence by sentence, each to be opened

export function line(name, words, limit, { tag = "span" } = {}) {
  const row = make("div", { className: "line" }, make("small", { text: name }));
  const letters = words.filter((word) => word.kind === "text").map((word) => word.label).join("");
  row.dir = RIGHT_TO_LEFT.test(letters.match(/\p{L}/u)?.[0] ?? "") ? "rtl" : "ltr";
  const sentences = new Map();
  if (words.length > LONG && new Set(words.map((word) => word.sentence)).size > 2) {
    const totals = new Map();
    for (const word of words) totals.set(word.sentence, (totals.get(word.sentence) ?? 0) + word.value);
    const most = Math.max(...[...totals.values()].map(Math.abs), 1e-9);
    for (const [sentence, total] of totals) {
      const text = words.filter((word) => word.sentence === sentence).map((word) => word.label).join(" ");
      const summary = make("summary", { text, title: signed(total, 4) });
      summary.dir = "auto";
      paint(summary, total, most);
      sentences.set(sentence, make("details", { className: "sentence" }, summary));
      row.append(sentences.get(sentence));
    }
  }
  const elements = words.map((word, index) => {
    const element = make(tag, { className: `word ${word.kind}`, text: word.label, title: signed(word.value, 4) });
    element.dir = "auto";
    element.dataset.index = index;
    if (tag === "button") element.type = "button";
    paint(element, word.value, limit);
    (sentences.get(word.sentence) ?? row).append(" ", element);
    return element;
  });
  return { row, elements };
}

export function pairs(scene, count = 8) {
  const table = make("table");
  const rows = scene.matches.length
    ? scene.matches.map((m) => [m.score, m, `similar ${m.similarity.toFixed(2)}, cluster ${m.cluster + 1}`])
    : scene.pairs.slice(0, count).map((p) => [p.value, p, ""]);
  for (const [value, pair, more] of rows) {
    const cell = make("td", { className: "cell", text: signed(value) });
    paint(cell, value, scene.limit);
    // Each word runs its own way; the left one stays on the left.
    const name = make("td", {}, make("bdi", { text: pair.left }), " ↔ ", make("bdi", { text: pair.right }));
    table.append(make("tr", {}, cell, name, make("td", { className: "caption", text: more })));
  }
  return table;
}

export function parts(scene) {
  const background = make("details", {}, make("summary", { text: "background" }), bars(scene.background));
  return make("div", {}, bars(scene.parts), background);
}

function bars(shown) {
  const table = make("table");
  const most = Math.max(...shown.map((part) => Math.abs(part.value)), 1e-9);
  for (const part of shown) {
    const bar = make("span", { className: "bar" });
    bar.style.width = `${(9 * Math.abs(part.value)) / most}rem`;
    paint(bar, Math.sign(part.value) || 1, 1);
    table.append(make("tr", { title: part.meaning }, make("td", { text: part.name }), make("td", { className: "cell", text: signed(part.value) }), make("td", {}, bar)));
  }
  return table;
}

export function matrix({ grid, limit }) {
  const heading = ({ label, kind }, scope) => {
    const cell = make("th", { className: kind, text: label, title: label, scope });
    cell.dir = "auto";
    return cell;
  };
  const head = make("tr", {}, make("td"), ...grid.columns.map((column) => heading(column, "col")));
  const body = make("tbody");
  const cells = new Map(); // of two words, by their numbers in the texts
  grid.rows.forEach((row, m) => {
    const line = make("tr", {}, heading(row, "row"));
    grid.columns.forEach((column, n) => {
      const value = grid.values[m][n];
      const title = `${row.label} ↔ ${column.label}: ${signed(value, 5)}`;
      const cell = make("td", { className: "cell", text: signed(value, 2), title });
      paint(cell, value, limit);
      line.append(cell);
      cells.set(`${row.number} ${column.number}`, cell);
    });
    body.append(line);
  });
  return { table: make("table", {}, make("thead", {}, head), body), cells };
}

export function agreement(names, table) {
  const head = make("tr", {}, make("td"), ...names.map((name) => make("th", { text: name, scope: "col" })));
  const body = make("tbody");
  table.forEach((row, i) => {
    const line = make("tr", {}, make("th", { text: names[i], scope: "row" }));
    for (const value of row) {
      const cell = make("td", { className: "cell", text: value === null ? "–" : value.toFixed(2) });
      if (value !== null) paint(cell, value, 1);
      line.append(cell);
    }
    body.append(line);
  });
  return make("table", {}, make("thead", {}, head), body);
}

const LINKED = 40; // units; between longer texts links are a thicket

// Curves between the strongest pairs, behind the words of the two texts that stand above each other.
export function links(place, scene, left, right) {
  place.querySelector("svg")?.remove();
  place.classList.remove("linked");
  if (Math.max(scene.left.length, scene.right.length) > LINKED) return;
  place.classList.add("linked");
  const ground = place.getBoundingClientRect();
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("viewBox", `0 0 ${ground.width} ${ground.height}`);
  for (const pair of scene.pairs) {
    if (pair.value <= 0 || pair.kinds.some((kind) => kind !== "text")) continue;
    const from = left[pair.left_index].getBoundingClientRect(), to = right[pair.right_index].getBoundingClientRect();
    const [x, y] = [from.x + from.width / 2 - ground.x, from.bottom - ground.y];
    const [u, v] = [to.x + to.width / 2 - ground.x, to.top - ground.y];
    const share = Math.min(1, pair.value / scene.limit) ** 0.8;
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", `M${x} ${y}C${x} ${(y + v) / 2} ${u} ${(y + v) / 2} ${u} ${v}`);
    path.style.stroke = `rgba(${POSITIVE.join()},${(0.25 + 0.7 * share).toFixed(2)})`;
    path.style.strokeWidth = `${(1 + 5 * share).toFixed(2)}px`;
    svg.append(path);
  }
  place.prepend(svg);
}
