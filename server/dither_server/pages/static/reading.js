// What a chart shows at one point, in words: under the pointer, or where the arrow keys have gone.

/** @import uPlot from "./vendor/uPlot.d.ts" */

import { part } from "./page.js";

/** @type {Record<string, number>} */
const KEYS = {
  ArrowRight: 1,
  ArrowUp: 1,
  ArrowLeft: -1,
  ArrowDown: -1,
  PageUp: 10,
  PageDown: -10,
  Home: -Infinity,
  End: Infinity,
};
const NOWHERE = -10;

// A slider along the chart in `place`: a screen reader says the words, and they stand below it for everybody.
export class Reading {
  #place;
  /** @type {uPlot | undefined} */
  #plot;
  /** @type {(i: number) => string} */
  #words = () => "";
  /** @type {number | undefined} */
  #begin;
  /** @type {number | undefined} the x that somebody has gone to; without one, the words are those of the beginning */
  #chosen;

  /** @param {HTMLElement} place */
  constructor(place) {
    this.#place = place;
    place.setAttribute("role", "slider");
    place.setAttribute("aria-valuemin", "0");
    place.tabIndex = 0;
    place.addEventListener("keydown", (event) => this.#step(event));
    // Stays where it is while somebody listens, whatever comes.
    place.addEventListener("focus", () => this.#go(this.#index()));
    place.addEventListener("blur", () => this.#leave());
  }

  /**
   * `words` says what is at the i-th point; `begin` is where reading begins, the newest point unless it is given.
   *
   * @param {(i: number) => string} words
   * @param {number} [begin]
   */
  tell(words, begin) {
    this.#words = words;
    this.#begin = begin;
  }

  /** @param {uPlot} plot */
  follow(plot) {
    this.#plot = plot;
    plot.over.addEventListener("mousemove", (event) => this.#go(plot.posToIdx(event.offsetX)));
    plot.over.addEventListener("mouseleave", () => this.#leave());
  }

  // Once the chart is drawn: where a point lies has changed with it.
  show() {
    const i = this.#index();
    const text = this.#words(i);
    this.#place.setAttribute("aria-valuemax", String(this.#points.length - 1));
    this.#place.setAttribute("aria-valuenow", String(i));
    this.#place.setAttribute("aria-valuetext", text);
    part(`${this.#place.id}-reading`).textContent = text;
    const left = this.#chosen === undefined ? NOWHERE : this.#plot?.valToPos(this.#points[i] ?? NaN, "x");
    this.#plot?.setCursor({ left: left ?? NOWHERE, top: 0 }, false);
  }

  get #points() {
    return this.#plot?.data[0] ?? [];
  }

  #index() {
    const newest = this.#points.length - 1;
    return this.#chosen === undefined ? (this.#begin ?? newest) : (this.#plot?.valToIdx(this.#chosen) ?? newest);
  }

  /** @param {KeyboardEvent} event */
  #step(event) {
    const by = KEYS[event.key];
    if (by === undefined) return;
    event.preventDefault();
    this.#go(Math.min(Math.max(this.#index() + by, 0), this.#points.length - 1));
  }

  /** @param {number} i */
  #go(i) {
    this.#chosen = this.#points[i];
    this.show();
  }

  #leave() {
    this.#chosen = undefined;
    this.show();
  }
}
