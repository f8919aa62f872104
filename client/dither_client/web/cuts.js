/** The mechanisms on cells between cuts: an answer is a cell, or a set of cells. */

import { rational } from "./epsilon.js";
import { InvalidQuery } from "./errors.js";
import { MAX_CELLS, Query, checkCuts, checkEpsilon, checkTransform, checkWhole, isIncreasing } from "./query.js";
import { bernoulliExp, systemRandbelow } from "./sampling.js";

const MAX_SETS = 64;
const MAX_WEIGHT = 1_000_000;

/** One's own cell with probability `e^ε / (e^ε + J - 1)`, each other one of the J cells with `1 / (e^ε + J - 1)`. */
export class RandomizedResponse extends Query {
  mechanism = "randomized_response";
  static fields = ["cuts"];

  constructor({ cuts, epsilon, transform }) {
    super();
    if (!Array.isArray(cuts)) {
      throw new InvalidQuery("cuts must be a list of numbers");
    }
    this.edges = checkCuts(cuts, MAX_CELLS);
    this.microEpsilon = checkEpsilon(epsilon);
    this.transform = checkTransform(transform);
  }

  get nAnswers() {
    return this.nCells;
  }

  probability(cell, answer) {
    const other = Math.exp(-this.microEpsilon / 1e6);
    return (cell === answer ? 1 : other) / (1 + (this.nAnswers - 1) * other);
  }

  /** A uniform proposal is accepted if it is one's own cell, and otherwise with probability `exp(-ε)`. */
  sample(cell, randbelow = systemRandbelow) {
    const [numerator, denominator] = rational(this.microEpsilon);
    for (;;) {
      const proposal = Number(randbelow(BigInt(this.nAnswers)));
      if (bernoulliExp(numerator, denominator, randbelow) || proposal === cell) {
        return proposal;
      }
    }
  }

  fields() {
    return { cuts: this.edges };
  }
}

/**
 * Answer `y` stands for the cells in `sets[y]`: with `V = Σ weights` and `c` the weight of the sets that hold a cell,
 * the same for every cell, its probability is `weights[y] / (V + (e^ε - 1) c)`, times `e^ε` if one's own cell is in it.
 */
export class Staircase extends Query {
  mechanism = "staircase";
  static fields = ["cuts", "sets", "weights"];

  constructor({ cuts, sets, weights, epsilon, transform }) {
    super();
    for (const [name, list] of Object.entries({ cuts, sets, weights })) {
      if (!Array.isArray(list)) {
        throw new InvalidQuery(`${name} must be a list`);
      }
    }
    this.edges = checkCuts(cuts, MAX_SETS);
    this.sets = checkSets(sets, this.nCells);
    this.weights = checkWeights(weights, sets.length);
    this.microEpsilon = checkEpsilon(epsilon);
    this.transform = checkTransform(transform);
    const coverages = new Set(Array.from({ length: this.nCells }, (_, cell) => this.coverage(cell)));
    if (coverages.size > 1) {
      throw new InvalidQuery("the weights of the sets that hold a cell must have the same sum for every cell");
    }
  }

  get nAnswers() {
    return this.sets.length;
  }

  coverage(cell) {
    return this.weights.reduce((sum, weight, y) => sum + (this.sets[y].includes(cell) ? weight : 0), 0);
  }

  get total() {
    return this.weights.reduce((sum, weight) => sum + weight, 0);
  }

  probability(cell, answer) {
    const other = Math.exp(-this.microEpsilon / 1e6);
    const total = this.total * other + this.coverage(0) * -Math.expm1(-this.microEpsilon / 1e6);
    return (this.weights[answer] * (this.sets[answer].includes(cell) ? 1 : other)) / total;
  }

  /** A proposal by weight is accepted if it holds one's own cell, and otherwise with probability `exp(-ε)`. */
  sample(cell, randbelow = systemRandbelow) {
    const [numerator, denominator] = rational(this.microEpsilon);
    for (;;) {
      const proposal = this.#proposal(Number(randbelow(BigInt(this.total))));
      if (bernoulliExp(numerator, denominator, randbelow) || this.sets[proposal].includes(cell)) {
        return proposal;
      }
    }
  }

  #proposal(point) {
    let answer = 0;
    for (; point >= this.weights[answer]; answer += 1) {
      point -= this.weights[answer];
    }
    return answer;
  }

  fields() {
    return { cuts: this.edges, sets: this.sets, weights: this.weights };
  }
}

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

/** Whether `first` comes before `second` in the order of lists: by the first item that differs, then by length. */
function isBefore(first, second) {
  for (let i = 0; i < Math.min(first.length, second.length); i += 1) {
    if (first[i] !== second[i]) {
      return first[i] < second[i];
    }
  }
  return first.length < second.length;
}

function checkWeights(weights, nSets) {
  if (weights.length !== nSets) {
    throw new InvalidQuery(`there must be ${nSets} weights, one for each set, not ${weights.length}`);
  }
  const complaint = "weights must be whole numbers from 1 to 1,000,000";
  const checked = weights.map((weight) => checkWhole(weight, 1, MAX_WEIGHT, complaint));
  if (checked.reduce(divisor, 0) > 1) {
    throw new InvalidQuery("weights must have no common divisor");
  }
  return checked;
}

function divisor(a, b) {
  return b === 0 ? a : divisor(b, a % b);
}
