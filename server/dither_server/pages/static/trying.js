// Sends the calls of the HTTP interface that somebody tries, and shows the replies.

import { control, part } from "./page.js";

const PATIENCE = 10000; // milliseconds for which a reply may go on: a stream never ends by itself
const MOST = 20000; // characters of a reply that are shown

const token = control("token", HTMLInputElement);

/** @param {HTMLFormElement} form */
function asked(form) {
  const { method = "GET", path = "" } = form.dataset;
  /** @type {RequestInit} */
  const options = { method, headers: {}, cache: "no-store" };
  const query = new URLSearchParams();
  let filled = path;
  /** @type {NodeListOf<HTMLInputElement | HTMLTextAreaElement>} */
  const fields = form.querySelectorAll("[data-in]");
  for (const { dataset, name, value } of fields) {
    if (dataset["in"] === "path") filled = filled.replace(`{${name}}`, encodeURIComponent(value.trim()));
    else if (dataset["in"] === "query" && value.trim()) query.set(name, value.trim());
    else if (dataset["in"] === "body" && value.trim()) options.body = value;
  }
  const headers = new Headers({ Accept: "application/json, text/event-stream" });
  if (options.body) headers.set("Content-Type", "application/json");
  if (token.value.trim()) headers.set("Authorization", `Bearer ${token.value.trim()}`);
  return { address: `${filled}${query.size ? `?${query}` : ""}`, options: { ...options, headers } };
}

/** @type {(reply: Response) => Promise<string>} what has come until it ends, is long enough, or takes too long */
async function begun(reply) {
  const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader();
  const late = setTimeout(() => reader?.cancel(), PATIENCE);
  let text = "";
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
    text += piece.value;
    if (text.length > MOST) await reader?.cancel();
  }
  clearTimeout(late);
  return text;
}

/** @param {string} text */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** @type {(form: HTMLFormElement) => Promise<void>} */
async function send(form) {
  const [said, place] = [form.querySelector("[role=status]"), form.querySelector("pre")];
  const shown = place?.querySelector("code");
  if (!said || !place || !shown) return;
  const { address, options } = asked(form);
  said.textContent = `Sending ${options.method} ${address}`;
  place.hidden = true;
  try {
    const reply = await fetch(address, options);
    const text = pretty(await begun(reply));
    shown.textContent = text.length > MOST ? `${text.slice(0, MOST)}\n…` : text;
    place.hidden = !text;
    said.textContent = `${reply.status} ${reply.statusText} to ${options.method} ${address}`;
  } catch {
    said.textContent = "The server did not respond.";
  }
}

part("caller").hidden = false;
for (const form of document.forms) {
  const { path } = form.dataset;
  if (!path && !form.contains(token)) continue;
  form.closest("details")?.removeAttribute("hidden");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (path) send(form);
  });
}
