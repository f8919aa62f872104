// Two questions about the population: the share above a value, and the value that a share is below.

/** @import { Known, Summary } from "./population.js" */

import { control, part } from "./page.js";
import { shareAbove, valueAt, written } from "./population.js";

/**
 * @typedef {object} Told how values of the number are told
 * @property {string} name empty if it is the only one
 * @property {string} unit
 * @property {number | undefined} decimals
 * @property {boolean} discrete
 * @property {boolean} logarithmic whether the slider of values is spaced on a logarithmic scale
 * @property {[number, number]} shown the least and the largest value of the slider
 *
 * @typedef {Told & Known} Population what is known of the population
 */

const STEPS = 200; // of the slider of values
const DIGITS = 3; // of the values that it reaches
const ORDERS = 6; // what is smaller than the largest value by more orders of magnitude is 0 beside it
const MOST_DIGITS = 12; // the most decimals of a value
const TAIL = 1.5; // where all of a share's band is within so many % of 0 or 100%, it gets two decimals
const FLOAT = 1e-9; // what a share may be off by, as a part of itself, because of floating point

const GROUPED = /^-?\d{1,3}([ ,'])\d{3}(\1\d{3})*(\.\d*)?$/; // as this page writes numbers
const WITH_COMMA = /^-?(\d{1,3}([ .'])\d{3}(\2\d{3})*|\d*),\d*$/; // a decimal comma

/** @type {(text: string) => number} NaN for what is no number */
function number(text) {
  const typed = text.trim().replaceAll(/\s/g, " ").replaceAll("’", "'").replace("−", "-");
  if (GROUPED.test(typed)) return Number(typed.replaceAll(/[ ,']/g, ""));
  if (WITH_COMMA.test(typed)) return Number(typed.replaceAll(/[ .']/g, "").replace(",", "."));
  return typed ? Number(typed) : NaN;
}

/** @type {(band: Summary) => number} how many decimals a share in % has, and both ends of its band */
const decimalsOf = ({ q05, q95 }) => (100 * Math.min(q95, 1 - q05) < TAIL ? 2 : 1);

/** @type {(share: number, decimals: number) => string} */
const percent = (share, decimals) => (100 * share).toFixed(decimals).replace(/^-0/, "0");

/** @type {(share: number, decimals: number) => number} a share in a number of decimals of a %, never too little */
const roundedUp = (share, decimals) => {
  const steps = 100 * 10 ** decimals;
  return Math.ceil(share * steps * (1 - FLOAT)) / steps;
};

export class Asking {
  /** @type {Population | null} */
  #known = null;
  #above = control("above", HTMLInputElement);
  #aboveSlider = control("above-slider", HTMLInputElement);
  #level = control("level", HTMLInputElement);
  #levelSlider = control("level-slider", HTMLInputElement);

  constructor() {
    this.#above.addEventListener("input", () => this.#sayAbove());
    this.#level.addEventListener("input", () => this.#sayLevel());
    this.#aboveSlider.addEventListener("input", () => {
      this.#above.value = this.#reached(Number(this.#aboveSlider.value)).toLocaleString("en", {
        maximumSignificantDigits: 12,
      });
      this.#sayAbove();
    });
    this.#levelSlider.addEventListener("input", () => {
      this.#level.value = this.#levelSlider.value;
      this.#sayLevel();
    });
  }

  /**
   * Answers both questions from now on by what is known; what somebody has asked of the same number stays asked.
   *
   * @param {Population} known
   */
  show(known) {
    if (known.name !== this.#known?.name) this.#above.value = "";
    this.#known = known;
    if (!this.#above.value) {
      const median = valueAt(known, 0.5)?.q50 ?? known.shown[0];
      this.#above.value = Number(median.toPrecision(2)).toLocaleString("en", { maximumSignificantDigits: 12 });
    }
    this.#level.value ||= "90";
    this.#sayAbove();
    this.#sayLevel();
  }

  get #unit() {
    return this.#known?.unit && ` ${this.#known.unit}`;
  }

  /** @type {(step: number) => number} the value at a step of the slider */
  #reached(step) {
    const { shown, logarithmic, discrete } = this.#known ?? { shown: [0, 1], logarithmic: false, discrete: false };
    const [low = 0, high = 1] = shown;
    const part = step / STEPS;
    const value = logarithmic ? low * (high / low) ** part : low + part * (high - low);
    const digits = DIGITS + Math.max(0, Math.floor(Math.log10(Math.abs(value) / (high - low) || 1)));
    return discrete ? Math.round(value) : Number(value.toPrecision(Math.min(digits, 15)));
  }

  /** @type {(value: number) => number} the step of the slider that is nearest to a value */
  #step(value) {
    const { shown, logarithmic } = this.#known ?? { shown: [0, 1], logarithmic: false };
    const [low = 0, high = 1] = shown;
    const part = logarithmic
      ? value > low
        ? Math.log(value / low) / Math.log(high / low)
        : 0
      : (value - low) / (high - low);
    return Math.round(STEPS * Math.min(Math.max(part, 0), 1));
  }

  #sayAbove() {
    if (!this.#known) return;
    const value = number(this.#above.value);
    const wrong = !Number.isFinite(value);
    this.#above.toggleAttribute("aria-invalid", wrong);
    if (wrong) {
      part("above-said").textContent = "Write a number, such as 600.";
      return;
    }
    const told = `${value.toLocaleString("en", { maximumSignificantDigits: 12 })}${this.#unit}`;
    this.#aboveSlider.value = String(this.#step(value));
    this.#aboveSlider.setAttribute("aria-valuetext", told);
    part("above-said").textContent = this.#haveMore(value, told, shareAbove(this.#known, value));
  }

  /** @type {(value: number, told: string, share: Summary) => string} how many have more than a value */
  #haveMore(value, told, share) {
    const { q05, q50, q95 } = share;
    const all = `of the people have more than ${told}`;
    if (q95 === 0 || q05 === 1) return `${100 * q50}% ${all}.`;
    const decimals = decimalsOf(share);
    const have = `${all} (90% sure`;
    if (!Number.isNaN(q50)) {
      return `${percent(q50, decimals)}% ${have}: ${percent(q05, decimals)} to ${percent(q95, decimals)}%).`;
    }
    const { x = [] } = this.#known?.distribution ?? {};
    const ends = { q05: x[0] ?? NaN, q50, q95: x.at(-1) ?? NaN };
    const unknown = "nothing more precise is known.";
    return value < ends.q05
      ? `At least ${percent(1 - roundedUp(1 - q05, decimals), decimals)}% ${have}). ` +
          `Below ${this.#write("q05", ends)}${this.#unit} ${unknown}`
      : `At most ${percent(roundedUp(q95, decimals), decimals)}% ${have}). ` +
          `Above ${this.#write("q95", ends)}${this.#unit} ${unknown}`;
  }

  #sayLevel() {
    if (!this.#known) return;
    const level = number(this.#level.value);
    const wrong = !(level > 0 && level < 100);
    this.#level.toggleAttribute("aria-invalid", wrong);
    if (wrong) {
      part("level-said").textContent = "Write a number above 0 and below 100.";
      return;
    }
    const found = valueAt(this.#known, level / 100);
    this.#levelSlider.value = String(Math.round(level));
    this.#levelSlider.setAttribute("aria-valuetext", `${level}%`);
    part("level-said").textContent = found
      ? `${level}% of the people have ${this.#write("q50", found)}${this.#unit} or less (90% sure: ` +
        `${this.#write("q05", found)} to ${this.#write("q95", found)}).`
      : `Where ${level}% of the people are is not known: choose a share nearer to 50%.`;
  }

  /** @type {(level: "q05" | "q50" | "q95", found: Pick<Summary, "q05" | "q50" | "q95">) => string} */
  #write(level, found) {
    const [low = 0, high = 0] = this.#known?.shown ?? [];
    const largest = Math.max(Math.abs(low), Math.abs(high));
    const finest = Math.min(Math.max(ORDERS - Math.floor(Math.log10(largest)), 0), MOST_DIGITS);
    return written(found[level], found, this.#known?.discrete ? 0 : (this.#known?.decimals ?? finest), largest);
  }
}
