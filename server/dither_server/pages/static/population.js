// Shares and values read off a distribution, as `dither_client.posterior.population` does in Python.

/**
 * @typedef {"q05" | "q25" | "q50" | "q75" | "q95"} Level
 * @typedef {{ x: number[] } & Record<Level, number[]>} Distribution the share of the people at or below each x
 * @typedef {Record<Level, number>} Summary
 *
 * @typedef {object} Known what is known of a population
 * @property {Distribution} distribution
 * @property {number[]} atoms
 * @property {({ level: number } & Summary)[]} quantiles those that are known exactly
 * @property {({ x: number } & Summary)[]} above the shares above some values that are known exactly
 */

/** @type {Record<Level, Level>} */
const MIRRORED = { q05: "q95", q25: "q75", q50: "q50", q75: "q25", q95: "q05" };
/** @type {Level[]} */
export const LEVELS = ["q05", "q25", "q50", "q75", "q95"];
const ROUNDED = 1e-11; // atoms and levels are named with twelve digits
const MOST_DIGITS = 12; // the most decimals of a value
const ENORMOUS = 1e12; // from here on a value has an exponent
const UNUSUAL = 1e-6; // below this a value has one, too, where it is written with two digits
const NOTHING = 1e-9; // this part of the largest value of the population, and of 1, or less is 0
const TINY = 1e-3; // where all values are smaller, each has at least two significant digits

/** @type {(read: (level: Level) => number) => Summary} */
const summary = (read) => ({
  q05: read("q05"),
  q25: read("q25"),
  q50: read("q50"),
  q75: read("q75"),
  q95: read("q95"),
});

/** @type {(line: number[], i: number) => number} */
const at = (line, i) => line.at(i) ?? NaN;

/** @type {(x: number[]) => boolean} whether the values are these consecutive integers, and none between */
const integers = (x) => Number.isInteger(x[0]) && x.every((right, i) => i === 0 || right - at(x, i - 1) === 1);

/** @type {(x: number[], atoms: number[]) => number} below this is nobody: 0 of integers, or an atom that comes first */
const least = (x, atoms) => {
  const [first = NaN] = x;
  if (integers(x)) return Math.min(0, first);
  const near = (/** @type {number} */ atom) => Math.abs(first - atom) <= ROUNDED * Math.max(1, Math.abs(atom));
  return atoms.some(near) ? first : -Infinity;
};

/**
 * The height of a curve: beyond its points that of the outermost; where it jumps, at the top.
 *
 * @type {(place: number, x: number[], y: number[]) => number}
 */
function height(place, x, y) {
  const right = x.findIndex((point) => point > place);
  if (right <= 0) return at(y, right < 0 ? -1 : 0);
  const [from, to] = [at(x, right - 1), at(x, right)];
  return at(y, right - 1) + ((place - from) / (to - from)) * (at(y, right) - at(y, right - 1));
}

/** @type {(low: number, high: number) => boolean} whether there is no number between two: there a curve jumps */
const adjacent = (low, high) => [low, high].includes(low + (high - low) / 2);

/** @type {(level: number, x: number[], y: number[]) => number} the least place where a curve is at least so high */
function place(level, x, y) {
  const found = y.findIndex((share) => share >= level);
  const right = found < 0 ? y.length - 1 : found;
  const [low, high] = [at(x, right - 1), at(x, right)];
  if (right === 0 || integers(x) || adjacent(low, high)) return high;
  const [from, to] = [at(y, right - 1), at(y, right)];
  return low + ((level - from) / (to - from)) * (high - low);
}

/**
 * What is known of a share beyond the points: bounds, of which `ends` replace the outermost's, unless they meet.
 *
 * @type {(outermost: Summary, ends: Partial<Summary>) => Summary}
 */
function bounded(outermost, ends) {
  const found = { ...outermost, q50: NaN, ...ends };
  return found.q05 === found.q95 ? summary(() => found.q05) : found;
}

/**
 * The share of the people above `value`. Beyond the points of the distribution there are only bounds, from q05 to q95,
 * and q50 is NaN, unless they meet.
 *
 * @type {(known: Known, value: number) => Summary}
 */
export function shareAbove({ distribution, atoms, above }, value) {
  const exact = above.find((each) => each.x === value);
  if (exact) return exact;
  const { x } = distribution;
  if (value < least(x, atoms)) return summary(() => 1);
  const where = integers(x) ? Math.floor(value) : value;
  const found = summary((level) => 1 - height(where, x, distribution[MIRRORED[level]]));
  if (where < at(x, 0)) return bounded(found, { q75: 1, q95: 1 });
  return where > at(x, -1) ? bounded(found, { q05: 0, q25: 0 }) : found;
}

/**
 * The value at or below which a share `level` of the people lies; null where that is not known.
 *
 * @type {(known: Known, level: number) => Summary | null}
 */
export function valueAt({ distribution, atoms, quantiles }, level) {
  const exact = quantiles.find((each) => Math.abs(each.level - level) < ROUNDED);
  if (exact) return exact;
  const { x, q05, q95 } = distribution;
  const lowest = at(x, 0) === least(x, atoms) ? 0 : Math.max(at(q05, 0), at(q95, 0));
  if (!(lowest <= level && level <= Math.min(at(q05, -1), at(q95, -1)))) return null;
  return summary((name) => place(level, x, distribution[MIRRORED[name]]));
}

/** @type {(x: number, decimals: number) => string} */
const grouped = (x, decimals) =>
  x.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });

/** @type {(x: number) => string} two significant digits, with an exponent where it is far below 1 */
function inTwoDigits(x) {
  const short = Number(x.toPrecision(2));
  if (short !== 0 && Math.abs(short) < UNUSUAL) return String(short.toExponential());
  return short.toLocaleString("en", { maximumSignificantDigits: 2 });
}

/**
 * A value to two significant digits of its band's width, never coarser than to whole units, with `decimals` at most.
 * Of a population, what is nothing beside its `largest` value is 0; where that is tiny, `x` has two significant digits.
 *
 * @type {(x: number, band: Pick<Summary, "q05" | "q95">, decimals?: number, largest?: number) => string}
 */
export function written(x, { q05, q95 }, decimals = MOST_DIGITS, largest = 0) {
  if (Math.abs(x) <= NOTHING * Math.min(largest, 1)) return "0";
  if (Math.abs(x) >= ENORMOUS) return x.toExponential(2);
  const width = q95 - q05;
  if (width <= 0) return Number(x.toPrecision(12)).toLocaleString("en", { maximumFractionDigits: MOST_DIGITS });
  const digits = Math.max(0, 1 - Math.floor(Math.log10(width)));
  if (digits > MOST_DIGITS && decimals === MOST_DIGITS) return x.toExponential(2);
  const text = grouped(x, Math.min(digits, decimals));
  const tiny = 0 < largest && largest < TINY && digits <= decimals;
  if (tiny && text.replace(/^[-0.,]+/, "").length < 2) return inTwoDigits(decimals < MOST_DIGITS ? Number(text) : x);
  if (/[1-9]/.test(text)) return text;
  return digits > decimals ? "0" : text.replace("-", "");
}
