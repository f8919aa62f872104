/**
 * The distribution of the clipped discrete Gaussian, `P(Z = z)` proportional to `exp(-a z²)` with `a = ρ / levels²`, in
 * integer multiples of 2^-320, rounded outwards: bounds are pairs `[lower, upper]`.
 *
 * The pure ε of the clipped answers is `log(P(Z ≥ 0) / P(Z ≥ levels))`: the end answers attain it.
 */

import { squareRoot } from "./sampling.js";

/** @typedef {[bigint, bigint]} Bounds */

const BITS = 320n;
const ONE = 1n << BITS;
const EXPONENTIAL_ERROR = 1n << 32n;
const MICRO = 1_000_000n;
const MAX_MICRO_EPSILON = 100_000_000n; // of any question with ρ of at most 50 and at most 1,024 levels
const STEEP_TERMS = 52; // at rates of 1/16 and more, the next weight is below exp(-169)

/**
 * The smallest micro-ε that is provably at least the pure ε of `levels` levels at `microRho`.
 *
 * @type {(levels: number, microRho: number) => number}
 */
export function leastMicroEpsilon(levels, microRho) {
  const { first, last } = tailBounds(levels, microRho);
  let [low, high] = [0n, MAX_MICRO_EPSILON];
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    const [, decay] = exponential(middle, MICRO);
    if (timesUp(decay, first[1]) <= last[0]) {
      high = middle;
    } else {
      low = middle;
    }
  }
  return Number(high);
}

/**
 * The probabilities of the noise: `tails[d]` is `P(Z ≥ d)` for `d = 0..levels`, `inner[d]` is `P(Z = d)` for `d < levels`.
 *
 * @type {(levels: number, microRho: number) => { tails: number[], inner: number[] }}
 */
export function clippedProbabilities(levels, microRho) {
  const { tails, inner, total } = tailBounds(levels, microRho);
  /** @param {bigint} weight */
  const probability = (weight) => Number((weight << 200n) / total[0]) / 2 ** 200;
  return { tails: tails.map(([lower]) => probability(lower)), inner: inner.map(([, upper]) => probability(upper)) };
}

/**
 * Bounds on `T(d) = Σ_{z ≥ d} exp(-a z²)` for `d = 0..levels`, on the first and the last of these, on `exp(-a z²)` for
 * `z = 0..levels - 1`, and on the sum over all z.
 *
 * @type {(levels: number, microRho: number) => { tails: Bounds[], first: Bounds, last: Bounds, inner: Bounds[], total: Bounds }}
 */
function tailBounds(levels, microRho) {
  /** @type {[bigint, bigint]} */
  const rate = [BigInt(microRho), MICRO * BigInt(levels) ** 2n];
  const total = totalBounds(...rate);
  const inner = weights(...rate, levels);
  /** @type {Bounds} */
  const first = [(total[0] + ONE) / 2n, (total[1] + ONE + 1n) / 2n]; // the weights are symmetric, and that of 0 is 1
  let last = first;
  const tails = [first];
  for (const [lower, upper] of inner) {
    last = [last[0] - upper, last[1] - lower];
    tails.push(last);
  }
  return { tails, first, last, inner, total };
}

/** @type {(numerator: bigint, denominator: bigint) => Bounds} */
function totalBounds(numerator, denominator) {
  if (16n * numerator < denominator) {
    // Poisson's formula: sqrt(π/a) (1 + 2 Σ_{k ≥ 1} exp(-π² k² / a)), and that sum is below exp(-157) < 2^-226 here.
    const [lowerPi, upperPi] = piBounds();
    const lower = squareRoot((lowerPi * ONE * denominator) / numerator);
    const upper = squareRoot((upperPi * ONE * denominator) / numerator + 1n) + 1n;
    return [lower, upper + (upper >> 224n) + 1n];
  }
  let [lower, upper, last] = [0n, 0n, 0n];
  for (const weight of weights(numerator, denominator, STEEP_TERMS + 1).slice(1)) {
    [lower, upper, last] = [lower + weight[0], upper + weight[1], weight[1]];
  }
  // From there on each weight is below half of the previous one, so the rest is below the last one.
  return [ONE + 2n * lower, ONE + 2n * (upper + last)];
}

/**
 * `exp(-a z²)` for `z = 0, …, count - 1`, each computed from the previous one by the factor `exp(-a (2z + 1))`.
 *
 * @type {(numerator: bigint, denominator: bigint, count: number) => Bounds[]}
 */
function weights(numerator, denominator, count) {
  let factor = exponential(numerator, denominator);
  const square = exponential(2n * numerator, denominator);
  /** @type {Bounds} */
  let weight = [ONE, ONE];
  return Array.from({ length: count }, () => {
    const current = weight;
    weight = product(weight, factor);
    factor = product(factor, square);
    return current;
  });
}

/** @type {(first: Bounds, second: Bounds) => Bounds} */
function product(first, second) {
  return [(first[0] * second[0]) >> BITS, timesUp(first[1], second[1])];
}

/** @type {(first: bigint, second: bigint) => bigint} */
function timesUp(first, second) {
  return ((first * second) >> BITS) + 1n;
}

/**
 * Bounds on `exp(-x)` for a rational `x >= 0`. Taylor's series at `x / 2^k`, at most 1/256, has an error below 64 units;
 * each of the `k` squarings at most doubles that and adds two units, and `k` is below 20.
 *
 * @type {(numerator: bigint, denominator: bigint) => Bounds}
 */
function exponential(numerator, denominator) {
  let halvings = 0n;
  while (256n * numerator > denominator << halvings) {
    halvings += 1n;
  }
  const x = (numerator * ONE) / (denominator << halvings);
  let value = 0n;
  for (let [term, k] = [ONE, 1n]; term !== 0n; term = -((term * x) / (k * ONE)), k += 1n) {
    value += term;
  }
  for (let i = 0n; i < halvings; i += 1n) {
    value = (value * value) >> BITS;
  }
  return [value > EXPONENTIAL_ERROR ? value - EXPONENTIAL_ERROR : 0n, value + EXPONENTIAL_ERROR];
}

/**
 * Bounds on π by Machin's formula, `16 arctan(1/5) - 4 arctan(1/239)`: each of 300 terms has an error below one unit.
 *
 * @returns {Bounds}
 */
function piBounds() {
  const pi = 16n * arctanOfInverse(5n) - 4n * arctanOfInverse(239n);
  return [pi - EXPONENTIAL_ERROR, pi + EXPONENTIAL_ERROR];
}

/** @param {bigint} n */
function arctanOfInverse(n) {
  let sum = 0n;
  for (let [power, k] = [ONE / n, 1n]; power !== 0n; power = -power / (n * n), k += 2n) {
    sum += power / k;
  }
  return sum;
}
