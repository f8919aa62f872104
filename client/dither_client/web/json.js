/**
 * Strict JSON, the profile of the protocol: a text has one value, the same as for the Python client, or is refused.
 * Numbers keep their text, so that ε is an exact decimal and never a float.
 */

import { BadResponse } from "./errors.js";

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*|:/g;
const NUMBER = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?$/;
const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }); // a byte order mark is kept, and is then refused
const MAX_NUMBER = 64;
const MAX_WHOLE = (1n << 128n) - 1n;
const MAX_DEPTH = 32;

/** @typedef {{ written: number, found: number }} Names the number of names in the text, and in its value */

/** A number as it was written. */
export class JsonNumber {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }

  get isInteger() {
    return /^-?[0-9]+$/.test(this.text);
  }

  /** The nearest double. */
  get value() {
    return Number(this.text);
  }
}

/**
 * The parts of a number in the protocol's grammar, as texts: `{sign, whole, fraction, exponent}`. Throws `RangeError` for
 * a text that is not in the grammar, too long, or beyond a double.
 *
 * @param {string} text
 */
export function numberParts(text) {
  const parts = text.length <= MAX_NUMBER ? NUMBER.exec(text) : null;
  if (parts === null || !Number.isFinite(Number(text))) {
    throw new RangeError("not a number of the protocol");
  }
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = parts;
  return { sign, whole, fraction, exponent };
}

/**
 * The value of a JSON text or its bytes: objects are Maps, and numbers `JsonNumber`s. Throws `BadResponse`.
 *
 * @param {string | Uint8Array} body
 * @returns {unknown}
 */
export function decodeJson(body) {
  try {
    const text = typeof body === "string" ? body : UTF_8.decode(body);
    JSON.parse(text); // throws unless the text is JSON, so the tokens below are its strings, numbers and colons
    const names = { written: 0, found: 0 };
    const value = JSON.parse(text.replace(TOKEN, (token) => tagged(token, names)));
    const read = untagged(value, MAX_DEPTH, names);
    if (names.found !== names.written) {
      throw new RangeError("a repeated name: every name has a colon, but an object keeps only the last");
    }
    return read;
  } catch {
    throw new BadResponse("the server's response is not strict JSON");
  }
}

/** @type {(token: string, names: Names) => string} */
function tagged(token, names) {
  if (token === ":") {
    names.written += 1;
    return token;
  }
  return token[0] === '"' ? `"s${token.slice(1)}` : `"n${token}"`;
}

/** @type {(value: unknown, room: number, names: Names) => unknown} */
function untagged(value, room, names) {
  if (typeof value === "string") {
    return value[0] === "s" ? whole(value.slice(1)) : number(value.slice(1));
  }
  if (value === null || typeof value !== "object") {
    return value;
  }
  if (room === 0) {
    throw new RangeError("nested too deeply");
  }
  if (Array.isArray(value)) {
    return value.map((item) => untagged(item, room - 1, names));
  }
  const entries = Object.entries(value);
  names.found += entries.length;
  return new Map(entries.map(([name, item]) => [whole(name.slice(1)), untagged(item, room - 1, names)]));
}

/**
 * Returns `text` unless it has half of a surrogate pair.
 *
 * @param {string} text
 */
function whole(text) {
  if (/\p{Surrogate}/u.test(text)) {
    throw new RangeError("half of a surrogate pair");
  }
  return text;
}

/** @param {string} text */
function number(text) {
  numberParts(text);
  const read = new JsonNumber(text);
  if (read.isInteger && BigInt(text.replace("-", "")) > MAX_WHOLE) {
    throw new RangeError("a whole number of more than 128 bits");
  }
  return read;
}
