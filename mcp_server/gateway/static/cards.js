// What every page with cards has, the console's and the panel in a client: times that are told as ages, and keys.
"use strict";

const cards = () => [...document.querySelectorAll("article.card")];
const cardOf = (id) => document.getElementById(`card-${id}`);
const isOpen = (card) => card.dataset.state === "open";

// What is over keeps its place: buttons must not move under a finger that is about to press.
function replaceCard(old, made) {
  const focused = old.contains(document.activeElement);
  made.style.minHeight = `${old.offsetHeight}px`;
  old.replaceWith(made);
  if (focused) made.focus({ preventScroll: true });
  tellTimes();
}

// ---- times ------------------------------------------------------------------------------------

function span(seconds) {
  const units = [[86400, "d"], [3600, "h"], [60, "min"]];
  for (const [size, unit] of units) if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  return `${Math.floor(seconds)} s`;
}

function tellTimes() {
  for (const time of document.querySelectorAll("time[data-as]")) {
    const at = Date.parse(time.dateTime) / 1000;
    const now = Date.now() / 1000;
    time.title ||= time.textContent;
    if (time.dataset.as === "age") time.textContent = `${span(Math.max(0, now - at))} ago`;
    else time.textContent = at > now ? `${time.title} (in ${span(at - now)})` : `${time.title} (past)`;
  }
}

tellTimes();
setInterval(tellTimes, 5000);

// ---- keys -------------------------------------------------------------------------------------

// To the next one that is not over, from the card that has the focus; from the last one to the first that is left.
function step(by) {
  const all = [...document.querySelectorAll("article.card")];
  const now = all.findIndex((card) => card.contains(document.activeElement));
  const ahead = by > 0 ? all.slice(now + 1) : all.slice(0, Math.max(0, now)).reverse();
  const left = (card) => card.dataset.state !== "over";
  const next = ahead.find(left) || (now < 0 || !left(all[now]) ? all.find(left) : all[now]);
  if (!next) return;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing) return;
  const at = event.target;
  if (at instanceof HTMLInputElement && at.type === "text") {
    if (event.key === "Escape") at.closest("article.card")?.focus();
    return;
  }
  if (event.key === "j") return step(1);
  if (event.key === "k") return step(-1);
  const card = at instanceof Element ? at.closest("article.card") : null;
  if (!card) return;
  if (event.key === "w") {
    event.preventDefault();
    card.querySelector('input[name="words"]')?.focus();
    return;
  }
  const button = [...card.querySelectorAll("button[data-key]")].find((one) => one.dataset.key === event.key);
  if (button && !button.disabled) button.click();
});
