/** Questions about which of some states several numbers are in, and these states, in words. */

/** @import { JointQuery } from "./components.js" */
/** @import { Phrases, Told } from "./dither.d.ts" */

import { aboveText, rangesText } from "./ranges.js";

/**
 * @typedef {object} ToldJoint a question about several numbers, and what they are called
 * @property {JointQuery} query
 * @property {readonly Told[]} components
 * @property {Phrases} phrases
 */

/** @param {ToldJoint} told */
export function jointQuestionText(told) {
  const { query, phrases } = told;
  const numbers = query.about.map((_, i) => i);
  if (query.states === "cells") {
    const listed = numbers.map((i) => {
      const { name, scale } = numberOf(told, i);
      const ranges = Array.from({ length: scale.query.edges.length + 1 }, (_, cell) => rangesText(scale, [cell]));
      return `${name} ${ranges.join(", ")}`;
    });
    return phrases.combinations(listed.join("; "));
  }
  const statements = numbers.map((i) => {
    const { name, scale } = numberOf(told, i);
    return phrases.statement(name, aboveText(scale, scale.query.edges[0] ?? NaN));
  });
  return query.states === "same_side"
    ? phrases.sameSide(statements.join("; "))
    : phrases.oddOneOut(statements.join("; "));
}

/**
 * What is so of people who are in one of these states.
 *
 * @type {(told: ToldJoint, states: readonly number[]) => string}
 */
export function statesText(told, states) {
  const { query, phrases } = told;
  if (query.states === "cells") {
    return combinationsText(told, states);
  }
  /** @param {number} state */
  const text = (state) => {
    if (query.states === "same_side") {
      return state === 1 ? phrases.yes : phrases.no;
    }
    return state === 0 ? phrases.noneOfThem : numberOf(told, state - 1).name;
  };
  return states.map(text).join(phrases.or);
}

/**
 * The cells of the plane: those of the first number that have the same ones of the second are told together.
 *
 * @type {(told: ToldJoint, states: readonly number[]) => string}
 */
function combinationsText(told, states) {
  const [first, second] = [numberOf(told, 0), numberOf(told, 1)];
  const columns = second.scale.query.edges.length + 1;
  /** @type {Map<string, { rows: number[], beside: number[] }>} */
  const alike = new Map();
  for (let row = 0; row <= first.scale.query.edges.length; row += 1) {
    const beside = states.filter((state) => Math.floor(state / columns) === row).map((state) => state % columns);
    const known = alike.get(beside.join());
    if (known) {
      known.rows.push(row);
    } else if (beside.length > 0) {
      alike.set(beside.join(), { rows: [row], beside });
    }
  }
  return [...alike.values()]
    .map(({ rows, beside }) => {
      const all = beside.length === columns;
      const also = all ? "" : `, ${second.name} ${rangesText(second.scale, beside)}`;
      return `${first.name} ${rangesText(first.scale, rows)}${also}`;
    })
    .join("; ");
}

/**
 * The name of one of the question's numbers, in quotation marks, and how its values are written.
 *
 * @type {(told: ToldJoint, i: number) => { name: string, scale: import("./ranges.js").Scale }}
 */
function numberOf({ query, components, phrases }, i) {
  const component = query.about[i] ?? 0;
  const unknown = { name: phrases.component(component + 1), decimals: null, unit: undefined };
  const { name, decimals, unit } = components[component] ?? unknown;
  const edges = { edges: query.cuts[i] ?? [], transform: query.transforms[i] ?? "identity" };
  return { name: phrases.quoted(name), scale: { query: edges, decimals, phrases, unit } };
}
