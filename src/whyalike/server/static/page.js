// What the three pages share: asking the server, saying how it goes, the link that brings the same state back.

const $ = (selector) => document.querySelector(selector);
export { $ };

const RETRIES = 40; // of a busy server, about a second apart

const TOKEN = "whyalike-token"; // kept until the tab is closed

async function send(path, body, token, signal) {
  const headers = { "Content-Type": "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  return fetch(path, body === undefined ? { headers, signal } : { method: "POST", headers, signal, body: JSON.stringify(body) });
}

export async function ask(path, body, signal) {
  for (let attempt = 0; ; attempt += 1) {
    const token = sessionStorage.getItem(TOKEN);
    const answer = await send(path, body, token, signal);
    if (answer.ok) return answer;
    const problem = (await answer.json().catch(() => ({}))).error ?? {};
    if (answer.status === 401) {
      if (sessionStorage.getItem(TOKEN) === token) await askForToken(problem.type === "WrongToken"); // else another was given meanwhile
      continue;
    }
    if (problem.type !== "Busy" || attempt >= RETRIES) throw new Error(problem.on_page ?? problem.message ?? `The server answered ${answer.status}.`);
    if (!signal?.aborted) say("The server is busy; trying again …", "busy");
    const pause = 1000 * Number(answer.headers.get("Retry-After") || 1) * (0.5 + Math.random());
    await new Promise((wake) => setTimeout(wake, pause));
    signal?.throwIfAborted();
  }
}

let asking = null; // one form, however many requests wait for it

function askForToken(wrong) {
  asking ??= showTokenForm(wrong).finally(() => { asking = null; });
  return asking;
}

function showTokenForm(wrong) {
  sessionStorage.removeItem(TOKEN);
  const form = document.importNode($("#token-form").content, true).firstElementChild;
  $("#status").after(form);
  const input = form.querySelector("input");
  const refuse = () => {
    form.querySelector("[role=alert]")?.remove();
    form.append(Object.assign(document.createElement("p"), { role: "alert", textContent: "That token is not right." }));
    input.value = "";
    input.focus();
  };
  input.focus();
  if (wrong) refuse();
  return new Promise((done) => {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const token = input.value.trim();
      if (!/^[\x20-\x7e]+$/.test(token)) return refuse(); // a header cannot carry it, and no server's token is like it
      sessionStorage.setItem(TOKEN, token);
      form.remove();
      done();
    });
  });
}

// The address holds the page's state behind the #, so the link to the content may not change it.
$(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  $("#main").focus();
});

export function say(text, kind = "") {
  const status = $("#status");
  status.textContent = text;
  status.className = kind;
}

export async function fillModels(place, asChoices) {
  const models = await (await ask("/api/models")).json();
  for (const [index, model] of models.entries()) {
    if (asChoices) {
      const box = Object.assign(document.createElement("input"), { type: "checkbox", name: "models", value: model.name, checked: index === 0 });
      const label = document.createElement("label");
      label.className = "check";
      label.append(box, ` ${model.name}`);
      place.append(label);
    } else {
      place.append(new Option(model.name, model.name));
    }
  }
}

export async function loadingText(names, signal) {
  const models = await (await ask("/api/models", undefined, signal)).json();
  const asleep = models.filter((model) => names.includes(model.name) && !model.loaded);
  return asleep.length ? `Loading ${asleep.map((model) => model.name).join(", ")} for the first time …` : "Explaining …";
}

// The form's state as what follows the # of a link, and back: it stays in the browser, however long.
export function stateOf(form) {
  const state = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value !== "") state.append(name, value);
  return state;
}

export function restore(form) {
  const state = new URLSearchParams(location.hash.slice(1));
  if (![...state.keys()].length) return false;
  for (const field of form.elements) {
    if (!field.name) continue;
    if (field.type === "checkbox") field.checked = field.value === "on" ? state.has(field.name) : state.getAll(field.name).includes(field.value);
    else if (state.has(field.name)) {
      field.value = state.get(field.name);
      if (field.value !== state.get(field.name)) {
        field.selectedIndex = 0;
        say(`The link asks for the ${field.name} "${state.get(field.name)}", which this server does not have.`, "error");
        return false;
      }
    }
  }
  return [...form.elements].every((field) => !field.required || field.value);
}

export function start(form, run) {
  let running = null;
  const go = async () => {
    running?.abort();
    const mine = (running = new AbortController());
    const link = `${location.pathname}#${stateOf(form)}`;
    try {
      const said = await run(mine.signal);
      if (mine.signal.aborted) return;
      history.replaceState(null, "", link); // the link always brings back what is shown
      say(said ?? "");
    } catch (error) {
      if (mine.signal.aborted) return;
      $("#result").hidden = true;
      say(error.message, "error");
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go();
  });
  for (const area of form.querySelectorAll("textarea")) {
    area.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
  }
  $("#copy")?.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      say("The link is copied.");
    } catch {
      say(location.href);
    }
  });
  window.addEventListener("hashchange", () => restore(form) && go());
  if (restore(form)) go();
  return go;
}

export function download(name, blob) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export function fields(form) {
  const data = new FormData(form);
  const layer = data.get("layer");
  return {
    model: data.get("model") || null,
    method: data.get("method"),
    layer: layer === null || layer === "" ? null : Number(layer),
    unit: data.get("unit"),
    truncate: data.has("truncate"),
  };
}
