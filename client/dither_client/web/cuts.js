/** The mechanisms on cells between cuts: an answer is a cell, or a set of cells. */

/** @import { RandBelow } from "./dither.d.ts" */

import { rational } from "./epsilon.js";
import { InvalidQuery } from "./errors.js";
import { MAX_CELLS, Query, checkCuts, checkEpsilon, checkTransform, checkWhole, isIncreasing } from "./query.js";
import { bernoulliExp, systemRandbelow } from "./sampling.js";

const MAX_SETS = 64;
const MAX_WEIGHT = 1_000_000;

/**
 * Draws one of `0..size-1`: a uniform proposal is accepted if it is one's own, and otherwise with probability `exp(-ε)`.
 *
 * @type {(own: number, size: number, microEpsilon: number, randbelow: RandBelow) => number}
 */
export function randomizedResponse(own, size, microEpsilon, randbelow) {
  const [numerator, denominator] = rational(microEpsilon);
  for (;;) {
    const proposal = Number(randbelow(BigInt(size)));
    if (bernoulliExp(numerator, denominator, randbelow) || proposal === own) {
      return proposal;
    }
  }
}

/** Answers with one's own cell with probability `e^ε / (e^ε + J - 1)`, with each other cell with `1 / (e^ε + J - 1)`. */
export class RandomizedResponse extends Query {
  static fields = ["cuts"];

  /** @param {Record<string, unknown>} fields */
  constructor({ cuts, epsilon, transform }) {
    if (!Array.isArray(cuts)) {
      throw new InvalidQuery("cuts must be a list of numbers");
    }
    super("randomized_response", {
      edges: checkCuts(cuts, MAX_CELLS),
      microEpsilon: checkEpsilon(epsilon),
      transform: checkTransform(transform),
    });
  }

  get nAnswers() {
    return this.nCells;
  }

  /** @type {(cell: number, answer: number) => number} */
  probability(cell, answer) {
    const other = Math.exp(-this.microEpsilon / 1e6);
    return (cell === answer ? 1 : other) / (1 + (this.nAnswers - 1) * other);
  }

  /**
   * @param {number} cell
   * @param {RandBelow} randbelow
   */
  sample(cell, randbelow = systemRandbelow) {
    return randomizedResponse(cell, this.nAnswers, this.microEpsilon, randbelow);
  }

  fields() {
    return { cuts: this.edges };
  }
}

/**
 * Answer `y` stands for the cells in `sets[y]`. Its probability is `weights[y] / (V + (e^ε - 1) c)`, times `e^ε` if one's
 * own cell is in the set, where `V = Σ weights` and `c` is the weight of the sets that hold a cell, equal for all cells.
 */
export class Staircase extends Query {
  static fields = ["cuts", "sets", "weights"];

  /** @param {Record<string, unknown>} fields */
  constructor({ cuts, sets, weights, epsilon, transform }) {
    const lists = {
      cuts: checkList("cuts", cuts),
      sets: checkList("sets", sets),
      weights: checkList("weights", weights),
    };
    const edges = checkCuts(lists.cuts, MAX_SETS);
    const checked = checkSets(lists.sets, edges.length + 1);
    const weighed = checkWeights(lists.weights, checked.length);
    super("staircase", { edges, microEpsilon: checkEpsilon(epsilon), transform: checkTransform(transform) });
    this.sets = checked;
    this.weights = weighed;
    const coverages = new Set(Array.from({ length: this.nCells }, (_, cell) => this.coverage(cell)));
    if (coverages.size > 1) {
      throw new InvalidQuery("the weights of the sets that hold a cell must have the same sum for every cell");
    }
  }

  get nAnswers() {
    return this.sets.length;
  }

  /** @param {number} cell */
  coverage(cell) {
    return this.weights.reduce((sum, weight, y) => sum + (this.holds(y, cell) ? weight : 0), 0);
  }

  get total() {
    return this.weights.reduce((sum, weight) => sum + weight, 0);
  }

  /** @type {(answer: number, cell: number) => boolean} */
  holds(answer, cell) {
    return this.sets[answer]?.includes(cell) ?? false;
  }

  /** @type {(cell: number, answer: number) => number} */
  probability(cell, answer) {
    const other = Math.exp(-this.microEpsilon / 1e6);
    const total = this.total * other + this.coverage(0) * -Math.expm1(-this.microEpsilon / 1e6);
    return ((this.weights[answer] ?? 0) * (this.holds(answer, cell) ? 1 : other)) / total;
  }

  /**
   * Draws an answer: a proposal by weight is accepted if it holds the own cell, otherwise with probability `exp(-ε)`.
   *
   * @param {number} cell
   * @param {RandBelow} randbelow
   */
  sample(cell, randbelow = systemRandbelow) {
    const [numerator, denominator] = rational(this.microEpsilon);
    for (;;) {
      const proposal = this.#proposal(Number(randbelow(BigInt(this.total))));
      if (bernoulliExp(numerator, denominator, randbelow) || this.holds(proposal, cell)) {
        return proposal;
      }
    }
  }

  /** @param {number} point */
  #proposal(point) {
    let answer = 0;
    for (const weight of this.weights) {
      if (point < weight) {
        break;
      }
      point -= weight;
      answer += 1;
    }
    return answer;
  }

  fields() {
    return { cuts: this.edges, sets: this.sets, weights: this.weights };
  }
}

/** @type {(name: string, list: unknown) => unknown[]} */
function checkList(name, list) {
  if (!Array.isArray(list)) {
    throw new InvalidQuery(`${name} must be a list`);
  }
  return list;
}

/** @type {(sets: unknown[], nCells: number) => number[][]} */
function checkSets(sets, nCells) {
  if (!(2 <= sets.length && sets.length <= MAX_SETS)) {
    throw new InvalidQuery(`there must be 2 to ${MAX_SETS} sets, not ${sets.length}`);
  }
  const checked = sets.map((set) => checkSet(set, nCells));
  if (!isIncreasing(checked, isBefore)) {
    throw new InvalidQuery("the sets must differ and be in increasing order");
  }
  return checked;
}

/** @type {(set: unknown, nCells: number) => number[]} */
function checkSet(set, nCells) {
  if (!Array.isArray(set)) {
    throw new InvalidQuery("each set must be a list of cells");
  }
  const complaint = `each set must hold whole numbers from 0 to ${nCells - 1}`;
  const cells = set.map((cell) => checkWhole(cell, 0, nCells - 1, complaint));
  if (!isIncreasing(cells)) {
    throw new InvalidQuery("the cells of a set must increase strictly");
  }
  if (!(0 < cells.length && cells.length < nCells)) {
    throw new InvalidQuery("each set must hold some of the cells, but not all of them");
  }
  return cells;
}

/**
 * Whether `first` comes before `second` in the order of lists: by the first item that differs, then by length.
 *
 * @type {(first: number[], second: number[]) => boolean}
 */
function isBefore(first, second) {
  for (const [i, item] of first.entries()) {
    const other = second[i];
    if (other !== undefined && item !== other) {
      return item < other;
    }
  }
  return first.length < second.length;
}

/** @type {(weights: unknown[], nSets: number) => number[]} */
function checkWeights(weights, nSets) {
  if (weights.length !== nSets) {
    throw new InvalidQuery(`there must be ${nSets} weights, one for each set, not ${weights.length}`);
  }
  const complaint = "weights must be whole numbers from 1 to 1,000,000";
  const checked = weights.map((weight) => checkWhole(weight, 1, MAX_WEIGHT, complaint));
  if (checked.reduce((common, weight) => divisor(common, weight), 0) > 1) {
    throw new InvalidQuery("weights must have no common divisor");
  }
  return checked;
}

/** @type {(a: number, b: number) => number} */
function divisor(a, b) {
  return b === 0 ? a : divisor(b, a % b);
}
