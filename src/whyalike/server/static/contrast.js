import { $, ask, download, fields, fillModels, loadingText, say, start } from "/static/page.js";
import { put } from "/static/draw.js";

const form = $("#ask");
let shown = null;

async function run(signal) {
  const body = { query: form.query.value, a: form.a.value, b: form.b.value, ...fields(form) };
  say(await loadingText([form.model.value], signal), "busy");
  const answer = await (await ask("/api/contrast", body, signal)).json();
  if (signal.aborted) return "";
  shown = answer;
  $("#result").hidden = false;
  put($("#sentence"), answer.html.sentence);
  $("#caption").textContent = answer.caption;
  $("#closing").textContent = answer.closing;
  for (const name of ["words", "pairs", "notes"]) put($(`#${name}`), answer.html[name]);
  return "Explained.";
}

document.querySelector("[data-download]").addEventListener("click", () => {
  const { html: _, heading: __, caption: ___, closing: ____, ...contrast } = shown;
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
