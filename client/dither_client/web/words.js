/** A question and its answers in words, to be shown after the answer was sent. Numbers are on the value's own scale. */

/** @import { Odds, Query } from "./dither.d.ts" */

import { Staircase } from "./cuts.js";
import { IntervalQuery } from "./intervals.js";

/**
 * The question, as a sentence.
 *
 * @param {Query} query
 */
export function questionText(query) {
  if (isThreshold(query)) {
    return `Is your value above ${edge(query, 0)}?`;
  }
  if (query instanceof IntervalQuery) {
    return `Where between ${number(query, query.low)} and ${number(query, query.high)} does your value lie?`;
  }
  const kinds = Array.from({ length: query.nAnswers }, (_, answer) => cellsOf(query, answer));
  const listed = kinds.length > 8 ? "" : `: ${kinds.map((cells) => cellsText(query, cells)).join("; ")}`;
  const what = query instanceof Staircase ? "groups of ranges" : "ranges";
  return `In which of these ${kinds.length} ${what} does your value lie${listed}?`;
}

/**
 * What one of its answers says.
 *
 * @param {Query} query
 * @param {number} answer
 */
export function answerText(query, answer) {
  if (isThreshold(query)) {
    return answer === 1 ? "yes" : "no";
  }
  if (query instanceof IntervalQuery) {
    const point = query.low + ((query.high - query.low) * answer) / query.levels;
    const text = number(query, point);
    return answer === 0 ? `${text} or below` : answer === query.levels ? `${text} or above` : `about ${text}`;
  }
  return cellsText(query, cellsOf(query, answer));
}

/** @type {(query: Query, answer: number) => number[]} */
function cellsOf(query, answer) {
  return query instanceof Staircase ? (query.sets[answer] ?? []) : [answer];
}

/**
 * Who would most likely, and who would least likely, have sent this answer: `{who, probability}` of each. The ratio is
 * at most `exp(ε)`, and neither depends on the value of whoever sent it.
 *
 * @param {Query} query
 * @param {number} answer
 * @returns {[Odds, Odds]}
 */
export function odds(query, answer) {
  const column = Array.from({ length: query.nCells }, (_, cell) => query.probability(cell, answer));
  /** @param {number} probability */
  const of = (probability) => {
    const cells = column.flatMap((p, cell) => (Math.abs(p - probability) <= 1e-12 ? [cell] : []));
    return { who: cellsText(query, cells), probability };
  };
  return [of(Math.max(...column)), of(Math.min(...column))];
}

/** @param {Query} query */
function isThreshold(query) {
  return query instanceof IntervalQuery && query.levels === 1;
}

/**
 * The cells as ranges, those that touch as one.
 *
 * @param {Query} query
 * @param {number[]} cells
 */
function cellsText(query, cells) {
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
  return ranges.map(([first, last]) => rangeText(query, first, last)).join(" or ");
}

/** @type {(query: Query, first: number, last: number) => string} */
function rangeText(query, first, last) {
  const above = first > 0 && `above ${edge(query, first - 1)}`;
  const upTo = last < query.nCells - 1 && `up to ${edge(query, last)}`;
  return [above, upTo].filter(Boolean).join(" and ") || "anything";
}

/** @type {(query: Query, i: number) => string} */
function edge(query, i) {
  return number(query, query.edges[i] ?? NaN);
}

/** @type {(query: Query, coordinate: number) => string} */
function number(query, coordinate) {
  const value = query.transform === "log" ? Math.exp(coordinate) : coordinate;
  return String(Number(value.toPrecision(5))).replace("-", "−");
}
