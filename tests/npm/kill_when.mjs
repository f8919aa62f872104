/** Loaded before a program, it kills that program at the moment that `KILL_WHEN` names: as the answer is drawn, or sent. */

import process from "node:process";

/** @returns {never} */
function die() {
  process.kill(process.pid, "SIGKILL");
  for (;;); // nothing more is done until the signal has come
}

const ownFetch = globalThis.fetch;
const ownRandom = crypto.getRandomValues.bind(crypto);
if (process.env.KILL_WHEN === "drawn") {
  crypto.getRandomValues = (into) => (into instanceof Uint8Array && into.length < 24 ? die() : ownRandom(into));
} else {
  globalThis.fetch = (url, options) => (String(url).endsWith("/responses") ? die() : ownFetch(url, options));
}
