/** The page on which a respondent answers a collection: first consent, then one answer, and only then the question. */

/** @import { Charge, Entry } from "/web/dither.d.ts" */
/** @import { Described } from "./fields.js" */

import {
  BadResponse,
  Client,
  InvalidQuery,
  Ledger,
  LedgerError,
  OverCap,
  Problem,
  Unreachable,
  answerText,
  decodeJson,
  odds,
  parseQuery,
  questionText,
  written,
} from "/web/dither.js";
import { NumberField } from "./fields.js";
import { app, element, language, local, say, texts } from "./saying.js";
import { ALWAYS, nextTurn, turnOf } from "./turns.js";

const MOST_PEOPLE = 1e6;
const CODE = /^[a-z0-9]{1,128}$/;

const { collection = "", unit = "", panel = null } = app.dataset; // of a panel, the name of its periods
/** @type {string[]} the texts to choose from; empty where the value is a number, or several */
const categories = JSON.parse(app.dataset.categories ?? "[]");
/** @type {Described[]} the numbers that each person has; empty where it is one number, or a choice */
const components = JSON.parse(app.dataset.components ?? "[]");
const decimals = given("decimals");
const kind = categories.length > 0 ? "choice" : components.length > 0 ? "numbers" : "number";
/** @type {Record<string, NumberField[]>} those that the page has if the collection can be answered on it */
const fieldsOf = {
  choice: [],
  number: [new NumberField("", { name: "", minimum: given("minimum"), maximum: given("maximum"), decimals })],
  numbers: components.map((component, i) => new NumberField(`-${i + 1}`, component)),
};
const fields = fieldsOf[kind] ?? [];
/** @type {HTMLFormElement | null} */
const form = document.querySelector("form#form"); // present if the collection can be answered on this page
/** @type {HTMLFormElement | null} */
const check = document.querySelector("form#check"); // three questions about the page, if the collection has a check
const RIGHT = { check_1: "no", check_2: "yes", check_3: "no" };
const starting = document.getElementById("starting");
const embedded = document.body.classList.contains("embedded");
const ledger = new Ledger();
/** @type {Client} */
let client;
let sending = false;
let turn = ALWAYS;

if (embedded) {
  new ResizeObserver(tellHeight).observe(document.body);
}
if (app.dataset.page) {
  keepPage(app.dataset.page);
}
takeInvitation();
window.addEventListener("hashchange", takeInvitation);
try {
  client = new Client(location.origin, { ledger, retry: { attempts: 3, first: 0.25 } });
  await start();
} catch (error) {
  hideForm();
  starting?.replaceChildren(`${say("cannot")} `, ...((await ofAnotherSite(error)) ? elsewhere() : explained(error)));
  starting?.classList.add("said");
}

/**
 * Whether the ledger cannot be used because another site shows this page: many browsers keep nothing for it then.
 *
 * @param {unknown} error
 */
async function ofAnotherSite(error) {
  return embedded && error instanceof LedgerError && !(await document.hasStorageAccess?.());
}

/** Says that, and takes the link that opens the page in a window of its own from the end of the page. */
function elsewhere() {
  const link = element("own-window");
  link.className = "main";
  return [say("another_site"), document.createElement("br"), link];
}

/**
 * What comes from the server or from the browser's client, in English.
 *
 * @param {string} text
 */
function detail(text) {
  const span = document.createElement("span");
  span.lang = "en";
  span.textContent = text;
  return span;
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

/** Tells the page in whose frame this one is, how high it is, and nothing else. */
function tellHeight() {
  window.parent.postMessage({ dither: { height: document.documentElement.offsetHeight } }, "*");
}

/**
 * Keeps the page that was shown by chance for whoever loads it again: in the address, and in no cookie.
 *
 * @param {string} page
 */
function keepPage(page) {
  const address = new URL(location.href);
  address.searchParams.set("page", page);
  history.replaceState(null, "", address);
}

/** Fills in the code of an invitation's link, and takes it out of the address, which others may see. */
function takeInvitation() {
  const field = input("#invitation");
  const code = location.hash.slice(1);
  if (app.dataset.admission !== "invite" || code === "") {
    return;
  }
  history.replaceState(null, "", location.pathname + location.search);
  if (field && CODE.test(code)) {
    field.value = code;
  }
}

async function start() {
  element("try").hidden = false;
  element("try").addEventListener("click", tryExample);
  element("again").addEventListener("click", sendStored);
  window.addEventListener("online", sendStored);
  form?.addEventListener("submit", submit);
  form?.addEventListener("input", forgetError);
  check?.addEventListener("submit", sendCheck);
  check?.addEventListener("input", () => element("check-said").replaceChildren());
  for (const field of form ? fields : []) {
    field.input.addEventListener("input", () => field.showUnderstood());
  }
  turn = panel === null ? ALWAYS : await turnOf(client, collection, panel);
  const entry = await found();
  const away = turn.joined && !turn.now;
  remember(away || (entry !== null && entry.state !== "charged"));
  starting?.classList.add("done");
  if (entry?.state === "drawn") {
    await sendStored();
  } else if (entry && entry.state !== "charged") {
    await showOutcome(entry, say("already"));
  } else if (away) {
    await showAway();
  } else {
    await showLedger();
    if (form) {
      askToJoin();
      fields.forEach((field) => field.showUnderstood());
      setBusy(false);
      element("send").removeAttribute("disabled");
    }
  }
}

/** What the ledger has of this collection, of a panel in this period. */
function found() {
  return turn === ALWAYS ? client.find(collection) : ledger.find(client.server, collection, turn.period);
}

/** Asks who has not joined the panel to do that first: in most periods no answer is due. */
function askToJoin() {
  const given = document.getElementById("given");
  if (given) {
    given.hidden = !turn.joined;
    element("send").textContent = say(turn.joined ? "send" : "join");
  }
}

/** Joins the panel, and goes on if the first answer is due at once. */
async function join() {
  await client.join(collection, { maxEpsilon: app.dataset.total ?? null });
  turn = await turnOf(client, collection, panel ?? "");
  if (!turn.now) {
    await showAway();
    starting?.focus();
    return;
  }
  askToJoin();
  await showLedger();
  fields[0]?.input.focus();
}

/** Says when the next answer is due, and sends what an earlier visit could not send. */
async function showAway() {
  hideForm();
  remember(true);
  await client.resume().catch(() => {});
  starting?.replaceChildren(say("not_due"), " ", nextTurn(panel ?? "", turn.next));
  starting?.classList.add("said");
  await showLedger();
}

/**
 * Keeps, for `early.js`, whether the ledger has an answer to this collection.
 *
 * @param {boolean} answered
 */
function remember(answered) {
  document.documentElement.classList.toggle("answered", answered);
  const key = `dither:${collection}`;
  try {
    if (answered) {
      localStorage.setItem(key, "answered");
    } else {
      localStorage.removeItem(key);
    }
  } catch {
    // The form is then shown until the ledger is read.
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
  element("tried").textContent = say("tried", {
    epsilon: local(String(epsilon)),
    answers: answers.map((answer) => say(answer === 1 ? "yes" : "no")).join(", "),
    lies,
    of: answers.length,
  });
}

/** @param {SubmitEvent} event */
async function submit(event) {
  event.preventDefault();
  if (element("send").getAttribute("aria-disabled") === "true") {
    return;
  }
  showError("");
  const group = chosenIn("#group");
  if (group === "") {
    showError(say("no_group"), element("group"));
    return;
  }
  const value = turn.joined ? readValue() : NaN;
  if (value === null) {
    return;
  }
  const invitation = input("#invitation")?.value.trim() ?? null;
  if (invitation === "") {
    showError(say("no_code"), element("invitation"));
    return;
  }
  if (!input("#consent")?.checked) {
    showError(say("no_consent"), element("consent"));
    return;
  }
  setBusy(true);
  const epsilon = chosenEpsilon();
  try {
    if (!turn.joined) {
      await join();
      return;
    }
    const entry = await client.answer(collection, value, {
      maxEpsilon: app.dataset.total ?? epsilon ?? app.dataset.epsilon,
      epsilon,
      invitation,
      group,
    });
    await showOutcome(entry, say("counted"), true);
  } catch (error) {
    await showFailure(error);
  } finally {
    setBusy(false);
  }
}

/**
 * The category that was chosen, or the numbers that were typed; null if one is missing or wrong, which is said beside it.
 * Nothing is asked of anybody before that, so that nobody learns what was refused.
 */
function readValue() {
  if (kind === "choice") {
    const chosen = input('input[name="category"]:checked')?.value ?? null;
    if (chosen === null) {
      showError(say("no_choice"), element("value"));
    }
    return chosen;
  }
  const read = fields.map((field) => ({ field, ...field.read() }));
  const wrong = read.filter(({ value }) => value === null);
  wrong.forEach(({ field, wrong: text }) => field.tell(text));
  wrong[0]?.field.input.focus();
  if (wrong.length > 0) {
    return null;
  }
  const numbers = read.map(({ field, value }) => [field.name, value ?? NaN]);
  return kind === "number" ? (read[0]?.value ?? null) : Object.fromEntries(numbers);
}

/**
 * What is chosen in the list that this selects, or null if there is none.
 *
 * @param {string} selector
 */
function chosenIn(selector) {
  /** @type {HTMLSelectElement | null} */
  const list = document.querySelector(selector);
  return list?.value ?? null;
}

/** The ε that the respondent has chosen, or null. */
function chosenEpsilon() {
  return chosenIn("#epsilon");
}

/** Sends the answer that the ledger holds and has not sent. */
async function sendStored() {
  const entry = await found();
  if (entry?.state !== "drawn" || sending) {
    return;
  }
  sending = true;
  element("pending-status").textContent = say("sending");
  try {
    const sent = await client.sendStored(collection);
    if (sent) {
      await showOutcome(sent, say("counted"), true);
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
  const entry = await found().catch(() => null);
  if (entry?.state === "drawn") {
    await showPending(error);
  } else if (entry?.state === "sent" || entry?.state === "expired") {
    await showOutcome(entry, say("already"), true);
  } else {
    await showLedger().catch(() => {});
    fail(error);
  }
}

/** @param {unknown} error */
async function showPending(error) {
  remember(true);
  hideForm();
  const pending = element("pending");
  const fresh = pending.hidden;
  pending.hidden = false;
  element("pending-status").replaceChildren(
    ...(error instanceof Unreachable ? [say(fresh ? "not_yet" : "still_offline")] : explained(error)),
  );
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
    fields.forEach((field) => field.showUnderstood());
  }
}

/** @type {(entry: Entry, heading: string, focus?: boolean) => Promise<void>} */
async function showOutcome(entry, heading, focus = false) {
  remember(true);
  hideForm();
  element("pending").hidden = true;
  const sent = entry.state === "sent";
  element("thanks").hidden = !sent;
  element("result-heading").textContent = sent ? heading : say("late");
  element("result-text").textContent = !sent
    ? say("not_counted")
    : panel === null
      ? say("one_each")
      : nextTurn(panel, turn.next);
  /** @type {[string[], number | null, string, Described[], string]} */
  const told = [categories, decimals, language, components, unit];
  element("question").textContent = questionText(entry.query, ...told);
  if (entry.answer !== null) {
    const asked = entry.query.mechanism === "joint" ? "joint" : kind === "choice" ? "choice" : "number";
    const answer = answerText(entry.query, entry.answer, ...told);
    element("answer").textContent = say(`told_${asked}`, { answer });
    const [most, least] = odds(entry.query, entry.answer, ...told);
    const [more, less] = frequencies(most.probability, least.probability);
    element("odds").textContent = say(`odds_${asked}`, { most: most.who, more, least: least.who, less });
  }
  element("receipt-term").hidden = !sent;
  element("receipt").textContent = entry.receipt ?? "";
  element("result").hidden = false;
  await showLedger();
  if (check && sent && focus) {
    check.hidden = (await client.find(checkOf(check).id)) !== null;
  }
  if (focus) {
    element("result-heading").focus();
  }
}

/** @type {(form: HTMLFormElement) => { id: string, categories: string[], epsilon: string }} the collection of a check */
function checkOf({ dataset }) {
  return JSON.parse(dataset.check ?? "{}");
}

/**
 * Answers the collection of the check by how many replies were right, as any collection is answered.
 *
 * @param {SubmitEvent} event
 */
async function sendCheck(event) {
  event.preventDefault();
  const place = event.currentTarget;
  if (!(place instanceof HTMLFormElement)) {
    return;
  }
  const replies = new FormData(place);
  const said = element("check-said");
  if (Object.keys(RIGHT).some((item) => !replies.has(item))) {
    said.textContent = say("check_all");
    return;
  }
  const right = Object.entries(RIGHT).filter(([item, reply]) => replies.get(item) === reply).length;
  const { id, categories: numbers, epsilon } = checkOf(place);
  const controls = place.querySelectorAll("input, button");
  const close = (/** @type {boolean} */ closed) => controls.forEach((each) => each.toggleAttribute("disabled", closed));
  close(true);
  said.textContent = say("sending");
  try {
    await client.answer(id, numbers[right] ?? "", { maxEpsilon: epsilon });
    said.textContent = say("check_said", { right });
    place.querySelector("button")?.remove();
  } catch (error) {
    close(false);
    said.replaceChildren(...(error instanceof Unreachable ? [say("unreachable")] : explained(error)));
  }
  await showLedger().catch(() => {});
}

async function showLedger() {
  const charges = await ledger.entries();
  element("charges").replaceChildren(...charges.map(row));
  element("spent").textContent = say("spent", {
    spent: local(await ledger.spent()),
    most: local(ledger.maxEpsilon),
  });
  element("ledger").hidden = charges.length === 0;
}

/** @param {Charge} charge */
function row({ collection: charged, epsilon, state, name: called }) {
  const name = document.createElement("th");
  name.scope = "row";
  name.textContent =
    charged === collection ? say("this_one", { name: app.dataset.name ?? charged }) : (called ?? charged);
  const spent = document.createElement("td");
  spent.className = "number";
  spent.textContent = local(epsilon);
  const now = document.createElement("td");
  now.textContent = say(state);
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
    showError([`${say("refused")} `, ...explained(error), ` ${say(`refused_end_${kind}`)}`]);
  } else if (error instanceof Unreachable) {
    showError(say("unreachable"));
  } else if (error instanceof Problem) {
    showError(explained(error));
  } else {
    showError([`${say("nothing_sent")} `, ...explained(error)]);
  }
}

/**
 * What went wrong, in the page's language; what only developers need is in English.
 *
 * @type {(error: unknown) => (string | Node)[]}
 */
function explained(error) {
  if (error instanceof Problem && Object.hasOwn(texts.problems, error.reason)) {
    return [texts.problems[error.reason] ?? ""];
  }
  const kinds = { OverCap, InvalidQuery, LedgerError, BadResponse, Problem };
  const known = Object.entries(kinds).find(([, type]) => error instanceof type)?.[0] ?? "unknown";
  return [`${say(`why_${known}`)} ${say("details")} `, detail(reason(error))];
}

/**
 * What an error says, as a sentence; what comes after a semicolon is for developers.
 *
 * @param {unknown} error
 */
function reason(error) {
  const [text = ""] = (error instanceof Error ? error.message : String(error)).split(";");
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** @type {(text: string | (string | Node)[], wrong?: HTMLElement) => void} */
function showError(text, wrong) {
  for (const marked of document.querySelectorAll("[aria-invalid]")) {
    marked.removeAttribute("aria-invalid");
  }
  fields.forEach((field) => field.tell(""));
  element("error").replaceChildren(...(typeof text === "string" ? [text] : text));
  wrong?.setAttribute("aria-invalid", "true");
  wrong?.focus();
}

/**
 * Takes back what is said of a field once the field is changed: it may hold no longer.
 *
 * @param {Event} event
 */
function forgetError({ target }) {
  const marked = target instanceof Element ? target.closest("[aria-invalid]") : null;
  const field = fields.find(({ input: its }) => its === marked);
  if (field) {
    field.tell("");
  } else if (marked) {
    showError("");
  }
}

/** @param {boolean} busy */
function setBusy(busy) {
  element("send").setAttribute("aria-disabled", String(busy));
  element("working").textContent = busy ? say("sending") : "";
}

/**
 * Two probabilities as so many of 100 people, or of the next power of ten that tells them from 0 and from each other. Those
 * below 10 have a decimal: 3 and 1 of 100 would be more unlike than 2.7 and 1.
 *
 * @type {(more: number, less: number) => [string, string]}
 */
function frequencies(more, less) {
  let people = 100;
  while (people < MOST_PEOPLE && (less * people < 1 || counted(more * people) === counted(less * people))) {
    people *= 10;
  }
  const of = local(written(people));
  /** @param {number} share */
  const shown = (share) => say("x_of", { right: local(written(counted(share * people))), of });
  return [shown(more), shown(less)];
}

/** @param {number} people */
function counted(people) {
  return people < 10 ? Math.round(people * 10) / 10 : Math.round(people);
}
