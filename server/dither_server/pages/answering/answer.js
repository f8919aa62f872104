/** The page on which a respondent answers a collection: first consent, then one answer, and only then the question. */

/** @import { Charge, Entry, State } from "/web/dither.d.ts" */

import {
  Client,
  InvalidQuery,
  InvalidValue,
  Ledger,
  OverCap,
  Problem,
  Unreachable,
  answerText,
  checkBounds,
  decodeJson,
  odds,
  parseQuery,
  questionText,
  readTyped,
} from "/web/dither.js";

/** @type {Record<State, string>} */
const STATES = {
  charged: "begun, not finished",
  drawn: "waiting to be sent",
  sent: "sent",
  expired: "came too late; not sent",
};

const app = element("app");
const { collection = "" } = app.dataset;
/** @type {string[]} the texts to choose from; empty where the value is a number */
const categories = JSON.parse(app.dataset.categories ?? "[]");
const bounds = { minimum: given("minimum"), maximum: given("maximum") };
const decimals = given("decimals");
const form = document.querySelector("form"); // present if the collection can be answered on this page
const starting = document.getElementById("starting");
const ledger = new Ledger();
/** @type {Client} */
let client;
let sending = false;

try {
  client = new Client(location.origin, { ledger, retry: { attempts: 3, first: 0.25 } });
  await start();
} catch (error) {
  if (starting) {
    starting.textContent = `You cannot answer here: ${reason(error)}`;
  }
}

/**
 * The element with this id. Throws if the page has none.
 *
 * @param {string} id
 */
function element(id) {
  const found = document.getElementById(id);
  if (found === null) {
    throw new Error(`the page has no element with the id ${id}`);
  }
  return found;
}

/**
 * The number that the collection's terms have by this name, or null.
 *
 * @param {string} name
 */
function given(name) {
  const text = app.dataset[name];
  return text === undefined ? null : Number(text);
}

/**
 * The input that this selects, or null.
 *
 * @param {string} selector
 * @returns {HTMLInputElement | null}
 */
function input(selector) {
  return document.querySelector(selector);
}

async function start() {
  element("try").hidden = false;
  element("try").addEventListener("click", tryExample);
  element("again").addEventListener("click", sendStored);
  window.addEventListener("online", sendStored);
  form?.addEventListener("submit", submit);
  if (categories.length === 0) {
    input("#value")?.addEventListener("input", showUnderstood);
  }
  const entry = await client.find(collection);
  starting?.remove();
  if (entry?.state === "drawn") {
    await sendStored();
  } else if (entry && entry.state !== "charged") {
    await showOutcome(entry, "You have answered already");
  } else {
    await showLedger();
    if (form) {
      form.hidden = false;
    }
  }
}

/**
 * Answers 20 times for Ada, who holds 620 and is asked whether it is above 500, at the chosen ε. A question whether one
 * category is hers has the same odds.
 */
function tryExample() {
  const epsilon = chosenEpsilon() ?? app.dataset.epsilon;
  const text = `{"mechanism": "laplace", "low": 499.5, "high": 500.5, "levels": 1, "epsilon": "${epsilon}"}`;
  const query = parseQuery(decodeJson(text));
  const answers = Array.from({ length: 20 }, () => query.answer(620));
  const lies = answers.filter((answer) => answer === 0).length;
  const written = answers.map((answer) => (answer === 1 ? "yes" : "no")).join(", ");
  element("tried").textContent = `At ε = ${epsilon}: ${written}. False: ${lies} of 20. She would send only one.`;
}

/** @param {SubmitEvent} event */
async function submit(event) {
  event.preventDefault();
  if (element("send").getAttribute("aria-disabled") === "true") {
    return;
  }
  showError("");
  const { value, wrong } = readValue();
  if (value === null) {
    showError(wrong, element("value"));
    return;
  }
  const invitation = input("#invitation")?.value.trim() ?? null;
  if (invitation === "") {
    showError("Write the code of your invitation.", element("invitation"));
    return;
  }
  if (!input("#consent")?.checked) {
    showError("To continue, agree that one answer is sent at once.", element("consent"));
    return;
  }
  setBusy(true);
  const epsilon = chosenEpsilon();
  try {
    const entry = await client.answer(collection, value, {
      maxEpsilon: epsilon ?? app.dataset.epsilon,
      epsilon,
      invitation,
    });
    await showOutcome(entry, "Your answer was counted", true);
  } catch (error) {
    await showFailure(error);
  } finally {
    setBusy(false);
  }
}

/**
 * The category that was chosen, or the number that was typed; null if there is none, and what is wrong. Nothing is asked
 * of anybody before there is one, so that nobody learns what was refused.
 *
 * @returns {{ value: string | number | null, wrong: string }}
 */
function readValue() {
  if (categories.length > 0) {
    return { value: input('input[name="category"]:checked')?.value ?? null, wrong: "Choose one of these first." };
  }
  const text = input("#value")?.value ?? "";
  if (text.trim() === "") {
    return { value: null, wrong: "Write your number first." };
  }
  try {
    return { value: checkBounds(bounds, readTyped(text, decimals).value), wrong: "" };
  } catch (error) {
    return { value: null, wrong: `${reason(error).replace(/^the value/, "Your number")} Nothing was sent.` };
  }
}

/** Says beside the field what the text in it is understood as, if it could mean two numbers. */
function showUnderstood() {
  let said = "";
  try {
    const { value, other } = readTyped(input("#value")?.value ?? "", decimals);
    said = other === null ? "" : `Understood as ${plainly(value)}, not as ${plainly(other)}.`;
  } catch {
    // What is no number yet is not understood.
  }
  element("understood").textContent = said;
}

/**
 * The number without a mark between thousands, which could be taken for the other one.
 *
 * @param {number} value
 */
function plainly(value) {
  return String(value).replace("-", "−");
}

/** The ε that the respondent has chosen, or null. */
function chosenEpsilon() {
  return input('input[name="epsilon"]:checked')?.value ?? null;
}

/** Sends the answer that the ledger holds and has not sent. */
async function sendStored() {
  const entry = await client.find(collection);
  if (entry?.state !== "drawn" || sending) {
    return;
  }
  sending = true;
  element("pending-status").textContent = "Sending…";
  try {
    const sent = await client.sendStored(collection);
    if (sent) {
      await showOutcome(sent, "Your answer was counted", true);
    }
  } catch (error) {
    await showFailure(error);
  } finally {
    sending = false;
  }
}

/**
 * Shows what is known after a failure: an answer that waits to be sent, one that is settled, or the error alone.
 *
 * @param {unknown} error
 */
async function showFailure(error) {
  const entry = await client.find(collection).catch(() => null);
  if (entry?.state === "drawn") {
    await showPending(error);
  } else if (entry?.state === "sent" || entry?.state === "expired") {
    await showOutcome(entry, "You have answered already", true);
  } else {
    await showLedger().catch(() => {});
    fail(error);
  }
}

/** @param {unknown} error */
async function showPending(error) {
  hideForm();
  const pending = element("pending");
  const fresh = pending.hidden;
  pending.hidden = false;
  element("pending-status").textContent = error instanceof Unreachable ? "Not sent yet." : reason(error);
  await showLedger();
  if (fresh) {
    element("pending-heading").focus();
  }
}

/** Hides the form and forgets the value, which stays in the page no longer than necessary. */
function hideForm() {
  if (form) {
    form.reset();
    form.hidden = true;
    document.getElementById("understood")?.replaceChildren();
  }
}

/** @type {(entry: Entry, heading: string, focus?: boolean) => Promise<void>} */
async function showOutcome(entry, heading, focus = false) {
  hideForm();
  element("pending").hidden = true;
  const sent = entry.state === "sent";
  element("thanks").hidden = !sent;
  element("result-heading").textContent = sent ? heading : "Your answer came too late";
  element("result-text").textContent = sent
    ? "This collection takes one answer from each person, and it has yours."
    : "It was not counted. No other answer is drawn, because that would spend your ε twice.";
  element("question").textContent = questionText(entry.query, categories, decimals);
  if (entry.answer !== null) {
    const said = answerText(entry.query, entry.answer, categories, decimals);
    element("answer").textContent = `${categories.length > 0 ? said : `“${said}”`}, true or not: only you can tell.`;
    const holder = categories.length > 0 ? "whoever chose" : "a value";
    const [most, least] = odds(entry.query, entry.answer, categories, decimals);
    element("odds").textContent =
      `Its probability is ${percent(most.probability)} for ${holder} ${most.who}, ` +
      `and ${percent(least.probability)} for ${holder} ${least.who}.`;
  }
  element("receipt-term").hidden = !sent;
  element("receipt").textContent = entry.receipt ?? "";
  element("result").hidden = false;
  await showLedger();
  if (focus) {
    element("result-heading").focus();
  }
}

async function showLedger() {
  const charges = await ledger.entries();
  element("charges").replaceChildren(...charges.map(row));
  element("spent").textContent = `You have spent ε = ${await ledger.spent()} of ${ledger.maxEpsilon} here.`;
  element("ledger").hidden = charges.length === 0;
}

/** @param {Charge} charge */
function row({ collection: charged, epsilon, state }) {
  const name = document.createElement("th");
  name.scope = "row";
  name.textContent = charged === collection ? `${charged} (this one)` : charged;
  const spent = document.createElement("td");
  spent.className = "number";
  spent.textContent = epsilon;
  const now = document.createElement("td");
  now.textContent = STATES[state];
  const row = document.createElement("tr");
  row.append(name, spent, now);
  return row;
}

/**
 * Says what went wrong, and that nothing left the device.
 *
 * @param {unknown} error
 */
function fail(error) {
  if (error instanceof InvalidQuery || error instanceof OverCap) {
    const [refusal] = error.message.split(";"); // the rest is for developers
    showError(
      `Your device refused: ${refusal}. Nothing about your ${categories.length > 0 ? "choice" : "number"} was sent, and nothing was spent.`,
    );
  } else if (error instanceof Unreachable) {
    showError("The server cannot be reached. Nothing was sent: try again later.");
  } else if (error instanceof Problem || error instanceof InvalidValue) {
    showError(reason(error));
  } else {
    showError(`Nothing was sent: ${reason(error)}`);
  }
}

/**
 * What an error says, as a sentence.
 *
 * @param {unknown} error
 */
function reason(error) {
  const text = error instanceof Error ? error.message : String(error);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** @type {(text: string, wrong?: HTMLElement) => void} */
function showError(text, wrong) {
  for (const marked of document.querySelectorAll("[aria-invalid]")) {
    marked.removeAttribute("aria-invalid");
  }
  element("error").textContent = text;
  wrong?.setAttribute("aria-invalid", "true");
  wrong?.focus();
}

/** @param {boolean} busy */
function setBusy(busy) {
  element("send").setAttribute("aria-disabled", String(busy));
  element("working").textContent = busy ? "Sending…" : "";
}

/** @param {number} probability */
function percent(probability) {
  const text = (100 * probability).toPrecision(probability > 0.99 ? 4 : 2);
  return `${Number(text)}%`;
}
