/** Questions and answers in words, to be shown after the answer was sent. Numbers are on the value's own scale. */

/** @import { Odds, Phrases, Query } from "./dither.d.ts" */

import { Staircase } from "./cuts.js";
import { GroupedRandomizedResponse } from "./groups.js";
import { IntervalQuery } from "./intervals.js";
import { phrasesOf } from "./phrases.js";
import { written } from "./typed.js";

const SHOWN_DIGITS = 5;
const POINT_DIGITS = 12; // of the points that many people have exactly
const ENORMOUS = 1e15;
const TINY = 1e-9;
const NEAR = 1e-12; // relative: closer than that, two numbers are the same

/**
 * @typedef {object} Told a question, and how its values are written
 * @property {Query} query
 * @property {readonly string[]} categories
 * @property {number | null} decimals
 * @property {Phrases} phrases
 */

/**
 * The question, as a sentence in a language that there is, or else in English. Values that have at most so many `decimals`
 * are above an edge exactly if they are above the number that is shown for it; of a number that is rounded otherwise it
 * says so.
 *
 * @param {Query} query
 * @param {readonly string[]} categories
 * @param {number | null} decimals
 * @param {string} language
 */
export function questionText(query, categories = [], decimals = null, language = "en") {
  const told = { query, categories, decimals, phrases: phrasesOf(language) };
  const { phrases } = told;
  if (isThreshold(query)) {
    return phrases.threshold(aboveText(told, query.edges[0] ?? NaN));
  }
  if (query instanceof IntervalQuery) {
    return phrases.interval(number(told, query.low), number(told, query.high));
  }
  const kinds = Array.from({ length: query.nAnswers }, (_, answer) => cellsOf(query, answer));
  const listed = kinds.length > 8 ? "" : `: ${kinds.map((cells) => cellsText(told, cells)).join("; ")}`;
  if (query instanceof GroupedRandomizedResponse) {
    return phrases.groups(kinds.length, listed);
  }
  return query instanceof Staircase
    ? phrases.groupsOfRanges(kinds.length, listed)
    : phrases.ranges(kinds.length, listed);
}

/**
 * The meaning of one of its answers.
 *
 * @param {Query} query
 * @param {number} answer
 * @param {readonly string[]} categories
 * @param {number | null} decimals
 * @param {string} language
 */
export function answerText(query, answer, categories = [], decimals = null, language = "en") {
  const told = { query, categories, decimals, phrases: phrasesOf(language) };
  const { phrases } = told;
  if (isThreshold(query)) {
    return answer === 1 ? phrases.yes : phrases.no;
  }
  if (query instanceof IntervalQuery) {
    const point = query.low + ((query.high - query.low) * answer) / query.levels;
    const [text] = rounded(told, point, Math.round);
    const near = inWords(told, point, phrases.alone) || phrases.about(text);
    return answer === 0 ? phrases.orBelow(near) : answer === query.levels ? phrases.orAbove(near) : near;
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
 * @param {string} language
 * @returns {[Odds, Odds]}
 */
export function odds(query, answer, categories = [], decimals = null, language = "en") {
  const told = { query, categories, decimals, phrases: phrasesOf(language) };
  const column = Array.from({ length: query.nCells }, (_, cell) => query.probability(cell, answer));
  /** @param {number} probability */
  const of = (probability) => {
    const cells = column.flatMap((p, cell) => (Math.abs(p - probability) <= 1e-12 ? [cell] : []));
    return { who: cellsText(told, cells), probability };
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
  const { query, categories, phrases } = told;
  if (query instanceof GroupedRandomizedResponse) {
    return cells.map((cell) => phrases.quoted(categories[cell] ?? phrases.category(cell + 1))).join(phrases.or);
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
  return ranges.map(([first, last]) => rangeText(told, first, last)).join(phrases.or);
}

/** @type {(told: Told, first: number, last: number) => string} */
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

/** @type {(told: Told, edge: number) => string} */
function aboveText(told, edge) {
  const { phrases } = told;
  const point = pointAfter(told.query, edge);
  return point === null
    ? phrases.above(number(told, edge, Math.floor))
    : phrases.atLeast(number(told, point, Math.ceil));
}

/** @type {(told: Told, edge: number) => string} */
function upToText(told, edge) {
  const { phrases } = told;
  const point = pointAfter(told.query, edge);
  return point === null ? phrases.upTo(number(told, edge, Math.floor)) : phrases.below(number(told, point, Math.ceil));
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
function exact({ decimals, phrases }, point) {
  return inDigits(phrases, Number(point.toPrecision(POINT_DIGITS)), decimals);
}

/** @type {(phrases: Phrases, shown: number, decimals: number | null) => string} */
function inDigits({ marks }, shown, decimals) {
  const text = decimals === null ? String(shown) : written(shown);
  return text.replace(/[.,]/g, (mark) => marks[mark === "." ? 0 : 1] ?? mark).replace("-", "−");
}

/**
 * What is said of a number that nobody would write down; empty of others.
 *
 * @type {(told: Told, coordinate: number, words?: Phrases["alone"]) => string}
 */
function inWords({ query, decimals, phrases }, coordinate, words = phrases.beside) {
  const value = valueAt(query, coordinate);
  if (Math.abs(value) >= ENORMOUS) {
    return value > 0 ? words.enormous : words.enormousNegative;
  }
  const tiny = Math.abs(value) < TINY && (value !== 0 || query.transform === "log");
  return decimals === null && tiny ? phrases.nearlyZero : "";
}

/** @type {(query: Query, coordinate: number) => number} */
function valueAt(query, coordinate) {
  return query.transform === "log" ? Math.exp(coordinate) : coordinate;
}

/** @type {(told: Told, coordinate: number, whole?: (x: number) => number) => string} */
function number(told, coordinate, whole = Math.round) {
  const [text, isExact] = rounded(told, coordinate, whole);
  return inWords(told, coordinate) || (isExact ? text : told.phrases.about(text));
}

/**
 * The number in the digits that are shown, and whether they say the same as the number does: rounded down or up to the
 * decimals that values have, they do.
 *
 * @type {(told: Told, coordinate: number, whole: (x: number) => number) => [string, boolean]}
 */
function rounded({ query, decimals, phrases }, coordinate, whole) {
  const value = valueAt(query, coordinate);
  const unit = 10 ** (decimals ?? 0);
  const outwards = whole === Math.ceil ? -NEAR : NEAR; // 0.29 is 28.999999999999996 hundredths
  const near = value * unit * (1 + outwards * Math.sign(value));
  const shown = decimals === null ? Number(value.toPrecision(digitsOf(query))) : whole(near) / unit;
  const keeps = decimals !== null && whole !== Math.round;
  return [inDigits(phrases, shown, decimals), keeps || Math.abs(shown - value) <= NEAR * Math.abs(value)];
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
