/**
 * Exact samplers in integers, from the browser's cryptographic generator. Nothing here touches floating point, so the
 * distributions are exact and no low-order bit can leak (Mironov 2012). Algorithms 1 to 3 of Canonne, Kamath &
 * Steinke, *The discrete Gaussian for differential privacy*, 2020.
 *
 * A `randbelow(n)` is uniform on `0..n-1`, for a BigInt `n >= 1n`.
 */

/** @import { RandBelow } from "./dither.d.ts" */

/**
 * A `randbelow` that takes its bytes from `fill(bytes)`: as many as the bits of `n` need, highest first. Surplus bits at
 * the lower end are dropped, and a number that is not below `n` is drawn again.
 *
 * @param {(bytes: Uint8Array<ArrayBuffer>) => void} fill
 * @returns {RandBelow}
 */
export function uniform(fill) {
  return (n) => {
    const bits = n.toString(2).length;
    const bytes = new Uint8Array(Math.ceil(bits / 8));
    for (;;) {
      fill(bytes);
      const drawn = bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n) >> BigInt(8 * bytes.length - bits);
      if (drawn < n) {
        return drawn;
      }
    }
  };
}

export const systemRandbelow = uniform((bytes) => crypto.getRandomValues(bytes));

/**
 * True with probability exactly `exp(-numerator / denominator)`, for a rational that is at least 0.
 *
 * @type {(numerator: bigint, denominator: bigint, randbelow: RandBelow) => boolean}
 */
export function bernoulliExp(numerator, denominator, randbelow) {
  for (; numerator > denominator; numerator -= denominator) {
    if (!bernoulliExpUnit(1n, 1n, randbelow)) {
      return false;
    }
  }
  return bernoulliExpUnit(numerator, denominator, randbelow);
}

/**
 * Does what `bernoulliExp` does for a rational in [0, 1], by the alternating series of exp.
 *
 * @type {(numerator: bigint, denominator: bigint, randbelow: RandBelow) => boolean}
 */
function bernoulliExpUnit(numerator, denominator, randbelow) {
  let k = 1n;
  while (randbelow(denominator * k) < numerator) {
    k += 1n;
  }
  return k % 2n === 1n;
}

/**
 * An integer Z with `P(Z = z)` proportional to `exp(-|z| numerator / denominator)`, both positive.
 *
 * @type {(numerator: bigint, denominator: bigint, randbelow: RandBelow) => bigint}
 */
export function discreteLaplace(numerator, denominator, randbelow) {
  for (;;) {
    const u = randbelow(denominator);
    if (!bernoulliExpUnit(u, denominator, randbelow)) {
      continue;
    }
    let v = 0n;
    while (bernoulliExpUnit(1n, 1n, randbelow)) {
      v += 1n;
    }
    const magnitude = (u + denominator * v) / numerator;
    const negative = randbelow(2n) === 1n;
    if (!(negative && magnitude === 0n)) {
      return negative ? -magnitude : magnitude;
    }
  }
}

/**
 * An integer Z with `P(Z = z)` proportional to `exp(-z² / (2σ²))`; σ² is `numerator / denominator`, above 0.
 *
 * @type {(numerator: bigint, denominator: bigint, randbelow: RandBelow) => bigint}
 */
export function discreteGaussian(numerator, denominator, randbelow) {
  const t = squareRoot(numerator / denominator) + 1n; // floor(σ) + 1
  for (;;) {
    const proposal = discreteLaplace(1n, t, randbelow);
    const magnitude = proposal < 0n ? -proposal : proposal;
    const excess = magnitude * denominator * t - numerator;
    if (bernoulliExp(excess * excess, 2n * numerator * denominator * t * t, randbelow)) {
      return proposal;
    }
  }
}

/**
 * The largest integer whose square is at most `n`.
 *
 * @param {bigint} n
 */
export function squareRoot(n) {
  if (n < 2n) {
    return n;
  }
  let root = 1n << BigInt(Math.ceil(n.toString(2).length / 2));
  for (;;) {
    const next = (root + n / root) >> 1n;
    if (next >= root) {
      return root;
    }
    root = next;
  }
}
