import { $, ask, download, fillModels, loadingText, say, start } from "/static/page.js";
import { put } from "/static/draw.js";

const form = $("#ask");
let shown = null;

async function run(signal) {
  const data = new FormData(form);
  const methods = data.getAll("methods"), models = data.getAll("models");
  if (!methods.length || !models.length) throw new Error("Choose at least one method and one model.");
  const layers = form.layers.value.split(/[ ,]+/).filter(Boolean).map(Number);
  const body = {
    left: form.left.value, right: form.right.value, methods, models, layers: layers.length ? layers : [null],
    unit: form.unit.value, aligned: data.has("aligned"), truncate: data.has("truncate"),
  };
  say(await loadingText(models, signal), "busy");
  const answer = await (await ask("/api/compare", body, signal)).json();
  if (signal.aborted) return "";
  shown = answer;
  $("#result").hidden = false;
  for (const name of ["sentence", "differences", "cards", "tables"]) put($(`#${name}`), answer.html[name]);
  return `${answer.entries.length} explanations compared.`;
}

document.querySelector("[data-download]").addEventListener("click", () => {
  const { html: _, ...comparison } = shown;
  download("comparison.json", new Blob([JSON.stringify(comparison)], { type: "application/json" }));
});
await fillModels($("#models"), true);
start(form, run);
document.documentElement.dataset.ready = "yes";
