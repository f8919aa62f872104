/** Questions and answers in words, to be shown after the answer was sent. Numbers are on the value's own scale. */

/** @import { Odds, Query } from "./dither.d.ts" */

import { Staircase } from "./cuts.js";
import { GroupedRandomizedResponse } from "./groups.js";
import { IntervalQuery } from "./intervals.js";
import { written } from "./typed.js";

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
    return `Is your value above ${edge(told, 0)}?`;
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
  const above = first > 0 && `above ${edge(told, first - 1)}`;
  const upTo = last < told.query.nCells - 1 && `up to ${edge(told, last)}`;
  return [above, upTo].filter(Boolean).join(" and ") || "anything";
}

/** @type {(told: Told, i: number) => string} */
function edge(told, i) {
  return number(told, told.query.edges[i] ?? NaN, Math.floor);
}

/** @type {(told: Told, coordinate: number, whole?: (x: number) => number) => string} */
function number({ query, decimals }, coordinate, whole = Math.round) {
  const value = query.transform === "log" ? Math.exp(coordinate) : coordinate;
  const unit = 10 ** (decimals ?? 0);
  const near = value * unit * (1 + 1e-12 * Math.sign(value)); // 0.29 is 28.999999999999996 hundredths
  const shown = decimals === null ? Number(value.toPrecision(5)) : whole(near) / unit;
  return (decimals === null ? String(shown) : written(shown)).replace("-", "−");
}
