/** Numbers and ranges of values in words. Numbers are on the value's own scale. */

/** @import { Phrases, Query } from "./dither.d.ts" */

import { written } from "./typed.js";

const SHOWN_DIGITS = 5;
const POINT_DIGITS = 12; // of the points that many people have exactly
const ENORMOUS = 1e15;
const TINY = 1e-9;
const NEAR = 1e-12; // relative: closer than that, two numbers are the same

/** @typedef {Pick<Query, "edges" | "transform">} Edges where values are cut, and on which scale */

/**
 * @typedef {object} Scale how the values are written that a question cuts
 * @property {Edges} query
 * @property {number | null} decimals
 * @property {Phrases} phrases
 * @property {string | null} [unit] what is written after each number, such as `€ a week`
 */

/**
 * The cells as ranges, of which adjacent ones are merged.
 *
 * @param {Scale} told
 * @param {readonly number[]} cells
 */
export function rangesText(told, cells) {
  /** @type {[number, number][]} */
  const ranges = [];
  for (const cell of cells) {
    const last = ranges.at(-1);
    if (last && last[1] === cell - 1) {
      last[1] = cell;
    } else {
      ranges.push([cell, cell]);
    }
  }
  return ranges.map(([first, last]) => rangeText(told, first, last)).join(told.phrases.or);
}

/** @type {(told: Scale, first: number, last: number) => string} */
function rangeText(told, first, last) {
  const { phrases } = told;
  const [low, high] = [told.query.edges[first - 1], told.query.edges[last]];
  const point = low === undefined ? null : pointAfter(told.query, low);
  if (point !== null && point === high) {
    return phrases.exactly(exact(told, point));
  }
  if (low !== undefined && high !== undefined && inWords(told, low) && inWords(told, low) === inWords(told, high)) {
    return inWords(told, low, phrases.alone);
  }
  const above = low === undefined ? [] : [aboveText(told, low)];
  const upTo = high === undefined ? [] : [upToText(told, high)];
  return [...above, ...upTo].join(phrases.and) || phrases.anything;
}

/** @type {(told: Scale, edge: number) => string} */
export function aboveText(told, edge) {
  const { phrases } = told;
  const point = pointAfter(told.query, edge);
  return point === null
    ? phrases.above(number(told, edge, Math.floor))
    : phrases.atLeast(number(told, point, Math.ceil));
}

/** @type {(told: Scale, edge: number) => string} */
function upToText(told, edge) {
  const { phrases } = told;
  const point = pointAfter(told.query, edge);
  return point === null ? phrases.upTo(number(told, edge, Math.floor)) : phrases.below(number(told, point, Math.ceil));
}

/**
 * The point that many people have exactly, if this edge only divides it from what lies below it, or null: the next float is
 * the next edge, or has few digits.
 *
 * @type {(query: Edges, edge: number) => number | null}
 */
function pointAfter(query, edge) {
  if (query.transform === "log") {
    return null;
  }
  const next = nextFloat(edge);
  const divided = query.edges.includes(next) || next === 0 || Number(edge.toPrecision(POINT_DIGITS)) === next;
  return divided ? next : null;
}

/** @param {number} x */
function nextFloat(x) {
  if (x === 0) {
    return Number.MIN_VALUE;
  }
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  view.setBigInt64(0, view.getBigInt64(0) + (x > 0 ? 1n : -1n));
  return view.getFloat64(0) + 0; // no negative zero
}

/** @type {(told: Scale, point: number) => string} */
function exact(told, point) {
  return inDigits(told, Number(point.toPrecision(POINT_DIGITS)));
}

/** @type {(told: Scale, shown: number) => string} */
function inDigits({ decimals, phrases: { marks }, unit }, shown) {
  const text = decimals === null ? String(shown) : written(shown);
  const digits = text.replace(/[.,]/g, (mark) => marks[mark === "." ? 0 : 1] ?? mark).replace("-", "−");
  return unit ? `${digits} ${unit}` : digits;
}

/**
 * What is said of a number that nobody would write down; empty of others.
 *
 * @type {(told: Scale, coordinate: number, words?: Phrases["alone"]) => string}
 */
export function inWords({ query, decimals, phrases }, coordinate, words = phrases.beside) {
  const value = valueAt(query, coordinate);
  if (Math.abs(value) >= ENORMOUS) {
    return value > 0 ? words.enormous : words.enormousNegative;
  }
  const tiny = Math.abs(value) < TINY && (value !== 0 || query.transform === "log");
  return decimals === null && tiny ? phrases.nearlyZero : "";
}

/** @type {(query: Edges, coordinate: number) => number} */
function valueAt(query, coordinate) {
  return query.transform === "log" ? Math.exp(coordinate) : coordinate;
}

/** @type {(told: Scale, coordinate: number, whole?: (x: number) => number) => string} */
export function number(told, coordinate, whole = Math.round) {
  const [text, isExact] = rounded(told, coordinate, whole);
  return inWords(told, coordinate) || (isExact ? text : told.phrases.about(text));
}

/**
 * The number in the digits that are shown, and whether they say the same as the number does: rounded down or up to the
 * decimals that values have, they do.
 *
 * @type {(told: Scale, coordinate: number, whole: (x: number) => number) => [string, boolean]}
 */
export function rounded(told, coordinate, whole) {
  const { query, decimals } = told;
  const value = valueAt(query, coordinate);
  const unit = 10 ** (decimals ?? 0);
  const outwards = whole === Math.ceil ? -NEAR : NEAR; // 0.29 is 28.999999999999996 hundredths
  const near = value * unit * (1 + outwards * Math.sign(value));
  const shown = decimals === null ? Number(value.toPrecision(digitsOf(query))) : whole(near) / unit;
  const keeps = decimals !== null && whole !== Math.round;
  return [inDigits(told, shown), keeps || Math.abs(shown - value) <= NEAR * Math.abs(value)];
}

/**
 * How many digits keep the edges apart: five, or more.
 *
 * @param {Edges} query
 */
function digitsOf(query) {
  const values = new Set(query.edges.map((edge) => valueAt(query, pointAfter(query, edge) ?? edge)));
  let digits = SHOWN_DIGITS;
  while (digits < POINT_DIGITS && new Set([...values].map((value) => value.toPrecision(digits))).size < values.size) {
    digits += 1;
  }
  return digits;
}
