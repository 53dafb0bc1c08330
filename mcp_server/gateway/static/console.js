// The pages work without this; with it they are live and answer to keys. Nothing here makes markup from text.
"use strict";

const inbox = document.getElementById("inbox");
const live = document.getElementById("live");
const count = document.getElementById("count");
const clear = document.getElementById("clear");
const further = document.getElementById("further");

// ---- links to a prompt ------------------------------------------------------------------------

// A link to a prompt does not know the door; its page, of the same origin, finds it here.
const door = location.pathname.split("/")[1];
const WANTED_MILLISECONDS = 10 * 60 * 1000;

// Who came by such a link and had to sign in first goes on to that prompt.
function wanted() {
  try {
    localStorage.setItem("remit.door", door);
    const { prompt, at } = JSON.parse(localStorage.getItem("remit.wanted") || "{}");
    localStorage.removeItem("remit.wanted");
    const recent = Date.now() - at < WANTED_MILLISECONDS;
    return recent && /^prm_[a-z2-7]+$/.test(prompt) ? prompt : null;
  } catch {
    return null; // a browser that keeps nothing
  }
}

const first = wanted();
if (inbox && first) location.replace(inbox.dataset.prompts + first);

// ---- cards ------------------------------------------------------------------------------------

// A page of ours as a document: parsed, never run. It is where every new card comes from.
function load(method, url, body) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, url);
    request.responseType = "document";
    request.timeout = 20000;
    if (body) request.setRequestHeader("Content-Type", "application/x-www-form-urlencoded");
    request.onload = () => resolve(request.response);
    request.onerror = request.ontimeout = () => reject(new Error("the console does not answer"));
    request.send(body);
  });
}

function cardIn(page) {
  const found = page && page.querySelector("article.card");
  return found && document.adoptNode(found);
}

function replace(old, made) {
  replaceCard(old, made);
  clear.hidden = cards().every(isOpen);
}

async function refresh(id) {
  try {
    const made = cardIn(await load("GET", inbox.dataset.prompts + encodeURIComponent(id)));
    const old = cardOf(id);
    if (!made) return;
    if (old) replace(old, made);
    else {
      inbox.append(made);
      tellTimes();
    }
  } catch (error) {
    live.textContent = String(error.message);
  }
}

async function send(form, button) {
  const fields = new URLSearchParams();
  for (const [name, value] of new FormData(form)) fields.append(name, String(value));
  if (button && button.name) fields.append(button.name, button.value);
  const card = form.closest("article.card");
  const pressed = [...form.querySelectorAll("button:enabled")];
  for (const one of pressed) one.disabled = true;
  try {
    const page = await load("POST", form.action, fields.toString());
    const made = cardIn(page);
    if (made) replace(card, made);
    else live.textContent = page ? page.querySelector("main").textContent.trim() : "the console does not answer";
  } catch (error) {
    live.textContent = String(error.message);
    for (const one of pressed) one.disabled = false;
  }
}

// ---- the inbox, live --------------------------------------------------------------------------

// Of several changes that came while one was shown, only the last is shown.
let latest = null;
let showing = false;

async function follow(ids) {
  latest = ids;
  if (showing) return;
  showing = true;
  while (latest) {
    const now = latest;
    latest = null;
    await settle(now);
  }
  showing = false;
}

async function settle(ids) {
  const open = new Set(ids);
  count.textContent = ids.length === 0 ? "Nobody waits for an answer."
    : `${ids.length} ${ids.length === 1 ? "prompt waits" : "prompts wait"} for you.`;
  document.title = `${ids.length ? `(${ids.length}) ` : ""}Inbox · Remit`;
  for (const card of cards()) if (isOpen(card) && !open.has(card.dataset.prompt)) await refresh(card.dataset.prompt);
  let room = Number(inbox.dataset.most) - cards().filter(isOpen).length;
  for (const id of ids) if (!cardOf(id) && room-- > 0) await refresh(id);
  await tellFurther(ids.filter((id) => !cardOf(id)));
}

// The prompts for which there is no room yet, one line each.
async function tellFurther(ids) {
  const behind = new Set(ids);
  const rows = () => [...further.querySelectorAll("li")];
  try {
    if (rows().filter((row) => behind.has(row.dataset.prompt)).length < behind.size) {
      const made = (await load("GET", location.pathname))?.getElementById("further");
      if (made) further.replaceChildren(...document.adoptNode(made).childNodes);
    }
  } catch (error) {
    live.textContent = String(error.message);
  }
  for (const row of rows()) if (!behind.has(row.dataset.prompt)) row.remove();
  // One that the page has higher up, as it is older than some that are shown here.
  const listed = new Set(rows().map((row) => row.dataset.prompt));
  for (const id of ids) {
    if (listed.has(id)) continue;
    await refresh(id);
    behind.delete(id);
  }
  further.hidden = behind.size === 0;
  const head = further.querySelector("h2");
  if (head) head.textContent = `${behind.size} more behind these`;
  tellTimes();
}

if (inbox) {
  const events = new EventSource(inbox.dataset.events);
  events.onopen = () => {
    live.textContent = "Live: new prompts appear by themselves.";
  };
  events.addEventListener("prompts", (event) => {
    follow(JSON.parse(event.data));
  });
  events.onerror = () => {
    live.textContent = "Not live: the console has ended, or this visit has. What you see may be old.";
  };
  clear.addEventListener("click", () => location.reload());
  inbox.addEventListener("submit", (event) => {
    event.preventDefault();
    send(event.target, event.submitter);
  });
}
