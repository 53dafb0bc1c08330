// The panel inside a client that renders MCP Apps. It speaks with its host alone, by messages, and shows what the server sends as elements
// and text: nothing here makes markup from text. The secrets that answers need are kept in this script, not in the page.
"use strict";

const TALKS = "2026-01-26";
const KEY = "remit/panel";
const OPEN = "approvals_open";
const ANSWER = "approvals_answer";
const WAIT = 5; // seconds that one look may wait; the server allows no more
const PAUSE = 700; // milliseconds between two looks
const TROUBLE = 5000; // milliseconds after a look that failed
const QUIET = 30 * 60 * 1000; // milliseconds without a prompt after which a panel looks no more
const SECRET_LIVES = 8 * 60 * 1000; // milliseconds; the server gives ten minutes

const inbox = document.getElementById("inbox");
const count = document.getElementById("count");
const live = document.getElementById("live");
const more = document.getElementById("more");
const again = document.getElementById("again");
const goOn = document.getElementById("go-on");

let name = newName();
const secrets = new Map(); // prompt → { secret, until }
const shown = new Set(); // prompts whose cards are here and open
let seen = []; // prompts that the server said were open, the last time
let host = {};
let watching = true; // may anything still come?
let resting = false; // shown elsewhere, quiet for long, or torn down
let inView = true;
let waited = false; // it left while somebody was asked
let heardAt = Date.now();

function newName() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// ---- the host -----------------------------------------------------------------------------------

let lastId = 0;
const pending = new Map();

function post(message) {
  // The host's origin is known to nobody in here; only the window that holds this one gets it.
  window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
}

function request(method, params) {
  const id = ++lastId;
  return new Promise((resolve, reject) => {
    pending.set(id, { resolve, reject });
    post({ id, method, params });
  });
}

window.addEventListener("message", (event) => {
  const message = event.data;
  if (event.source !== window.parent || typeof message !== "object" || message === null || message.jsonrpc !== "2.0") return;
  if (typeof message.method !== "string") return answered(message);
  if (message.id === undefined) return notified(message.method, message.params || {});
  if (message.method === "ping") return post({ id: message.id, result: {} });
  if (message.method === "ui/resource-teardown") {
    rest("");
    return post({ id: message.id, result: {} });
  }
  post({ id: message.id, error: { code: -32601, message: "Method not found" } });
});

function answered(message) {
  const one = pending.get(message.id);
  if (!one) return;
  pending.delete(message.id);
  if (message.error) one.reject(new Error("the client did not pass it on"));
  else one.resolve(message.result || {});
}

function notified(method, params) {
  if (method === "ui/notifications/tool-result") result(params);
  if (method === "ui/notifications/tool-cancelled") over();
  if (method === "ui/notifications/host-context-changed") dress(params);
}

function dress(context) {
  if (context.theme === "light" || context.theme === "dark") document.documentElement.dataset.theme = context.theme;
  const room = context.containerDimensions;
  if (room && typeof room.maxHeight === "number") document.documentElement.style.maxHeight = `${room.maxHeight}px`;
}

// ---- what the server sends ------------------------------------------------------------------------

const ELEMENTS = new Set(("article header section h2 h3 p span time bdi code pre mark ul ol li dl dt dd em kbd form div button label input "
  + "fieldset legend").split(" "));
const ATTRIBUTES = new Set(("class id role tabindex dir datetime type name value for maxlength autocomplete disabled hidden checked").split(" "));

function built(node) {
  if (typeof node === "string") return document.createTextNode(node);
  const [kind, attributes, ...children] = node;
  if (!ELEMENTS.has(kind)) return document.createTextNode("");
  const element = document.createElement(kind);
  for (const [key, value] of Object.entries(attributes)) {
    if (ATTRIBUTES.has(key) || key.startsWith("aria-") || key.startsWith("data-")) element.setAttribute(key, value);
  }
  element.append(...children.map(built));
  return element;
}

function cardFrom(nodes) {
  const card = built(nodes[0]);
  card.querySelector?.('input[name="key"]')?.remove();
  return card;
}

function take(told) {
  if (!told) return;
  if (told.newer) return rest("A newer panel shows what waits for you.");
  const open = told.open || [];
  for (const one of told.prompts || []) {
    secrets.set(one.id, { secret: one.secret, until: Date.now() + SECRET_LIVES });
    if (!one.card || shown.has(one.id)) continue;
    const card = cardFrom(one.card);
    const old = cardOf(one.id);
    if (old) replaceCard(old, card);
    else inbox.append(card);
    shown.add(one.id);
  }
  for (const one of told.over || []) {
    shown.delete(one.id);
    secrets.delete(one.id);
    const old = cardOf(one.id);
    if (old) replaceCard(old, cardFrom(one.card));
  }
  if (open.length) heardAt = Date.now();
  seen = open;
  tell();
}

function tell() {
  tellTimes();
  const behind = seen.filter((id) => !shown.has(id)).length;
  const words = seen.length === 0 ? "Nobody waits for an answer."
    : `${seen.length} ${seen.length === 1 ? "prompt waits" : "prompts wait"} for you.`;
  if (count.textContent !== words) count.textContent = words;
  more.textContent = behind ? `${behind} more behind these. The console shows all: remit console` : "";
  more.hidden = !behind;
  goOn.hidden = !(waited && seen.length === 0 && cards().length && host.message);
}

// ---- looking --------------------------------------------------------------------------------------

let wake = () => {};

function pause(milliseconds) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

async function tool(named, given) {
  return request("tools/call", { name: named, arguments: given });
}

let begun = 0; // looks
let newest = 0; // the one begun last of those that were taken

async function look(wait) {
  const number = ++begun;
  const known = [...shown];
  const renew = known.filter((id) => !secrets.has(id) || secrets.get(id).until < Date.now());
  const answer = await tool(OPEN, { panel: name, seen: seen.slice(0, 1000), known, renew, wait_seconds: wait });
  if (answer.isError || !answer._meta?.[KEY]) throw new Error("the server does not answer this panel");
  if (number < newest) return; // a later look has told how things are since
  newest = number;
  take(answer._meta[KEY]);
}

async function watch() {
  for (let wait = 0; ; ) {
    if (resting) {
      await pause(2 ** 30);
      wait = 0;
      continue;
    }
    if (!inView) {
      await pause(1000);
      continue;
    }
    try {
      await look(wait);
      wait = WAIT;
      if (!resting) live.textContent = "Live: new prompts appear by themselves.";
    } catch (error) {
      live.textContent = `Not live: ${error.message}. What you see may be old.`;
      await pause(TROUBLE);
    }
    if (!watching && seen.length === 0) rest("");
    else if (Date.now() - heardAt > QUIET) rest("Nothing was asked for a while.");
    else await pause(PAUSE);
  }
}

function rest(words) {
  resting = true;
  live.textContent = words;
  again.hidden = !words;
  if (words.startsWith("A newer")) putAway();
  if (!cards().length && !words) leave();
}

// What an older panel showed is shown by the newer one.
function putAway() {
  inbox.replaceChildren();
  shown.clear();
  secrets.clear();
  count.textContent = "";
  more.hidden = goOn.hidden = true;
}

// Nothing to show and nothing to come: take no room in the conversation.
function leave() {
  document.body.classList.add("gone");
  post({ method: "ui/notifications/request-teardown", params: {} });
}

again.addEventListener("click", () => {
  name = newName(); // a new one is the newest
  again.hidden = true;
  resting = false;
  seen = [];
  heardAt = Date.now();
  wake();
});

goOn.addEventListener("click", async () => {
  goOn.disabled = true;
  const words = "I have answered in Remit's panel. Please go on.";
  try {
    await request("ui/message", { role: "user", content: [{ type: "text", text: words }] });
    waited = false; // each look tells anew whether the button has a use
  } catch {
    // It stays, to be pressed again.
  }
  goOn.disabled = false;
  tell();
});

// ---- the call that brought this panel ---------------------------------------------------------------

function result(params) {
  const state = params.structuredContent?.state;
  const told = params._meta?.[KEY];
  waited = Boolean(told);
  take(told);
  if (!told && state !== "running" && state !== "waiting") over();
  wake();
}

function over() {
  watching = false;
  wake();
}

// ---- answering --------------------------------------------------------------------------------------

function fieldsOf(form, button) {
  const fields = {};
  const add = (key, value) => (fields[key] ||= []).push(String(value));
  for (const [key, value] of new FormData(form)) add(key, value);
  if (button.name) add(button.name, button.value);
  return fields;
}

// What another server wants opened: the host asks and opens, this frame cannot.
inbox.addEventListener("click", async (event) => {
  const button = event.target instanceof Element ? event.target.closest("button[data-link]") : null;
  if (!button) return;
  try {
    await request("ui/open-link", { url: button.dataset.link });
  } catch {
    note(button.closest("article.card").dataset.prompt, "This client opens no links: take the address that stands there.");
  }
});

// A frame like this one may send no forms: the press of a button is all there is.
inbox.addEventListener("click", async (event) => {
  const button = event.target instanceof Element ? event.target.closest('button[type="submit"]') : null;
  if (!button || !button.form) return;
  event.preventDefault();
  const form = button.form;
  const id = form.closest("article.card").dataset.prompt;
  const fields = fieldsOf(form, button);
  const pressed = [...form.querySelectorAll("button:enabled")];
  for (const one of pressed) one.disabled = true;
  const { secret } = secrets.get(id) || { secret: "none" };
  secrets.delete(id);
  let words = "";
  try {
    const answer = await tool(ANSWER, { prompt: id, secret, fields });
    if (answer.isError) words = "Your answer did not count. If the prompt still waits, answer it again.";
  } catch (error) {
    words = `Your answer may not have counted: ${error.message}.`;
  }
  try {
    await look(0);
  } catch {
    words ||= "The answer was sent. What has become of it is not known yet.";
  }
  if (words) note(id, words);
  for (const one of pressed) one.disabled = false;
});

function note(id, words) {
  const card = cardOf(id);
  if (!card || !isOpen(card)) return;
  const line = card.querySelector("p.note") || document.createElement("p");
  line.className = "note";
  line.setAttribute("role", "alert");
  line.textContent = words;
  card.querySelector("header").after(line);
}

// ---- beginning --------------------------------------------------------------------------------------

function tellSize() {
  const height = document.body.classList.contains("gone") ? 0 : Math.ceil(document.documentElement.getBoundingClientRect().height);
  post({ method: "ui/notifications/size-changed", params: { height } });
}

async function begin() {
  const said = await request("ui/initialize", {
    appInfo: { name: "remit-panel", version: "1" },
    appCapabilities: { availableDisplayModes: ["inline"] },
    protocolVersion: TALKS,
  });
  host = said.hostCapabilities || {};
  dress(said.hostContext || {});
  post({ method: "ui/notifications/initialized", params: {} });
  new ResizeObserver(tellSize).observe(document.body);
  new IntersectionObserver((entries) => {
    inView = entries[entries.length - 1].isIntersecting;
    if (inView) wake();
  }).observe(document.documentElement);
  if (!host.serverTools) {
    live.textContent = "This client passes on no answers. Use remit console or remit approvals in a terminal.";
    return;
  }
  await watch();
}

begin();
