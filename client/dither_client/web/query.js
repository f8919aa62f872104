/** The base of all questions: cells of the line, and a channel from the cell of a value to an answer. */

/** @import { Mechanism, Query as AnyQuery, RandBelow, Transform, Value } from "./dither.d.ts" */

import { MICRO, parseMicro } from "./epsilon.js";
import { InvalidEpsilon, InvalidQuery, InvalidValue } from "./errors.js";
import { JsonNumber } from "./json.js";
import { systemRandbelow } from "./sampling.js";

export const MAX_CELLS = 1024;
const MAX_EPSILON = 50;

/**
 * @typedef {object} Asked the checked fields that every question has
 * @property {number[]} edges
 * @property {number} microEpsilon
 * @property {Transform} transform
 */

/**
 * One question at one ε. `edges` increase strictly, on the transformed scale: cell `k` holds the values with exactly
 * `k` edges strictly below them. Each mechanism also has `nAnswers`, `probability(cell, answer)`, `sample(cell,
 * randbelow)` and `fields()`, its own fields of the JSON.
 */
export class Query {
  /**
   * @param {Mechanism} mechanism
   * @param {Asked} asked
   */
  constructor(mechanism, { edges, microEpsilon, transform }) {
    this.mechanism = mechanism;
    this.edges = edges;
    this.microEpsilon = microEpsilon;
    /** @type {number | null} */
    this.microRho = null;
    this.transform = transform;
  }

  get nCells() {
    return this.edges.length + 1;
  }

  /**
   * The cell of `value`, on its own scale; a tie goes down. Throws `InvalidValue`.
   *
   * @param {Value} value
   */
  cell(value) {
    return cellAt(this.edges, value, this.transform);
  }

  /**
   * Draws the private answer of somebody who holds `value`.
   *
   * @this {AnyQuery}
   * @param {Value} value
   * @param {RandBelow} randbelow
   */
  answer(value, randbelow = systemRandbelow) {
    return this.sample(this.cell(value), randbelow);
  }

  /**
   * The object of the wire format.
   *
   * @this {Query & { fields(): Record<string, unknown> }}
   */
  toJSON() {
    const epsilon = this.microEpsilon / MICRO; // at most eight digits, so it is written as the same decimal
    return { mechanism: this.mechanism, ...this.fields(), epsilon, transform: this.transform };
  }
}

/**
 * How many of the increasing `edges` lie strictly below a value on this scale. Throws `InvalidValue`.
 *
 * @type {(edges: readonly number[], value: Value, transform: Transform) => number}
 */
export function cellAt(edges, value, transform) {
  const x = transformed(checkValue(value), transform);
  let [low, high] = [0, edges.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((edges[middle] ?? Infinity) < x) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/** @type {(value: number, transform: Transform) => number} */
function transformed(value, transform) {
  if (transform === "identity") {
    return value;
  }
  return value > 0 ? Math.log(value) : -Infinity;
}

/**
 * Returns `value` if it is a finite number. Throws `InvalidValue`, whose message says what it is and never repeats it.
 *
 * @param {unknown} value
 * @param {string} what
 */
export function checkValue(value, what = "the value") {
  if (typeof value !== "number") {
    throw new InvalidValue(`${what} must be a number`);
  }
  if (!Number.isFinite(value)) {
    throw new InvalidValue(`${what} must be a finite number`);
  }
  return value;
}

/** @param {unknown} epsilon */
export function checkEpsilon(epsilon) {
  const micro = micros(epsilon, "epsilon");
  if (micro > MAX_EPSILON * MICRO) {
    throw new InvalidQuery(`epsilon must be at most ${MAX_EPSILON}`);
  }
  return Number(micro);
}

/** @type {(amount: unknown, name: string) => bigint} */
export function micros(amount, name) {
  try {
    return parseMicro(amount, name);
  } catch (error) {
    throw error instanceof InvalidEpsilon ? new InvalidQuery(error.message) : error;
  }
}

/** @type {(transform: unknown) => Transform} */
export function checkTransform(transform) {
  if (transform !== "identity" && transform !== "log") {
    throw new InvalidQuery('transform must be "identity" or "log"');
  }
  return transform;
}

/** @type {(name: string, number: unknown) => number} */
export function checkCoordinate(name, number) {
  if (!(number instanceof JsonNumber)) {
    throw new InvalidQuery(`${name} must be a number`);
  }
  if (!Number.isFinite(number.value)) {
    throw new InvalidQuery(`${name} must be finite`);
  }
  return number.value + 0; // -0 and 0 are the same coordinate
}

/** @type {(number: unknown, low: number, high: number, complaint: string) => number} */
export function checkWhole(number, low, high, complaint) {
  if (!(number instanceof JsonNumber && number.isInteger && low <= number.value && number.value <= high)) {
    throw new InvalidQuery(complaint);
  }
  return number.value + 0;
}

/**
 * @template T
 * @param {T[]} values
 * @param {(a: T, b: T) => boolean} less
 */
export function isIncreasing(values, less = (a, b) => a < b) {
  return values.every((value, i) => {
    const before = values[i - 1];
    return before === undefined || less(before, value);
  });
}

/** @type {(cuts: unknown[], most: number) => number[]} */
export function checkCuts(cuts, most) {
  if (!(1 <= cuts.length && cuts.length < most)) {
    throw new InvalidQuery(`there must be 1 to ${most - 1} cuts, not ${cuts.length}`);
  }
  return checkIncreasing(cuts);
}

/** @type {(cuts: unknown[]) => number[]} */
export function checkIncreasing(cuts) {
  const checked = cuts.map((cut) => checkCoordinate("cuts", cut));
  if (!isIncreasing(checked)) {
    throw new InvalidQuery("cuts must increase strictly");
  }
  return checked;
}
