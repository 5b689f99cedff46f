import { $, ask, say } from "/static/page.js";
import { line, links, make, paint } from "/static/draw.js";

let rater = localStorage.getItem("whyalike-rater") ?? "", item = null, waiting = false, shownAt = 0;
$("#who").rater.value = rater;

function show({ item: next, done, total, scale }) {
  item = next;
  shownAt = performance.now();
  $("#who").hidden = true;
  $("#result").hidden = !next;
  say(next ? `${done} of ${total} rated` : `All ${total} are rated. Thank you, ${rater}.`);
  if (!next) return;
  const left = line("left", next.left, 1), right = line("right", next.right, 1);
  for (const [name, { row }] of [["left", left], ["right", right]])
    if (next.cut?.includes(name)) row.append(make("span", { className: "note", text: " … the model read no further" }));
  $("#words").replaceChildren(left.row, right.row);
  links($("#words"), next, left.elements, right.elements);
  for (const element of [...left.elements, ...right.elements]) element.title = ""; // numbers would tell methods apart
  const table = make("table");
  for (const pair of next.pairs) {
    const cell = make("td", { className: "cell", text: " " });
    paint(cell, pair.value, 1);
    table.append(make("tr", {}, cell, make("td", {}, make("bdi", { text: pair.left }), " ↔ ", make("bdi", { text: pair.right }))));
  }
  $("#pairs").replaceChildren(table);
  $("#scale").replaceChildren($("#scale legend"), ...Object.entries(scale).map(([score, text]) => {
    const button = make("button", { text: `${score}  ${text}`, type: "button" });
    button.addEventListener("click", () => answer(Number(score)));
    return button;
  }));
}

async function answer(score) {
  if (!item || waiting || performance.now() - shownAt < 250) return; // a second click was meant for the item before
  waiting = true;
  try {
    show(await (await ask("/api/answer", { rater, item: item.id, score })).json());
  } catch (error) {
    say(error.message, "error");
  }
  waiting = false;
}

document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || event.target.tagName === "INPUT") return;
  if (/^[1-5]$/.test(event.key)) answer(Number(event.key));
});
$("#who").addEventListener("submit", async (event) => {
  event.preventDefault();
  rater = $("#who").rater.value.trim();
  localStorage.setItem("whyalike-rater", rater);
  try {
    show(await (await ask("/api/next", { rater })).json());
  } catch (error) {
    say(error.message, "error");
  }
});
document.documentElement.dataset.ready = "yes";
