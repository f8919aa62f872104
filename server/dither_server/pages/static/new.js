// The form for a new collection: updates the advice as the form is filled in.

import { control, part } from "./page.js";

const WAIT = 400; // milliseconds after the last key
const WORDS = [
  "name",
  "question",
  "unit",
  "period_of_value",
  "organisation",
  "contact",
  "privacy_url",
  "thank_you",
  "pages",
];
const form = control("new", HTMLFormElement);
const family = control("family", HTMLSelectElement);
const place = part("advice");
let newest = 0;

/** @param {number} wait */
async function advise(wait) {
  const mine = ++newest;
  await new Promise((done) => setTimeout(done, wait));
  if (mine !== newest) return;
  place.setAttribute("aria-busy", "true");
  const fields = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, String(value)]));
  for (const name of WORDS) fields.delete(name); // they do not affect the advice, and addresses are bounded
  try {
    const reply = await fetch(`/new/advice?${fields}`, { cache: "no-store" });
    const text = await reply.text();
    if (mine === newest) place.innerHTML = reply.ok ? text : ""; // rendered by this server, which escapes user input
  } finally {
    place.removeAttribute("aria-busy");
  }
}

// Shows only the priors of the chosen family's parameters.
function choosePriors() {
  /** @type {NodeListOf<HTMLElement>} */
  const priors = form.querySelectorAll("[data-families]");
  for (const prior of priors) {
    const own = prior.dataset.families?.split(" ").includes(family.value) ?? false;
    prior.hidden = !own;
    prior.querySelector("input")?.toggleAttribute("disabled", !own);
    prior.querySelector(".of")?.setAttribute("hidden", "");
  }
}

family.addEventListener("input", choosePriors);
form.addEventListener("input", () => advise(WAIT));
choosePriors();
advise(0);
