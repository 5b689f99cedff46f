import { $, ask, download, fields, fillModels, loadingText, say, start } from "/static/page.js";
import { links, put, shade, signed } from "/static/draw.js";

const form = $("#ask");
let shown = null, pinned = null;
const WIDEST = 60; // a larger matrix stays folded until it is asked for
const LONG = 160; // words of both texts, from which sentences are shown before words
const EXAMPLE = ["A man is playing the guitar on stage.", "Someone makes music for a crowd."];

const request = () => ({
  left: form.left.value, right: form.right.value,
  aligned: form.aligned.checked, special_tokens: form.special_tokens.checked, ...fields(form),
});

async function run(signal) {
  const asked = request();
  const count = (text) => text.split(/\s+/).length, sentences = (text) => text.split(/[.!?\n]+\s/).length;
  const words = count(asked.left) + count(asked.right);
  say(await loadingText([form.model.value], signal), "busy");
  if (asked.unit !== "word" || words < LONG) {
    const answer = await (await ask("/api/explain", asked, signal)).json();
    if (!signal.aborted) finish(asked, answer);
    return signal.aborted ? "" : "Explained.";
  }
  const first = performance.now(), coarse = { ...asked, unit: "sentence" };
  const answer = await (await ask("/api/explain", coarse, signal)).json();
  if (signal.aborted) return "";
  finish(coarse, answer);
  const seconds = (performance.now() - first) / 1000;
  return refine(asked, signal, (seconds * words) / (sentences(asked.left) + sentences(asked.right)));
}

// Sentences are there; words follow. What they cost is in proportion to their number, so the time left can be told.
async function refine(asked, signal, estimate) {
  const bar = $("#progress"), began = performance.now();
  const tick = setInterval(() => {
    const passed = (performance.now() - began) / 1000;
    bar.value = Math.min(0.98, passed / estimate);
    if (!signal.aborted) say(`Sentences are shown. Word by word: ${left(estimate - passed)} …`, "busy");
  }, 250);
  bar.hidden = false;
  try {
    const answer = await (await ask("/api/explain", asked, signal)).json();
    if (signal.aborted) return "";
    finish(asked, answer);
    return "Explained.";
  } catch (error) {
    if (signal.aborted) throw error;
    return `Sentences are shown. Word by word did not work: ${error.message}`;
  } finally {
    clearInterval(tick);
    bar.hidden = true;
  }
}

const left = (seconds) => (seconds > 1 ? `about ${Math.ceil(seconds)} s left` : "almost there");

function finish(asked, answer) {
  shown = { asked, answer };
  pinned = null;
  draw(answer);
}

function draw({ scene, html }) {
  $("#result").hidden = false;
  for (const name of ["caption", "closing", "scale", "advice"]) $(`#${name}`).textContent = scene[name];
  for (const name of ["sentence", "words", "legend", "pairs", "parts", "matrix", "notes"]) put($(`#${name}`), html[name]);
  $("#sum-part").hidden = !html.parts;
  $("#partners").replaceChildren();
  const [left, right] = [...document.querySelectorAll("#words .line")].map((text) => [...text.querySelectorAll("button.word")]);
  const link = () => links($("#words"), scene.links);
  window.onresize = link;
  link();
  $("#all").open = scene.grid.rows.length * scene.grid.columns.length <= WIDEST * WIDEST;
  const cells = new Map([...document.querySelectorAll("#matrix td.cell")].map((cell) => [`${cell.dataset.row} ${cell.dataset.column}`, cell]));
  const own = new Map([...left, ...right].map((word) => [word, word.className]));
  listen(scene, { left, right }, cells, own, link);
}

function listen(scene, sides, cells, own, link) {
  const other = { left: "right", right: "left" };
  const at = (table, side, i, j) => (side === "left" ? table[i][j] : table[j][i]);

  const lit = [];
  const glow = (cell) => {
    if (!cell) return;
    cell.classList.add("lit");
    lit.push(cell);
  };

  function plain() {
    for (const name of ["left", "right"]) {
      for (const element of sides[name]) {
        element.className = own.get(element);
        element.setAttribute("aria-pressed", "false");
        element.querySelector("sup")?.remove();
      }
    }
    for (const cell of lit.splice(0)) cell.classList.remove("lit");
    $("#partners").replaceChildren();
    link(); // the values beside the words are gone, so the words have moved
  }

  function light(side, index) {
    plain();
    const word = sides[side][index];
    word.classList.add(pinned ? "pinned" : "chosen");
    word.setAttribute("aria-pressed", String(pinned !== null));
    const partners = scene[other[side]].map((partner, j) => ({ partner, j, value: at(scene.cells, side, index, j) }));
    for (const { j, value: v } of partners) {
      const element = sides[other[side]][j];
      shade(element, at(scene.shades, side, index, j));
      if (Math.abs(v) >= 0.1 * scene.limit) element.append(Object.assign(document.createElement("sup"), { textContent: signed(v, 2) }));
      glow(cells.get(side === "left" ? `${index} ${j}` : `${j} ${index}`));
    }
    const best = [...partners].sort((a, b) => b.value - a.value).slice(0, 4);
    const text = best.map((each) => `${each.partner.label} ${signed(each.value)}`).join(",  ");
    const name = Object.assign(document.createElement("strong"), { textContent: scene[side][index].label });
    $("#partners").replaceChildren(name, ` with  ${text}`);
    link();
  }

  function rest() {
    if (pinned) light(pinned.side, pinned.index);
    else plain();
  }

  for (const side of ["left", "right"]) {
    sides[side].forEach((element, index) => {
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
  for (const [key, cell] of cells) {
    const [i, j] = key.split(" ").map(Number);
    const show = () => {
      if (pinned) return;
      plain();
      sides.left[i].classList.add("chosen");
      sides.right[j].classList.add("chosen");
      glow(cell);
      $("#partners").replaceChildren(`${cell.title}`);
    };
    cell.addEventListener("mouseenter", show);
    cell.addEventListener("focus", show);
    cell.addEventListener("mouseleave", rest);
    cell.addEventListener("blur", rest);
  }
  walk(cells, scene.grid);
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
        const { scene: _, html: __, ...explanation } = shown.answer;
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

$("#words").addEventListener("click", (event) => { // the map of a long text; what follows the # is the state of the page
  const link = event.target.closest("nav.map a");
  if (!link) return;
  event.preventDefault();
  document.getElementById(link.getAttribute("href").slice(1)).scrollIntoView({ block: "center" });
});
await fillModels(form.model);
const go = start(form, run);
for (const option of [form.unit, form.aligned, form.special_tokens]) option.addEventListener("change", () => shown && go());
$("#example").addEventListener("click", () => {
  [form.left.value, form.right.value] = EXAMPLE;
  go();
});
$("#swap").addEventListener("click", () => {
  [form.left.value, form.right.value] = [form.right.value, form.left.value];
  if (form.left.value && form.right.value) go();
});
document.documentElement.dataset.ready = "yes";
