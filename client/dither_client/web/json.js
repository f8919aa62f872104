/** Strict JSON whose numbers keep the text that wrote them: an ε is a decimal, and never passes through a float. */

import { BadResponse } from "./errors.js";

const TOKEN = /"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*/g;
const MAX_DIGITS = 4300;

/** A number as it was written. */
export class JsonNumber {
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

/** The value that `text` writes: objects are Maps, numbers `JsonNumber`s. Throws `BadResponse`. */
export function decodeJson(text) {
  try {
    JSON.parse(text); // the text is JSON, or this throws: so the tokens below are its strings and its numbers
    return untagged(JSON.parse(text.replace(TOKEN, tagged)));
  } catch {
    throw new BadResponse("the server's response is not strict JSON");
  }
}

function tagged(token) {
  return token[0] === '"' ? `"s${token.slice(1)}` : `"n${token}"`;
}

function untagged(value) {
  if (typeof value === "string") {
    return value[0] === "s" ? value.slice(1) : checked(new JsonNumber(value.slice(1)));
  }
  if (Array.isArray(value)) {
    return value.map(untagged);
  }
  if (value !== null && typeof value === "object") {
    return new Map(Object.entries(value).map(([name, item]) => [name.slice(1), untagged(item)]));
  }
  return value;
}

function checked(number) {
  if (number.text.length > MAX_DIGITS || !(number.isInteger || Number.isFinite(number.value))) {
    throw new RangeError("beyond what a program can hold");
  }
  return number;
}
