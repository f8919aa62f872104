// The form for a new collection: updates the advice as the form is filled in.

import { control, part } from "./page.js";

const WAIT = 400; // milliseconds after the last key
const LONG = 2000; // milliseconds after which advice on what the form was before is taken away
const WORDS = [
  // which do not affect the advice
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
const MOST_NUMBERS = 8;
const OF_ONE_NUMBER = [
  // which each of several numbers has itself
  "family",
  "transform",
  "range",
  "unit",
  "period_of_value",
  "decimals",
  "minimum",
  "maximum",
  "atoms",
  "goal_of",
  "goal",
  "prior",
];
const form = control("new", HTMLFormElement);
const family = control("family", HTMLSelectElement);
const epsilon = control("epsilon", HTMLInputElement);
const place = part("advice");
const brief = part("brief");
const components = part("components");
const add = control("add", HTMLButtonElement);
let asking = new AbortController();

/** @param {number} wait */
async function advise(wait) {
  asking.abort(); // nobody needs the advice on what the form was before
  asking = new AbortController();
  const { signal } = asking;
  await new Promise((done) => setTimeout(done, wait));
  if (signal.aborted) return;
  place.setAttribute("aria-busy", "true");
  const stale = setTimeout(() => {
    if (signal.aborted) return;
    place.textContent = "This takes some seconds: the advice is being computed.";
    brief.textContent = "";
  }, LONG);
  const fields = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    const ofOne = name.replace(/^component_\d_(?!name$)/, "");
    if (value !== "" && !WORDS.includes(ofOne)) fields.append(name, String(value)); // addresses are bounded
  }
  try {
    const reply = await fetch(`/new/advice?${fields}`, { cache: "no-store", signal });
    const text = await reply.text();
    if (signal.aborted) return;
    place.innerHTML = reply.ok ? text : ""; // rendered by this server, which escapes user input
    brief.textContent = inBrief();
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    clearTimeout(stale);
    if (!signal.aborted) place.removeAttribute("aria-busy");
  }
}

// The precision at the ε that is typed, in a line below it: on a phone the whole advice is further down.
function inBrief() {
  const table = place.querySelector("table");
  const [head, ...rows] = [...(table?.rows ?? [])].map((row) => [...row.cells].map((cell) => cell.textContent));
  const row = rows.find(([of]) => Number(of) === Number(epsilon.value || epsilon.placeholder)) ?? rows[0];
  if (!head || !row) return "";
  const known = head.slice(1, -1).map((name, i) => `${name} ${row[i + 1]}`);
  return `Expected at ${head[0]} = ${row[0]}: ${known.join(", ")} (90% sure).`;
}

// Shows only the priors of the parameters of the family that is chosen for them, in every number and in the form itself.
function choosePriors() {
  /** @type {NodeListOf<HTMLFieldSetElement>} */
  const places = form.querySelectorAll("fieldset.priors");
  for (const priors of places) {
    /** @type {HTMLSelectElement | null | undefined} */
    const ofNumber = priors.closest(".component")?.querySelector("select[id$=_family]");
    /** @type {NodeListOf<HTMLElement>} */
    const each = priors.querySelectorAll("[data-families]");
    for (const prior of each) {
      const own = prior.dataset.families?.split(" ").includes((ofNumber ?? family).value) ?? false;
      prior.hidden = !own;
      prior.querySelector("input")?.toggleAttribute("disabled", !own);
      prior.querySelector(".of")?.setAttribute("hidden", "");
    }
    priors.hidden = priors.disabled || [...each].every((prior) => prior.hidden);
  }
}

// Offers a panel only where answers are told apart by time.
function choosePanel() {
  const panel = control("panel", HTMLFieldSetElement);
  panel.hidden = panel.disabled = control("period", HTMLSelectElement).value === "";
}

// Asks for the two values of a question only where it is always the same.
function choosePolicy() {
  const ends = control("same", HTMLFieldSetElement);
  ends.hidden = ends.disabled = control("policy", HTMLSelectElement).value !== "fixed";
}

// Numbers the several numbers from 1 in their order; those of one number alone are then not asked for.
function countNumbers() {
  const all = [...components.children];
  all.forEach((each, i) => {
    for (const element of [each, ...each.querySelectorAll("*")]) {
      for (const attribute of element.attributes) {
        attribute.value = attribute.value.replace(/component_\d_/g, `component_${i + 1}_`);
      }
    }
    each.querySelector("legend")?.replaceChildren(`Number ${i + 1}`);
  });
  for (const name of OF_ONE_NUMBER) {
    const field = part(name);
    field.toggleAttribute("disabled", all.length > 0);
    (field.closest("p") ?? field).toggleAttribute("hidden", all.length > 0);
  }
  part("values").hidden = all.length > 0;
  choosePriors();
  add.disabled = all.length === MOST_NUMBERS;
}

function addNumber() {
  components.append(document.importNode(control("component", HTMLTemplateElement).content, true));
  if (components.children.length < 2) addNumber(); // there are two or more, or none
  countNumbers();
  advise(0);
}

/** @param {Event} event */
function removeNumber({ target }) {
  if (!(target instanceof HTMLElement && target.matches(".remove"))) return;
  target.closest("fieldset")?.remove();
  countNumbers();
  add.focus();
  advise(0);
}

add.addEventListener("click", addNumber);
components.addEventListener("click", removeNumber);
part("period").addEventListener("input", choosePanel);
part("policy").addEventListener("input", choosePolicy);
form.addEventListener("input", () => {
  choosePriors();
  advise(WAIT);
});
choosePanel();
choosePolicy();
countNumbers();
advise(0);
