/**
 * What a collection's terms promise of its questions: the most that an answer costs, and which questions there may be.
 * Terms never change, so the first that a device was told are the price for good.
 */

/** @import { Price, Query, Terms } from "./dither.d.ts" */

import { epsilonText } from "./epsilon.js";
import { BadResponse, InvalidEpsilon, InvalidQuery, OverCap } from "./errors.js";

/** What else a collection of some mechanism asks: to find its range, to compare families, to check its family. */
/** @type {Record<string, string[]>} */
const BESIDE = { randomized_response: ["laplace"], staircase: ["randomized_response", "laplace"] };
const AT_ONE_CUT = "laplace"; // asked beside others at one level alone

/**
 * The terms as far as a question has to keep to them: a plain object, to be stored as it is.
 *
 * @param {Price} terms
 * @returns {Price}
 */
export function priceOf({ mechanism, transform, microEpsilon, microEpsilonChoices, microRho, levels }) {
  return { mechanism, transform, microEpsilon, microEpsilonChoices, microRho, levels };
}

/**
 * The most that an answer costs whose micro-ε is `chosen`, null where it is left to the collection. Throws
 * `InvalidEpsilon`.
 *
 * @param {Price} price
 * @param {number | null} chosen
 */
export function priceAt({ microEpsilon, microEpsilonChoices }, chosen) {
  const offered = microEpsilonChoices.length > 0 ? microEpsilonChoices : [microEpsilon];
  if (chosen !== null && !offered.includes(chosen)) {
    throw new InvalidEpsilon(`epsilon must be one of ${offered.map(epsilonText).join(", ")} here`);
  }
  return chosen ?? microEpsilon;
}

/**
 * Throws `BadResponse` if the server now says a higher ε than when `price` was told.
 *
 * @param {Price} price
 * @param {Terms} terms
 */
export function checkKept(price, terms) {
  for (const amount of [ownEpsilon, largestEpsilon]) {
    const [said, says] = [amount(price), amount(terms)];
    if (says > said) {
      throw new BadResponse(
        "the server has raised the price of this collection, which never changes: its terms said " +
          `ε = ${epsilonText(said)} and now say ε = ${epsilonText(says)}`,
      );
    }
  }
}

/** @param {Price} price */
function ownEpsilon({ microEpsilon }) {
  return microEpsilon;
}

/** @param {Price} price */
function largestEpsilon({ microEpsilon, microEpsilonChoices }) {
  return Math.max(microEpsilon, ...microEpsilonChoices);
}

/**
 * Throws `OverCap` for a question that costs more than the terms say, `InvalidQuery` for one that they rule out.
 *
 * @param {Price} price
 * @param {Query} query
 * @param {number | null} chosen
 */
export function checkQuestion(price, query, chosen) {
  const [asked, most] = [query.microEpsilon, priceAt(price, chosen)];
  const whose = chosen === null ? "the collection's terms say" : "you chose";
  if (asked > most) {
    throw new OverCap(
      `this question costs ε = ${epsilonText(asked)}, more than the ε = ${epsilonText(most)} that ${whose}`,
    );
  }
  if (chosen !== null && price.microEpsilonChoices.length > 0 && asked !== chosen) {
    const costs = `it is asked at ε = ${epsilonText(asked)}`;
    throw refused(`${costs}, not at the ε = ${epsilonText(chosen)} that ${whose}`);
  }
  checkKind(price, query);
}

/**
 * @param {Price} price
 * @param {Query} query
 */
function checkKind({ mechanism, transform, microRho, levels }, query) {
  if (query.transform !== transform) {
    throw refused(`its transform is ${query.transform}, and the terms say ${transform}`);
  }
  const edges = query.edges.length;
  const beside = Object.hasOwn(BESIDE, mechanism) && BESIDE[mechanism]?.includes(query.mechanism);
  if (query.mechanism !== mechanism && !(beside && (query.mechanism !== AT_ONE_CUT || edges === 1))) {
    throw refused("its mechanism is not the one that the terms say");
  }
  if (query.microRho !== null && (microRho === null || query.microRho > microRho)) {
    const said = microRho === null ? "none" : `ρ = ${epsilonText(microRho)}`;
    throw refused(`it states ρ = ${epsilonText(query.microRho)}, and the terms say ${said}`);
  }
  if (levels !== null && edges > levels) {
    throw refused(`it has ${edges} edges between its cells, and the terms say ${levels} at most`);
  }
}

/** @param {string} reason */
function refused(reason) {
  return new InvalidQuery(`the server's question is refused: ${reason}`);
}
