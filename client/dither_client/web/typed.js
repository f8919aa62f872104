/**
 * Numbers as people type and read them: thousands separators, decimal commas, currency signs. The Python client reads and
 * writes the same, and the vectors in `typed.json` hold both to one table.
 */

/** @import { Typed } from "./dither.d.ts" */

import { InvalidValue } from "./errors.js";

export const MAX_DECIMALS = 6;
const CURRENCY = "¤";
const ALIKE = "０１２３４５６７８９．，－＋−’\u00a0\u2009\u202f\u3000"; // full-width digits and signs, blanks of other widths
const ASCII = "0123456789.,-+-'    ";
const PLAIN = /^([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/;
const EITHER = /^[1-9][0-9]{0,2}[.,][0-9]{3}$/; // one mark that may separate thousands or begin the decimals
const GROUPS = /^[1-9][0-9]{0,2}(?:([.,' ])[0-9]{3})(?:\1[0-9]{3})*(?:(?!\1)[.,][0-9]*)?$/;
const INDIAN = /^[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]*)?$/;
const COMMA = /^[0-9]*,[0-9]+$/;
const NO_NUMBER = "the value must be a finite number, such as 42 or -3.5";

/**
 * The number that a person has typed into a field for numbers of so many `decimals`, null for any. With two readings, a
 * comma separates thousands and a point begins the decimals, unless the field has no place for three of them; where
 * `mark` is a comma, the other way round. Throws `InvalidValue`, whose message never repeats what was typed.
 *
 * @param {string} text
 * @param {number | null} decimals
 * @param {"." | ","} mark
 * @returns {Typed}
 */
export function readTyped(text, decimals = null, mark = ".") {
  const { core, sign } = unsigned(
    [...text].map((letter) => ASCII[ALIKE.indexOf(letter)] ?? letter.replace(/\p{Sc}/u, CURRENCY)).join(""),
  );
  if (!EITHER.test(core)) {
    const value = checkDecimals(finite(sign + plain(core)), decimals);
    return { value, other: null };
  }
  const [thousands, fraction] = ["", "."].map((plainly) => finite(sign + core.replace(/[.,]/, plainly)));
  const small = core.includes(mark) && (decimals === null || decimals >= 3);
  const [value = NaN, other = NaN] = small ? [fraction, thousands] : [thousands, fraction];
  return { value: checkDecimals(value, decimals), other };
}

/**
 * Returns the value. Throws `InvalidValue` if the shortest text that writes it has more decimals; null for any.
 *
 * @param {number} value
 * @param {number | null} decimals
 */
export function checkDecimals(value, decimals) {
  const [digits = "", exponent = "0"] = String(value).split("e");
  const places = (digits.split(".")[1] ?? "").length - Number(exponent);
  if (decimals !== null && places > decimals) {
    const most = `have at most ${decimals} decimal${decimals === 1 ? "" : "s"}`;
    throw new InvalidValue(`the value must ${decimals === 0 ? "be a whole number" : most}`);
  }
  return value;
}

/**
 * The number with a comma between thousands and a decimal point; with an exponent only where it is far from 1.
 *
 * @param {number} value
 */
export function written(value) {
  const text = String(value);
  if (text.includes("e")) {
    return text;
  }
  const [whole = "", fraction] = text.split(".");
  const grouped = whole.replace(/\B(?=([0-9]{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/**
 * What is left without a sign and without one currency sign before or after the number, and the sign.
 *
 * @param {string} text
 */
function unsigned(text) {
  let core = text.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "");
  const currency = core.split(CURRENCY).length === 2 ? CURRENCY : "";
  core = withoutStart(withoutEnd(core, currency), currency);
  const sign = /^[+-]/.exec(core)?.[0] ?? "";
  return { core: withoutStart(withoutStart(core, sign), currency), sign };
}

/** @type {(text: string, start: string) => string} */
function withoutStart(text, start) {
  return text.slice(text.startsWith(start) ? start.length : 0).replace(/^ +/, "");
}

/** @type {(text: string, end: string) => string} */
function withoutEnd(text, end) {
  return text.slice(0, text.length - (text.endsWith(end) ? end.length : 0)).replace(/ +$/, "");
}

/**
 * The same number with nothing but digits and a decimal point, or an exponent.
 *
 * @param {string} core
 */
function plain(core) {
  if (PLAIN.test(core)) {
    return core;
  }
  const mark = GROUPS.exec(core)?.[1];
  if (mark !== undefined) {
    return core.replaceAll(mark, "").replace(",", ".");
  }
  if (INDIAN.test(core)) {
    return core.replaceAll(",", "");
  }
  if (COMMA.test(core)) {
    return core.replace(",", ".");
  }
  throw new InvalidValue(NO_NUMBER);
}

/** @param {string} text */
function finite(text) {
  const value = Number(text);
  if (!Number.isFinite(value)) {
    throw new InvalidValue(NO_NUMBER);
  }
  return value;
}
