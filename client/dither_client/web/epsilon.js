/** ε as an exact number: an integer of micro-ε, read from a decimal of at most six places. */

import { InvalidEpsilon } from "./errors.js";
import { JsonNumber, numberParts } from "./json.js";

export const MICRO = 1_000_000;

const MAX_TEXT = 64;

/**
 * Micro-ε of a JSON number, a decimal string, or a number, which stands for the shortest decimal that prints it. Throws `InvalidEpsilon` unless it is above 0 and has at most six decimals.
 *
 * @param {unknown} value
 */
export function parseMicro(value, name = "epsilon") {
  const { sign, whole, fraction, exponent } = parts(written(value, name), name);
  const digits = BigInt(whole + fraction);
  if (sign === "-" || digits === 0n) {
    throw new InvalidEpsilon(`${name} must be above 0`);
  }
  const places = 6 + Number(exponent) - fraction.length;
  if (places >= 0) {
    return digits * 10n ** BigInt(places);
  }
  const unit = 10n ** BigInt(-places);
  if (digits % unit !== 0n) {
    throw new InvalidEpsilon(`${name} must have at most six decimals`);
  }
  return digits / unit;
}

/** @type {(text: string, name: string) => ReturnType<typeof numberParts>} */
function parts(text, name) {
  if (text.length > MAX_TEXT) {
    throw new InvalidEpsilon(`${name} must be written in at most ${MAX_TEXT} characters`);
  }
  try {
    return numberParts(text);
  } catch {
    throw new InvalidEpsilon(`${name} must be a decimal such as "0.5"`);
  }
}

/** @type {(value: unknown, name: string) => string} */
function written(value, name) {
  if (value instanceof JsonNumber) {
    return value.text;
  }
  if (typeof value === "number" && Number.isFinite(value)) {
    return String(value);
  }
  if (typeof value !== "string") {
    throw new InvalidEpsilon(`${name} must be a number or a decimal string`);
  }
  return value;
}

/**
 * Micro-ε for people: `"0.1"`, `"2"`.
 *
 * @param {number | bigint} micro
 */
export function epsilonText(micro) {
  const whole = BigInt(micro);
  const fraction = String(whole % 1_000_000n)
    .padStart(6, "0")
    .replace(/0+$/, "");
  return String(whole / 1_000_000n) + (fraction && `.${fraction}`);
}

/**
 * `micro` millionths as a rational `[numerator, denominator]` in lowest terms.
 *
 * @param {number} micro
 * @returns {[bigint, bigint]}
 */
export function rational(micro) {
  let [a, b] = [BigInt(micro), 1_000_000n];
  while (b !== 0n) {
    [a, b] = [b, a % b];
  }
  return [BigInt(micro) / a, 1_000_000n / a];
}
