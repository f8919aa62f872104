/**
 * Chances of the answers 0..levels of the cell `k`: the clipped two-sided geometric distribution of `laplace`.
 *
 * @type {(k: number, levels: number, epsilon: number) => number[]}
 */
export function chances(k, levels, epsilon) {
  const alpha = Math.exp(-epsilon / levels);
  /** @param {number} s */
  const inner = (s) => ((1 - alpha) / (1 + alpha)) * alpha ** Math.abs(k - s);
  return Array.from({ length: levels + 1 }, (_, s) =>
    s === 0 ? alpha ** k / (1 + alpha) : s === levels ? alpha ** (levels - k) / (1 + alpha) : inner(s),
  );
}
