import { $, ask, download, fillModels, loadingText, say, start } from "/static/page.js";
import { agreement, line, make, pairs } from "/static/draw.js";

const form = $("#ask");
let shown = null;

async function run(signal) {
  const data = new FormData(form);
  const methods = data.getAll("methods"), models = data.getAll("models");
  if (!methods.length || !models.length) throw new Error("Choose at least one method and one model.");
  const body = { left: form.left.value, right: form.right.value, methods, models, unit: form.unit.value, truncate: data.has("truncate") };
  say(await loadingText(models, signal), "busy");
  const answer = await (await ask("/api/compare", body, signal)).json();
  if (signal.aborted) return "";
  shown = answer;
  $("#result").hidden = false;
  $("#cards").replaceChildren(...answer.entries.map((entry, index) => card(entry, answer.scenes[index])));
  const names = answer.entries.map((entry) => entry.name);
  $("#spearman").replaceChildren(agreement(names, answer.spearman));
  $("#overlap").replaceChildren(agreement(names, answer.top_10_overlap));
  return `${names.length} explanations compared.`;
}

function card(entry, scene) {
  const adds = entry.explanation.method.adds_up ? (entry.adds_up ? "adds up" : "does not add up") : "no claim to add up";
  return make(
    "section",
    { className: "card" },
    make("h3", { text: entry.name }),
    make("p", { className: "caption", text: `score ${scene.score.toFixed(3)} · ${adds} · ${entry.seconds.toFixed(2)} s` }),
    line("left", scene.left, scene.word_limit).row,
    line("right", scene.right, scene.word_limit).row,
    pairs(scene, 6),
    make("p", { className: "sum", text: scene.closing }),
    ...scene.notes.map((text) => make("p", { className: "note", text })),
  );
}

document.querySelector("[data-download]").addEventListener("click", () => {
  const { scenes: _, ...comparison } = shown;
  download("comparison.json", new Blob([JSON.stringify(comparison)], { type: "application/json" }));
});
await fillModels($("#models"), true);
start(form, run);
document.documentElement.dataset.ready = "yes";
