import { $, ask, download, fields, fillModels, loadingText, say, start } from "/static/page.js";
import { line, links, make, matrix, paint, pairs, parts, signed } from "/static/draw.js";

const form = $("#ask");
let shown = null, pinned = null;
const WIDEST = 60; // a larger matrix stays folded until it is asked for

const request = () => ({ left: form.left.value, right: form.right.value, aligned: form.aligned.checked, ...fields(form) });

async function run(signal) {
  const asked = request();
  say(await loadingText([form.model.value], signal), "busy");
  const answer = await (await ask("/api/explain", asked, signal)).json();
  if (signal.aborted) return "";
  shown = { asked, answer };
  pinned = null;
  draw(answer.scene);
  return `Explained: score ${answer.score.toFixed(3)}.`;
}

function draw(scene) {
  $("#result").hidden = false;
  $("#score").textContent = `score ${scene.score.toFixed(3)}`;
  $("#caption").textContent = scene.caption;
  $("#closing").textContent = scene.closing;
  $("#notes").replaceChildren(...scene.notes.map((text) => make("p", { className: "note", text })));
  $("#pairs").replaceChildren(pairs(scene));
  $("#parts").replaceChildren(parts(scene));
  $("#sum-part").hidden = !scene.parts.length;
  $("#partners").replaceChildren();
  const sides = {
    left: line("left", scene.left, scene.word_limit, { tag: "button" }),
    right: line("right", scene.right, scene.word_limit, { tag: "button" }),
  };
  $("#words").replaceChildren(sides.left.row, sides.right.row);
  const link = () => links($("#words"), scene, sides.left.elements, sides.right.elements);
  window.onresize = link;
  link();
  const grid = matrix(scene);
  const fold = $("#all");
  fold.open = scene.grid.rows.length * scene.grid.columns.length <= WIDEST * WIDEST;
  $("#matrix").replaceChildren(grid.table);
  listen(scene, sides, grid, link);
}

function listen(scene, sides, grid, link) {
  const other = { left: "right", right: "left" };
  const value = (side, i, j) => (side === "left" ? scene.cells[i][j] : scene.cells[j][i]);

  const lit = [];
  const glow = (cell) => {
    if (!cell) return;
    cell.classList.add("lit");
    lit.push(cell);
  };

  function plain() {
    for (const name of ["left", "right"]) {
      sides[name].elements.forEach((element, index) => {
        element.classList.remove("chosen", "pinned");
        element.setAttribute("aria-pressed", "false");
        element.querySelector("sup")?.remove();
        paint(element, scene[name][index].value, scene.word_limit);
      });
    }
    for (const cell of lit.splice(0)) cell.classList.remove("lit");
    $("#partners").replaceChildren();
    link(); // the values beside the words are gone, so the words have moved
  }

  function light(side, index) {
    plain();
    const word = sides[side].elements[index];
    word.classList.add(pinned ? "pinned" : "chosen");
    word.setAttribute("aria-pressed", String(pinned !== null));
    const partners = scene[other[side]].map((partner, j) => ({ partner, j, value: value(side, index, j) }));
    for (const { j, value: v } of partners) {
      const element = sides[other[side]].elements[j];
      paint(element, v, scene.limit);
      if (Math.abs(v) >= 0.1 * scene.limit) element.append(make("sup", { text: signed(v, 2) }));
      if (v >= 0.5 * scene.limit) element.closest("details")?.setAttribute("open", ""); // a strong partner shows itself
      glow(grid.cells.get(side === "left" ? `${index} ${j}` : `${j} ${index}`));
    }
    const best = [...partners].sort((a, b) => b.value - a.value).slice(0, 4);
    const text = best.map((each) => `${each.partner.label} ${signed(each.value)}`).join(",  ");
    $("#partners").replaceChildren(make("strong", { text: scene[side][index].label }), ` with  ${text}`);
    link();
  }

  function rest() {
    if (pinned) light(pinned.side, pinned.index);
    else plain();
  }

  for (const side of ["left", "right"]) {
    sides[side].elements.forEach((element, index) => {
      element.addEventListener("mouseenter", () => pinned || light(side, index));
      element.addEventListener("focus", () => pinned || light(side, index));
      element.addEventListener("mouseleave", rest);
      element.addEventListener("blur", rest);
      element.addEventListener("click", () => {
        pinned = pinned && pinned.side === side && pinned.index === index ? null : { side, index };
        light(side, index);
      });
    });
  }
  for (const [key, cell] of grid.cells) {
    const [i, j] = key.split(" ").map(Number);
    const show = () => {
      if (pinned) return;
      plain();
      sides.left.elements[i].classList.add("chosen");
      sides.right.elements[j].classList.add("chosen");
      glow(cell);
      $("#partners").replaceChildren(`${cell.title}`);
    };
    cell.addEventListener("mouseenter", show);
    cell.addEventListener("focus", show);
    cell.addEventListener("mouseleave", rest);
    cell.addEventListener("blur", rest);
  }
  walk(grid.cells, scene.grid);
  document.onkeydown = (event) => {
    if (event.key !== "Escape") return;
    pinned = null;
    plain();
  };
}

// Tab reaches the matrix once; the arrow keys go from cell to cell.
function walk(cells, { rows, columns }) {
  const at = (m, n) => cells.get(`${rows[m]?.number} ${columns[n]?.number}`);
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  rows.forEach((_, m) => columns.forEach((_, n) => {
    const cell = at(m, n);
    if (!cell) return;
    cell.tabIndex = m || n ? -1 : 0;
    cell.addEventListener("keydown", (event) => {
      const step = steps[event.key];
      const next = step && at(m + step[0], n + step[1]);
      if (!next) return;
      event.preventDefault();
      cell.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
  }));
}

for (const button of document.querySelectorAll("[data-download]")) {
  button.addEventListener("click", async () => {
    const kind = button.dataset.download;
    try {
      if (kind === "json") {
        const { scene: _, ...explanation } = shown.answer;
        download("explanation.json", new Blob([JSON.stringify(explanation)], { type: "application/json" }));
      } else {
        say("Drawing …", "busy");
        download(`explanation.${kind}`, await (await ask(`/api/explain.${kind}`, shown.asked)).blob());
        say("");
      }
    } catch (error) {
      say(error.message, "error");
    }
  });
}

await fillModels(form.model);
const go = start(form, run);
for (const option of [form.unit, form.aligned]) option.addEventListener("change", () => shown && go());
$("#swap").addEventListener("click", () => {
  [form.left.value, form.right.value] = [form.right.value, form.left.value];
  if (form.left.value && form.right.value) go();
});
document.documentElement.dataset.ready = "yes";
