/** Questions and answers in words, to be shown after the answer was sent. Numbers are on the value's own scale. */

/** @import { Odds, Phrases, Query } from "./dither.d.ts" */

import { ComponentQuery, JointQuery } from "./components.js";
import { Staircase } from "./cuts.js";
import { GroupedRandomizedResponse } from "./groups.js";
import { IntervalQuery } from "./intervals.js";
import { jointQuestionText, statesText } from "./joint_words.js";
import { phrasesOf } from "./phrases.js";
import { aboveText, inWords, number, rangesText, rounded } from "./ranges.js";

/** @typedef {readonly import("./dither.d.ts").Told[]} Names the numbers that each person has */

/**
 * @typedef {object} Told a question, and how its values are written
 * @property {Query} query
 * @property {readonly string[]} categories
 * @property {number | null} decimals
 * @property {Phrases} phrases
 * @property {string | null} [unit] of the values, such as `€ a week`
 */

/**
 * The question, as a sentence in a language that there is, or else in English. Values that have at most so many `decimals`
 * are above an edge exactly if they are above the number that is shown for it; of a number that is rounded otherwise it
 * says so. Of several numbers, `components` are those of the terms. Numbers are followed by the `unit`.
 *
 * @param {Query} query
 * @param {readonly string[]} categories
 * @param {number | null} decimals
 * @param {string} language
 * @param {Names} components
 * @param {string | null} unit
 * @returns {string}
 */
export function questionText(query, categories = [], decimals = null, language = "en", components = [], unit = "") {
  const told = { query, categories, decimals, phrases: phrasesOf(language), unit };
  const { phrases } = told;
  if (query instanceof ComponentQuery) {
    const { name, ...its } = named(components, query, phrases);
    return `${phrases.quoted(name)}: ${questionText(query.query, categories, its.decimals, language, [], its.unit)}`;
  }
  if (query instanceof JointQuery) {
    return jointQuestionText({ query, components, phrases });
  }
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
 * @param {Names} components
 * @param {string | null} unit
 * @returns {string}
 */
export function answerText(
  query,
  answer,
  categories = [],
  decimals = null,
  language = "en",
  components = [],
  unit = "",
) {
  const told = { query, categories, decimals, phrases: phrasesOf(language), unit };
  const { phrases } = told;
  if (query instanceof ComponentQuery) {
    const its = named(components, query, phrases);
    return answerText(query.query, answer, categories, its.decimals, language, [], its.unit);
  }
  if (query instanceof JointQuery) {
    return statesText({ query, components, phrases }, cellsOf(query.channel, answer));
  }
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
 * is at most `exp(ε)`, and neither depends on the sender's own value. Of a question about several numbers, `who` is the true
 * answer to it.
 *
 * @param {Query} query
 * @param {number} answer
 * @param {readonly string[]} categories
 * @param {number | null} decimals
 * @param {string} language
 * @param {Names} components
 * @param {string | null} unit
 * @returns {[Odds, Odds]}
 */
export function odds(query, answer, categories = [], decimals = null, language = "en", components = [], unit = "") {
  const phrases = phrasesOf(language);
  if (query instanceof ComponentQuery) {
    const its = named(components, query, phrases);
    return odds(query.query, answer, categories, its.decimals, language, [], its.unit);
  }
  const told = { query, categories, decimals, phrases, unit };
  const column = Array.from({ length: query.nCells }, (_, cell) => query.probability(cell, answer));
  /** @param {number} probability */
  const of = (probability) => {
    const cells = column.flatMap((p, cell) => (Math.abs(p - probability) <= 1e-12 ? [cell] : []));
    const who =
      query instanceof JointQuery ? statesText({ query, components, phrases }, cells) : cellsText(told, cells);
    return { who, probability };
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
  return rangesText(told, cells);
}

/**
 * The number that a question is about, by its place where its name is not known.
 *
 * @type {(components: Names, query: ComponentQuery, phrases: Phrases) => Names[number]}
 */
function named(components, { component }, phrases) {
  return components[component] ?? { name: phrases.component(component + 1), decimals: null };
}
