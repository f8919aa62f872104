// Describes one point of a chart in words: the point under the pointer, or the one that the arrow keys have reached.

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
const OUTSIDE = -10; // a cursor position that hides the cursor

// A slider along the chart in `place`: a screen reader speaks the words, and they are shown below it for everybody.
export class Reading {
  #place;
  /** @type {uPlot | undefined} */
  #plot;
  /** @type {(i: number) => string} */
  #words = () => "";
  /** @type {number | undefined} */
  #begin;
  /** @type {number | undefined} the x that somebody has chosen; without one, the words describe the point `begin` */
  #chosen;

  /** @param {HTMLElement} place */
  constructor(place) {
    this.#place = place;
    place.setAttribute("role", "slider");
    place.setAttribute("aria-valuemin", "0");
    place.tabIndex = 0;
    place.addEventListener("keydown", (event) => this.#step(event));
    // With the focus, it stays at its point even if new data come.
    place.addEventListener("focus", () => this.#go(this.#index()));
    place.addEventListener("blur", () => this.#leave());
  }

  /**
   * `words` describes the i-th point; `begin` is the point to begin with, the newest by default.
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

  // Called after every drawing, since points may have moved.
  show() {
    const i = this.#index();
    const text = this.#words(i);
    this.#place.setAttribute("aria-valuemax", String(this.#points.length - 1));
    this.#place.setAttribute("aria-valuenow", String(i));
    this.#place.setAttribute("aria-valuetext", text);
    part(`${this.#place.id}-reading`).textContent = text;
    const left = this.#chosen === undefined ? OUTSIDE : this.#plot?.valToPos(this.#points[i] ?? NaN, "x");
    this.#plot?.setCursor({ left: left ?? OUTSIDE, top: 0 }, false);
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
