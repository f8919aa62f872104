/** The mechanisms that ask about one value of a person, and the strict reading of questions, as in the Python client. */

/** @import { Query } from "./dither.d.ts" */

import { RandomizedResponse, Staircase } from "./cuts.js";
import { InvalidQuery } from "./errors.js";
import { GroupedRandomizedResponse } from "./groups.js";
import { Gaussian, Laplace } from "./intervals.js";
import { JsonNumber } from "./json.js";

/** @typedef {{ new (fields: Record<string, unknown>): Query, fields: readonly string[] }} QueryClass */

/** @type {[string, QueryClass][]} */
export const ORDINARY = [
  ["laplace", Laplace],
  ["randomized_response", RandomizedResponse],
  ["staircase", Staircase],
  ["gaussian", Gaussian],
  ["grouped_randomized_response", GroupedRandomizedResponse],
];
const OF_NUMBERS = ORDINARY.filter(([name]) => name !== "grouped_randomized_response");

/**
 * The question of one of these `kinds` in decoded JSON. Throws `InvalidQuery` for one that no honest server would ask.
 *
 * @param {readonly [string, QueryClass][]} kinds
 * @param {unknown} data
 * @returns {Query}
 */
export function parseKind(kinds, data) {
  if (!(data instanceof Map)) {
    throw new InvalidQuery("a query must be a JSON object");
  }
  const mechanism = data.get("mechanism");
  const [, kind] = kinds.find(([name]) => name === (mechanism instanceof JsonNumber ? null : mechanism)) ?? [];
  if (kind === undefined) {
    throw new InvalidQuery(`mechanism must be one of ${kinds.map(([name]) => name).join(", ")}`);
  }
  const fields = new Map([["transform", "identity"], ...data]);
  fields.delete("mechanism");
  const expected = ["epsilon", "transform", ...kind.fields].sort();
  if (fields.size !== expected.length || !expected.every((name) => fields.has(name))) {
    throw new InvalidQuery(`a ${mechanism} query has exactly the fields ${expected.join(", ")}`);
  }
  return new kind(Object.fromEntries(fields));
}

/**
 * A question about a number, not about a category. Throws `InvalidQuery`.
 *
 * @param {unknown} data
 */
export function parseNumberQuery(data) {
  return parseKind(OF_NUMBERS, data);
}
