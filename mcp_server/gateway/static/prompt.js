// Where a link to a prompt leads. A browser that has signed in knows the console's door, and goes there; any other comes back once it has.
// The door is kept by origin, port included, and so is shown to no other server of this machine; no cookie could be kept so.
"use strict";

const prompt = document.getElementById("wanted").dataset.prompt;

async function enter() {
  const door = localStorage.getItem("remit.door");
  if (!door || !/^[\w-]+$/.test(door)) return;
  const page = `/${door}/prompts/${prompt}`;
  try {
    const answer = await fetch(page, { cache: "no-store" });
    // 403: the visit has ended; 404 without the cookie: the door is of a console that has ended.
    if (answer.ok) location.replace(page);
  } catch {
    // The console has ended: the page stays as it is.
  }
}

localStorage.setItem("remit.wanted", JSON.stringify({ prompt, at: Date.now() }));
addEventListener("focus", enter);
enter();
