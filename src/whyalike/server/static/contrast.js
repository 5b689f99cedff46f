import { $, ask, download, fields, fillModels, loadingText, say, start } from "/static/page.js";
import { line, make, paint, signed } from "/static/draw.js";

const form = $("#ask");
let shown = null;

async function run(signal) {
  const body = { query: form.query.value, a: form.a.value, b: form.b.value, ...fields(form) };
  say(await loadingText([form.model.value], signal), "busy");
  const answer = await (await ask("/api/contrast", body, signal)).json();
  if (signal.aborted) return "";
  shown = answer;
  draw(answer.scene);
  return `A rather than B: ${signed(answer.difference)}.`;
}

const most = (values) => Math.max(...values.map(Math.abs), 1e-9);

function draw(scene) {
  $("#result").hidden = false;
  $("#score").textContent = `A rather than B: ${signed(scene.difference)}`;
  $("#words").replaceChildren(...scene.lines.map(({ name, words, limit }) => line(name, words, limit).row));
  $("#caption").textContent = scene.caption;
  $("#notes").replaceChildren(...scene.notes.map((text) => make("p", { className: "note", text })));
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...["word", "for A", "for B", "difference"].map((text) => make("th", { text, scope: "col" })))));
  const limit = most(scene.rows.map((row) => row.difference));
  for (const row of scene.rows) {
    const cell = make("td", { className: "cell", text: signed(row.difference) });
    paint(cell, row.difference, limit);
    const name = make("td", { text: row.word });
    name.dir = "auto";
    table.append(make("tr", {}, name, make("td", { className: "cell", text: signed(row.a) }), make("td", { className: "cell", text: signed(row.b) }), cell));
  }
  $("#pairs").replaceChildren(table);
  $("#closing").textContent = scene.closing;
}

document.querySelector("[data-download]").addEventListener("click", () => {
  const { scene: _, ...contrast } = shown;
  download("contrast.json", new Blob([JSON.stringify(contrast)], { type: "application/json" }));
});
await fillModels(form.model);
const go = start(form, run);
form.unit.addEventListener("change", () => shown && go());
$("#swap").addEventListener("click", () => {
  [form.a.value, form.b.value] = [form.b.value, form.a.value];
  if (form.query.value && form.a.value && form.b.value) go();
});
document.documentElement.dataset.ready = "yes";
