/** Parsing of questions, as strict as in the Python client. */

/** @import { Query } from "./dither.d.ts" */

import { RandomizedResponse, Staircase } from "./cuts.js";
import { InvalidQuery } from "./errors.js";
import { GroupedRandomizedResponse } from "./groups.js";
import { Gaussian, Laplace } from "./intervals.js";
import { JsonNumber } from "./json.js";

/** @typedef {typeof Laplace | typeof RandomizedResponse | typeof Staircase | typeof Gaussian | typeof GroupedRandomizedResponse} Kind */

/** @type {[unknown, Kind][]} */
const NAMED = [
  ["laplace", Laplace],
  ["randomized_response", RandomizedResponse],
  ["staircase", Staircase],
  ["gaussian", Gaussian],
  ["grouped_randomized_response", GroupedRandomizedResponse],
];
const KINDS = new Map(NAMED);

/**
 * The question in decoded JSON. Throws `InvalidQuery` for one that no honest server would ask.
 *
 * @param {unknown} data
 * @returns {Query}
 */
export function parseQuery(data) {
  if (!(data instanceof Map)) {
    throw new InvalidQuery("a query must be a JSON object");
  }
  const mechanism = data.get("mechanism");
  const kind = KINDS.get(mechanism instanceof JsonNumber ? null : mechanism);
  if (kind === undefined) {
    throw new InvalidQuery(`mechanism must be one of ${[...KINDS.keys()].join(", ")}`);
  }
  const fields = new Map([["transform", "identity"], ...data]);
  fields.delete("mechanism");
  const expected = ["epsilon", "transform", ...kind.fields].sort();
  if (fields.size !== expected.length || !expected.every((name) => fields.has(name))) {
    throw new InvalidQuery(`a ${mechanism} query has exactly the fields ${expected.join(", ")}`);
  }
  return new kind(Object.fromEntries(fields));
}
