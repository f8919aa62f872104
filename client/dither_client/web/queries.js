/** Every mechanism by its name on the wire, and the reading of questions. */

/** @import { QueryClass } from "./ordinary.js" */

import { ComponentQuery, JointQuery } from "./components.js";
import { ORDINARY, parseKind } from "./ordinary.js";

/** @type {[string, QueryClass][]} */
const ALL = [...ORDINARY, ["component", ComponentQuery], ["joint", JointQuery]];

/**
 * The question in decoded JSON. Throws `InvalidQuery` for one that no honest server would ask.
 *
 * @param {unknown} data
 */
export function parseQuery(data) {
  return parseKind(ALL, data);
}
