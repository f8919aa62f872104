// Follows a collection: looks at its results when there are new ones, and says how the page stands to the server.

import { part } from "./page.js";
import { answersText, moment } from "./words.js";

const UPDATE_INTERVAL = 1000; // the least number of milliseconds between two updates
const LONGEST_INTERVAL = 32000; // that between two tries while the server does not respond
const HISTORY_DELAY = 5000; // milliseconds after the last news in which the server has stored what it told in between
const REOPENING_DELAY = 30000; // milliseconds until a stream is asked for again that the server has refused
const SPEECH_INTERVAL = 20000; // the least number of milliseconds between two announcements to a screen reader

/** @typedef {"loading" | "live" | "stale" | "lost" | "refused" | "over"} State how the page stands to the server */
/** @typedef {{ answers: number, updated_at: string }} Seen what results rest on, and from when they are */

const status = part("status");
let spoken = 0;

/** @param {string} text what a screen reader says */
export function speak(text) {
  spoken = Date.now();
  part("spoken").textContent = text;
}

/** @type {(state: State, text: string) => void} */
function say(state, text) {
  const changed = status.dataset["state"] !== state;
  status.dataset["state"] = state;
  part("shown").textContent = text;
  part("reload").hidden = state !== "refused";
  if (changed || Date.now() - spoken >= SPEECH_INTERVAL) speak(text);
}

/** @param {number} milliseconds */
const passed = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const visible = () => new Promise((done) => addEventListener("visibilitychange", done, { once: true }));

export class Following {
  /** @type {EventSource | undefined} */
  #stream;
  #connected = false;
  #over = false;
  #looking = false;
  #again = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #later;
  /** @type {Seen | null} */
  #seen = null;
  #look;
  #url;

  /**
   * @param {string} url that of the stream
   * @param {() => Promise<Seen>} look shows the newest results
   */
  constructor(url, look) {
    this.#url = url;
    this.#look = look;
    say("loading", "Loading the newest results.");
    this.#open();
  }

  /**
   * Looks as soon as a second has passed since the last look, and, with `onceMore`, again a while after that: the history
   * of a burst of answers is stored after the last of them was told.
   */
  async lookSoon(onceMore = true) {
    this.#again = true;
    clearTimeout(this.#later);
    if (this.#looking) return;
    this.#looking = true;
    let interval = UPDATE_INTERVAL;
    while (this.#again) {
      this.#again = false;
      try {
        this.#seen = await this.#look();
        this.#sayHowItStands(this.#seen);
        interval = UPDATE_INTERVAL;
      } catch {
        say("stale", `The server did not respond; trying again. ${this.#earlier}`);
        this.#again = true;
        interval = Math.min(2 * interval, LONGEST_INTERVAL);
      }
      await passed(interval);
      if (document.hidden) await visible();
    }
    this.#looking = false;
    if (onceMore) this.#later = setTimeout(() => this.lookSoon(false), HISTORY_DELAY);
  }

  #open() {
    const stream = (this.#stream = new EventSource(this.#url));
    stream.addEventListener("open", () => {
      this.#connected = true;
      if (status.dataset["state"] !== "loading") this.lookSoon();
    });
    stream.addEventListener("posterior", () => this.lookSoon());
    stream.addEventListener("state", (event) => this.#changed(JSON.parse(event.data).state));
    stream.addEventListener("error", () => {
      if (this.#over) return;
      this.#connected = false;
      this.#sayDisconnected();
      if (stream.readyState === EventSource.CLOSED) setTimeout(() => this.#open(), REOPENING_DELAY);
    });
  }

  /** @param {string} state that of the collection */
  #changed(state) {
    this.#over = state === "closed"; // the last event, sent once every answer is learnt
    if (this.#over) this.#stream?.close();
    const changed = part("state").textContent !== state;
    part("state").textContent = state;
    if (this.#seen) part(this.#seen.answers ? "respond" : "share").hidden = state !== "open";
    if (this.#over || changed) this.lookSoon();
  }

  /** @param {Seen} seen */
  #sayHowItStands({ answers, updated_at: updated }) {
    const known = answersText(answers);
    if (this.#over) say("over", `The collection is closed: these are its final results, from ${known}.`);
    else if (this.#connected) say("live", `Live: ${known}, ${moment(new Date(updated))}.`);
    else this.#sayDisconnected();
  }

  #sayDisconnected() {
    if (this.#stream?.readyState === EventSource.CLOSED) {
      say("refused", `The server refuses live updates; trying again in half a minute. ${this.#earlier}`);
    } else {
      say("lost", `The connection is lost; reconnecting. ${this.#earlier}`);
    }
  }

  /** What the page shows while nothing newer comes. */
  get #earlier() {
    if (!this.#seen) return "";
    const { answers, updated_at: updated } = this.#seen;
    return `These results are from ${answersText(answers)}, ${moment(new Date(updated))}.`;
  }
}
