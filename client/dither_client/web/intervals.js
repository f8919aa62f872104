/** The mechanisms on a lattice: they clip to an interval, round to one of its points, add integer noise and clip again. */

/** @import { Asked } from "./query.js" */
/** @import { Mechanism, RandBelow } from "./dither.d.ts" */

import { epsilonText, rational } from "./epsilon.js";
import { InvalidQuery } from "./errors.js";
import { clippedProbabilities, leastMicroEpsilon } from "./gaussian_epsilon.js";
import { JsonNumber } from "./json.js";
import { MAX_CELLS, Query, checkCoordinate, checkEpsilon, checkTransform, isIncreasing, micros } from "./query.js";
import { discreteGaussian, discreteLaplace, systemRandbelow } from "./sampling.js";

const MAX_RHO = 50;

/** `levels + 1` equally spaced points from `low` to `high`; the cell edges are the midpoints between them. */
export class IntervalQuery extends Query {
  /**
   * @param {Mechanism} mechanism
   * @param {Asked & { low: number, high: number, levels: number }} asked
   */
  constructor(mechanism, { low, high, levels, ...asked }) {
    super(mechanism, asked);
    this.low = low;
    this.high = high;
    this.levels = levels;
  }

  get nAnswers() {
    return this.levels + 1;
  }

  /**
   * The answer for `cell`: the cell moved by the noise, and clipped.
   *
   * @type {(cell: number, noise: bigint) => number}
   */
  moved(cell, noise) {
    const moved = BigInt(cell) + noise;
    return moved < 0n ? 0 : moved > BigInt(this.levels) ? this.levels : Number(moved);
  }

  fields() {
    return { low: this.low, high: this.high, levels: this.levels };
  }
}

/** @param {Record<string, unknown>} fields */
function checkInterval(fields) {
  const levels = checkLevels(fields.levels);
  const low = checkCoordinate("low", fields.low);
  const high = checkCoordinate("high", fields.high);
  const transform = checkTransform(fields.transform);
  const width = high - low;
  if (low >= high) {
    throw new InvalidQuery("low must be below high");
  }
  if (!Number.isFinite(width)) {
    throw new InvalidQuery("the interval is too wide");
  }
  const edges = Array.from({ length: levels }, (_, k) => low + width * ((2 * k + 1) / (2 * levels)));
  if (!isIncreasing([low, ...edges, high])) {
    throw new InvalidQuery("the interval is too narrow for its levels");
  }
  return { low, high, levels, edges, transform };
}

/** @param {unknown} levels */
function checkLevels(levels) {
  if (!(levels instanceof JsonNumber && levels.isInteger)) {
    throw new InvalidQuery("levels must be an integer");
  }
  if (!(1 <= levels.value && levels.value <= MAX_CELLS)) {
    throw new InvalidQuery(`levels must be 1 to ${MAX_CELLS}`);
  }
  return levels.value;
}

/** Adds noise with `P(Z = z)` proportional to `exp(-ε |z| / levels)`. */
export class Laplace extends IntervalQuery {
  static fields = ["low", "high", "levels"];

  /** @param {Record<string, unknown>} fields */
  constructor(fields) {
    super("laplace", { microEpsilon: checkEpsilon(fields.epsilon), ...checkInterval(fields) });
  }

  /** @type {(cell: number, answer: number) => number} */
  probability(cell, answer) {
    const rate = this.microEpsilon / 1e6 / this.levels;
    const inner = 0 < answer && answer < this.levels;
    return Math.exp(-rate * Math.abs(cell - answer)) * (inner ? Math.tanh(rate / 2) : 1 / (1 + Math.exp(-rate)));
  }

  /**
   * @param {number} cell
   * @param {RandBelow} randbelow
   */
  sample(cell, randbelow = systemRandbelow) {
    const [numerator, denominator] = rational(this.microEpsilon);
    return this.moved(cell, discreteLaplace(numerator, denominator * BigInt(this.levels), randbelow));
  }
}

/**
 * Adds noise with `P(Z = z)` proportional to `exp(-z² / (2σ²))`, σ² = levels² / (2ρ). The answer is clipped, so it has a
 * pure ε, which is its cost: a question that states less is refused.
 */
export class Gaussian extends IntervalQuery {
  static fields = ["low", "high", "levels", "rho"];
  /** @type {ReturnType<typeof clippedProbabilities> | null} */
  #probabilities = null;
  #rho; // in millionths

  /** @param {Record<string, unknown>} fields */
  constructor(fields) {
    const interval = checkInterval(fields);
    const rho = micros(fields.rho, "rho");
    const microEpsilon = checkEpsilon(fields.epsilon);
    if (rho > MAX_RHO * 1e6) {
      throw new InvalidQuery(`rho must be above 0 and at most ${MAX_RHO}`);
    }
    const microRho = Number(rho);
    const least = leastMicroEpsilon(interval.levels, microRho);
    if (microEpsilon < least) {
      const text = `the pure ε of ${interval.levels} levels with this rho`;
      throw new InvalidQuery(`epsilon must be at least ${epsilonText(least)}, ${text}`);
    }
    super("gaussian", { microEpsilon, ...interval });
    this.microRho = microRho;
    this.#rho = microRho;
  }

  /** @type {(cell: number, answer: number) => number} */
  probability(cell, answer) {
    this.#probabilities ??= clippedProbabilities(this.levels, this.#rho);
    const distance = Math.abs(cell - answer);
    const probabilities = 0 < answer && answer < this.levels ? this.#probabilities.inner : this.#probabilities.tails;
    return probabilities[distance] ?? 0;
  }

  /**
   * @param {number} cell
   * @param {RandBelow} randbelow
   */
  sample(cell, randbelow = systemRandbelow) {
    const [numerator, denominator] = rational(this.#rho);
    const [above, below] = [BigInt(this.levels) ** 2n * denominator, 2n * numerator];
    return this.moved(cell, discreteGaussian(above, below, randbelow));
  }

  /** @override */
  fields() {
    return { ...super.fields(), rho: this.#rho / 1e6 };
  }
}
