/** Questions and answers in words, to be shown after the answer was sent. Numbers are on the value's own scale. */

/** @import { Odds, Query } from "./dither.d.ts" */

import { Staircase } from "./cuts.js";
import { GroupedRandomizedResponse } from "./groups.js";
import { IntervalQuery } from "./intervals.js";
import { written } from "./typed.js";

const SHOWN_DIGITS = 5;
const POINT_DIGITS = 12; // of the points that many people have exactly
const ENORMOUS = 1e15;
const TINY = 1e-9;

/**
 * @typedef {object} Told a question, and how its values are written
 * @property {Query} query
 * @property {readonly string[]} categories
 * @property {number | null} decimals
 */

/**
 * The question, as a sentence. Values that have at most so many `decimals` are above an edge exactly if they are above the
 * number that is shown for it.
 *
 * @param {Query} query
 * @param {readonly string[]} categories
 * @param {number | null} decimals
 */
export function questionText(query, categories = [], decimals = null) {
  const told = { query, categories, decimals };
  if (isThreshold(query)) {
    return `Is your value ${aboveText(told, query.edges[0] ?? NaN)}?`;
  }
  if (query instanceof IntervalQuery) {
    return `Where between ${number(told, query.low)} and ${number(told, query.high)} does your value lie?`;
  }
  const kinds = Array.from({ length: query.nAnswers }, (_, answer) => cellsOf(query, answer));
  const listed = kinds.length > 8 ? "" : `: ${kinds.map((cells) => cellsText(told, cells)).join("; ")}`;
  if (query instanceof GroupedRandomizedResponse) {
    return `In which of these ${kinds.length} groups is what you chose${listed}?`;
  }
  const what = query instanceof Staircase ? "groups of ranges" : "ranges";
  return `In which of these ${kinds.length} ${what} does your value lie${listed}?`;
}

/**
 * The meaning of one of its answers.
 *
 * @param {Query} query
 * @param {number} answer
 * @param {readonly string[]} categories
 * @param {number | null} decimals
 */
export function answerText(query, answer, categories = [], decimals = null) {
  const told = { query, categories, decimals };
  if (isThreshold(query)) {
    return answer === 1 ? "yes" : "no";
  }
  if (query instanceof IntervalQuery) {
    const point = query.low + ((query.high - query.low) * answer) / query.levels;
    const text = number(told, point);
    return answer === 0 ? `${text} or below` : answer === query.levels ? `${text} or above` : `about ${text}`;
  }
  return cellsText(told, cellsOf(query, answer));
}

/** @type {(query: Query, answer: number) => number[]} */
function cellsOf(query, answer) {
  if (query instanceof GroupedRandomizedResponse) {
    return query.groups[answer] ?? [];
  }
  return query instanceof Staircase ? (query.sets[answer] ?? []) : [answer];
}

/**
 * Which values send this answer with the highest and with the lowest probability: `{who, probability}` for each. The ratio
 * is at most `exp(ε)`, and neither depends on the sender's own value.
 *
 * @param {Query} query
 * @param {number} answer
 * @param {readonly string[]} categories
 * @param {number | null} decimals
 * @returns {[Odds, Odds]}
 */
export function odds(query, answer, categories = [], decimals = null) {
  const column = Array.from({ length: query.nCells }, (_, cell) => query.probability(cell, answer));
  /** @param {number} probability */
  const of = (probability) => {
    const cells = column.flatMap((p, cell) => (Math.abs(p - probability) <= 1e-12 ? [cell] : []));
    return { who: cellsText({ query, categories, decimals }, cells), probability };
  };
  return [of(Math.max(...column)), of(Math.min(...column))];
}

/** @param {Query} query */
function isThreshold(query) {
  return query instanceof IntervalQuery && query.levels === 1;
}

/**
 * The cells as ranges, of which adjacent ones are merged; categories by their texts, or else by their numbers.
 *
 * @param {Told} told
 * @param {number[]} cells
 */
function cellsText(told, cells) {
  const { query, categories } = told;
  if (query instanceof GroupedRandomizedResponse) {
    return cells.map((cell) => `“${categories[cell] ?? `category ${cell + 1}`}”`).join(" or ");
  }
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
  return ranges.map(([first, last]) => rangeText(told, first, last)).join(" or ");
}

/** @type {(told: Told, first: number, last: number) => string} */
function rangeText(told, first, last) {
  const [low, high] = [told.query.edges[first - 1], told.query.edges[last]];
  const point = low === undefined ? null : pointAfter(told.query, low);
  if (point !== null && point === high) {
    return `exactly ${exact(told, point)}`;
  }
  if (low !== undefined && high !== undefined && inWords(told, low) && inWords(told, low) === inWords(told, high)) {
    return inWords(told, low);
  }
  const above = low === undefined ? [] : [aboveText(told, low)];
  const upTo = high === undefined ? [] : [upToText(told, high)];
  return [...above, ...upTo].join(" and ") || "anything";
}

/** @type {(told: Told, edge: number) => string} */
function aboveText(told, edge) {
  const point = pointAfter(told.query, edge);
  return point === null ? `above ${number(told, edge, Math.floor)}` : `at least ${number(told, point, Math.ceil)}`;
}

/** @type {(told: Told, edge: number) => string} */
function upToText(told, edge) {
  const point = pointAfter(told.query, edge);
  return point === null ? `up to ${number(told, edge, Math.floor)}` : `below ${number(told, point, Math.ceil)}`;
}

/**
 * The point that many people have exactly, if this edge only divides it from what lies below it, or null: the next float is
 * the next edge, or has few digits.
 *
 * @type {(query: Query, edge: number) => number | null}
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

/** @type {(told: Told, point: number) => string} */
function exact({ decimals }, point) {
  const shown = Number(point.toPrecision(POINT_DIGITS));
  return (decimals === null ? String(shown) : written(shown)).replace("-", "−");
}

/**
 * What is said of a number that nobody would write down; empty of others.
 *
 * @type {(told: Told, coordinate: number) => string}
 */
function inWords({ query, decimals }, coordinate) {
  const value = valueAt(query, coordinate);
  if (Math.abs(value) >= ENORMOUS) {
    return value > 0 ? "an enormous number" : "an enormous negative number";
  }
  const tiny = Math.abs(value) < TINY && (value !== 0 || query.transform === "log");
  return decimals === null && tiny ? "nearly 0" : "";
}

/** @type {(query: Query, coordinate: number) => number} */
function valueAt(query, coordinate) {
  return query.transform === "log" ? Math.exp(coordinate) : coordinate;
}

/** @type {(told: Told, coordinate: number, whole?: (x: number) => number) => string} */
function number(told, coordinate, whole = Math.round) {
  const { query, decimals } = told;
  const value = valueAt(query, coordinate);
  const unit = 10 ** (decimals ?? 0);
  const outwards = whole === Math.ceil ? -1e-12 : 1e-12; // 0.29 is 28.999999999999996 hundredths
  const near = value * unit * (1 + outwards * Math.sign(value));
  const shown = decimals === null ? Number(value.toPrecision(digitsOf(query))) : whole(near) / unit;
  return inWords(told, coordinate) || (decimals === null ? String(shown) : written(shown)).replace("-", "−");
}

/**
 * How many digits keep the edges apart: five, or more.
 *
 * @param {Query} query
 */
function digitsOf(query) {
  const values = new Set(query.edges.map((edge) => valueAt(query, pointAfter(query, edge) ?? edge)));
  let digits = SHOWN_DIGITS;
  while (digits < POINT_DIGITS && new Set([...values].map((value) => value.toPrecision(digits))).size < values.size) {
    digits += 1;
  }
  return digits;
}
