/** The mechanisms on a lattice: clip to an interval, round to one of its points, add integer noise, clip again. */

import { epsilonText, rational } from "./epsilon.js";
import { InvalidQuery } from "./errors.js";
import { clippedLaw, leastMicroEpsilon } from "./gaussian_law.js";
import { JsonNumber } from "./json.js";
import { MAX_CELLS, Query, checkCoordinate, checkEpsilon, checkTransform, isIncreasing, micros } from "./query.js";
import { discreteGaussian, discreteLaplace, systemRandbelow } from "./sampling.js";

const MAX_RHO = 50;

/** `levels + 1` equally spaced points from `low` to `high`; the cell edges are the midpoints between them. */
class IntervalQuery extends Query {
  setInterval({ low, high, levels, transform }) {
    this.levels = checkLevels(levels);
    this.low = checkCoordinate("low", low);
    this.high = checkCoordinate("high", high);
    this.transform = checkTransform(transform);
    const width = this.high - this.low;
    if (this.low >= this.high) {
      throw new InvalidQuery("low must be below high");
    }
    if (!Number.isFinite(width)) {
      throw new InvalidQuery("the interval is too wide");
    }
    this.edges = Array.from({ length: this.levels }, (_, k) => this.low + width * ((2 * k + 1) / (2 * this.levels)));
    if (!isIncreasing([this.low, ...this.edges, this.high])) {
      throw new InvalidQuery("the interval is too narrow for its levels");
    }
  }

  get nAnswers() {
    return this.levels + 1;
  }

  sample(cell, randbelow = systemRandbelow) {
    const moved = BigInt(cell) + this.noise(randbelow);
    return moved < 0n ? 0 : moved > BigInt(this.levels) ? this.levels : Number(moved);
  }

  fields() {
    return { low: this.low, high: this.high, levels: this.levels };
  }
}

function checkLevels(levels) {
  if (!(levels instanceof JsonNumber && levels.isInteger)) {
    throw new InvalidQuery("levels must be an integer");
  }
  if (!(1 <= levels.value && levels.value <= MAX_CELLS)) {
    throw new InvalidQuery(`levels must be 1 to ${MAX_CELLS}`);
  }
  return levels.value;
}

/** Noise `P(Z = z)` proportional to `exp(-ε |z| / levels)`. */
export class Laplace extends IntervalQuery {
  mechanism = "laplace";
  static fields = ["low", "high", "levels"];

  constructor(fields) {
    super();
    this.microEpsilon = checkEpsilon(fields.epsilon);
    this.setInterval(fields);
  }

  probability(cell, answer) {
    const rate = this.microEpsilon / 1e6 / this.levels;
    const inner = 0 < answer && answer < this.levels;
    return Math.exp(-rate * Math.abs(cell - answer)) * (inner ? Math.tanh(rate / 2) : 1 / (1 + Math.exp(-rate)));
  }

  noise(randbelow) {
    const [numerator, denominator] = rational(this.microEpsilon);
    return discreteLaplace(numerator, denominator * BigInt(this.levels), randbelow);
  }
}

/**
 * Noise `P(Z = z)` proportional to `exp(-z² / (2σ²))`, σ² = levels² / (2ρ). The answer is clipped, so it has a pure ε,
 * which is what it costs: a question that states less is refused.
 */
export class Gaussian extends IntervalQuery {
  mechanism = "gaussian";
  static fields = ["low", "high", "levels", "rho"];
  #law = null;

  constructor(fields) {
    super();
    this.setInterval(fields);
    const rho = micros(fields.rho, "rho");
    this.microEpsilon = checkEpsilon(fields.epsilon);
    if (rho > MAX_RHO * 1e6) {
      throw new InvalidQuery(`rho must be above 0 and at most ${MAX_RHO}`);
    }
    this.microRho = Number(rho);
    const least = leastMicroEpsilon(this.levels, this.microRho);
    if (this.microEpsilon < least) {
      const text = `the pure ε of ${this.levels} levels with this rho`;
      throw new InvalidQuery(`epsilon must be at least ${epsilonText(least)}, ${text}`);
    }
  }

  probability(cell, answer) {
    this.#law ??= clippedLaw(this.levels, this.microRho);
    const distance = Math.abs(cell - answer);
    return 0 < answer && answer < this.levels ? this.#law.inner[distance] : this.#law.tails[distance];
  }

  noise(randbelow) {
    const [numerator, denominator] = rational(this.microRho);
    return discreteGaussian(BigInt(this.levels) ** 2n * denominator, 2n * numerator, randbelow);
  }

  fields() {
    return { ...super.fields(), rho: this.microRho / 1e6 };
  }
}
