import { $, ask, say } from "/static/page.js";
import { links, put } from "/static/draw.js";

let rater = localStorage.getItem("whyalike-rater") ?? "", item = null, waiting = false, shownAt = 0;
$("#who").rater.value = rater;

function show({ item: next, done, total, scale, html }) {
  item = next;
  shownAt = performance.now();
  $("#who").hidden = true;
  $("#result").hidden = !next;
  say(next ? `${done} of ${total} rated` : `All ${total} are rated. Thank you, ${rater}.`);
  if (!next) return;
  put($("#words"), html.words);
  put($("#pairs"), html.pairs);
  links($("#words"), next.pairs);
  $("#scale").replaceChildren($("#scale legend"), ...Object.entries(scale).map(([score, text]) => {
    const button = Object.assign(document.createElement("button"), { textContent: `${score}  ${text}`, type: "button" });
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
