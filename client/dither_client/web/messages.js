/** Strict parsing of the server's messages: terms, tickets, receipts and problem documents. */

/** @import { Component, Groups, Panel, Terms, Ticket } from "./dither.d.ts" */

import { MAX_COMPONENTS } from "./components.js";
import { parseMicro } from "./epsilon.js";
import { BadResponse, InvalidEpsilon, InvalidQuery, Problem } from "./errors.js";
import { MAX_CATEGORIES } from "./groups.js";
import { JsonNumber, decodeJson } from "./json.js";
import { MAX_PANEL, PERIODS } from "./panel.js";
import { parseQuery } from "./queries.js";
import { checkCoordinate } from "./query.js";
import { MAX_DECIMALS } from "./typed.js";

const MAX_GROUPS = 500;
const MAX_TOKEN = 65_536;
const MAX_TEXT = 500;
const NAME = /^[\w-]{1,64}$/; // of a component
const HTTPS = /^https:\/\/[!-~]{1,492}$/;

/** @typedef {Map<string, unknown>} JsonObject */

/**
 * Reads a collection's terms; ε is in micro-ε. Throws `BadResponse`.
 *
 * @param {unknown} data
 * @returns {Terms}
 */
export function parseTerms(data) {
  const terms = object(data, "terms");
  const optional = optionalOf(terms);
  return {
    id: token(terms, "id"),
    name: text(terms, "name"),
    family: text(terms, "family"),
    transform: text(terms, "transform"),
    mechanism: text(terms, "mechanism"),
    microEpsilon: amount(terms.get("epsilon"), "epsilon"),
    microEpsilonChoices: (optional("epsilon_choices", list) ?? []).map((choice) => amount(choice, "epsilon")),
    microRho: optional("rho", (from, name) => amount(from.get(name), name)),
    levels: optional("levels", count),
    categories: optional("categories", categories) ?? [],
    question: optional("question", text),
    unit: optional("unit", text),
    periodOfValue: optional("period_of_value", text),
    ...bounds(optional("minimum", coordinate), optional("maximum", coordinate)),
    decimals: optional("decimals", decimals),
    organisation: optional("organisation", text),
    contact: optional("contact", text),
    privacyUrl: optional("privacy_url", https),
    thankYou: optional("thank_you", text),
    groups: optional("groups", groups),
    components: optional("components", components) ?? [],
    panel: optional("panel", panel),
    state: text(terms, "state"),
    answers: optional("answers", count),
    opensAt: optional("opens_at", text),
    closesAt: optional("closes_at", text),
    maxAnswers: optional("max_answers", count),
    admission: text(terms, "admission"),
    visibility: text(terms, "visibility"),
    advice: optional("advice", text),
    notice: optional("notice", text),
  };
}

/**
 * Reads a ticket. Throws `BadResponse`, and `InvalidQuery` for a question that an honest server would not ask.
 *
 * @param {unknown} data
 * @returns {Ticket}
 */
export function parseTicket(data) {
  const fields = object(data, "ticket");
  const ticket = token(fields, "ticket");
  const expiresAt = text(fields, "expires_at");
  try {
    return { ticket, expiresAt, query: parseQuery(fields.get("query")) };
  } catch (error) {
    throw error instanceof InvalidQuery
      ? new InvalidQuery(`the server's question is refused: ${error.message}`)
      : error;
  }
}

/**
 * Reads the receipt of an answer. Throws `BadResponse`.
 *
 * @param {unknown} data
 */
export function parseReceipt(data) {
  return token(object(data, "receipt"), "receipt");
}

/**
 * Reads a problem document; a refusal without a valid one has the type `about:blank`.
 *
 * @param {number} status
 * @param {Uint8Array} body
 */
export function parseProblem(status, body) {
  try {
    const document = object(decodeJson(body), "problem");
    return new Problem(status, token(document, "type"), text(document, "detail"));
  } catch {
    return new Problem(status, "about:blank", `the server refused with status ${status} and gave no reason`);
  }
}

/** @type {(data: unknown, name: string) => JsonObject} */
function object(data, name) {
  if (!(data instanceof Map)) {
    throw new BadResponse(`the server's ${name} is not a JSON object`);
  }
  return data;
}

/**
 * A text as one line for a page, without control characters and characters that change the direction of writing.
 *
 * @type {(data: JsonObject, name: string) => string}
 */
function text(data, name) {
  const value = data.get(name);
  if (typeof value !== "string") {
    throw new BadResponse(`the server's response lacks the text '${name}'`);
  }
  return printable(value);
}

/** @param {string} value */
function printable(value) {
  return value.slice(0, MAX_TEXT).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, " ");
}

/**
 * Texts that are compared with the value and so are taken as they are, or refused.
 *
 * @type {(data: JsonObject, name: string) => string[]}
 */
function categories(data, name) {
  return different(list(data, name), MAX_CATEGORIES, name);
}

/**
 * Labels that are sent as they are, and what they are called.
 *
 * @type {(data: JsonObject, name: string) => Groups}
 */
function groups(data, name) {
  const found = object(data.get(name), `'${name}'`);
  return { name: text(found, "name"), labels: different(list(found, "labels"), MAX_GROUPS, name) };
}

/**
 * The numbers that each person has; what else a server says of one is passed over.
 *
 * @type {(data: JsonObject, name: string) => Component[]}
 */
function components(data, name) {
  const found = list(data, name).map((each) => object(each, `'${name}'`));
  const names = found.map((each) => each.get("name"));
  const proper = names.every((each) => typeof each === "string" && NAME.test(each));
  const scaled = found.every((each) => each.get("transform") === "identity" || each.get("transform") === "log");
  const many = 2 <= names.length && names.length <= MAX_COMPONENTS;
  if (!proper || !scaled || !many || new Set(names).size < names.length) {
    throw new BadResponse(`the server's response lacks proper '${name}'`);
  }
  return found.map((each) => {
    const optional = optionalOf(each);
    return {
      name: text(each, "name"),
      question: optional("question", text),
      unit: optional("unit", text),
      periodOfValue: optional("period_of_value", text),
      ...bounds(optional("minimum", coordinate), optional("maximum", coordinate)),
      decimals: optional("decimals", decimals),
      transform: text(each, "transform"),
    };
  });
}

/**
 * In which periods a respondent answers who answers in several.
 *
 * @type {(data: JsonObject, name: string) => Panel}
 */
function panel(data, name) {
  const found = object(data.get(name), `'${name}'`);
  const [answers, periods, period] = [count(found, "answers"), count(found, "periods"), text(data, "period")];
  const proper = 2 <= periods && periods <= MAX_PANEL && 1 <= answers && answers <= periods;
  if (!proper || !PERIODS.includes(period)) {
    throw new BadResponse(`the server's response lacks a proper '${name}'`);
  }
  return { answers, periods, period };
}

/** @type {(data: JsonObject) => <T>(name: string, read: (from: JsonObject, name: string) => T) => T | null} */
function optionalOf(data) {
  return (name, read) => ((data.get(name) ?? null) === null ? null : read(data, name));
}

/** @type {(values: unknown[], most: number, name: string) => string[]} */
function different(values, most, name) {
  /** @type {(value: unknown) => value is string} */
  const isProper = (value) => typeof value === "string" && value === printable(value);
  const proper = values.every(isProper) ? values : [];
  if (!(2 <= proper.length && proper.length <= most && new Set(proper).size === proper.length)) {
    throw new BadResponse(`the server's response lacks proper '${name}'`);
  }
  return proper;
}

/**
 * A text that is sent back or stored unchanged, and so must be printable ASCII.
 *
 * @type {(data: JsonObject, name: string) => string}
 */
function token(data, name) {
  const value = data.get(name);
  if (typeof value === "string" && value.length <= MAX_TOKEN && /^[ -~]+$/.test(value)) {
    return value;
  }
  throw new BadResponse(`the server's response lacks a proper '${name}'`);
}

/** @type {(data: JsonObject, name: string) => unknown[]} */
function list(data, name) {
  const value = data.get(name);
  if (!Array.isArray(value)) {
    throw new BadResponse(`the server's response lacks the list '${name}'`);
  }
  return value;
}

/** @type {(minimum: number | null, maximum: number | null) => { minimum: number | null, maximum: number | null }} */
function bounds(minimum, maximum) {
  if (minimum !== null && maximum !== null && minimum >= maximum) {
    throw new BadResponse("the server's terms have a minimum that is not below their maximum");
  }
  return { minimum, maximum };
}

/** @type {(data: JsonObject, name: string) => number} */
function coordinate(data, name) {
  try {
    return checkCoordinate(name, data.get(name));
  } catch {
    throw new BadResponse(`the server's response lacks a proper '${name}'`);
  }
}

/** @type {(data: JsonObject, name: string) => number} */
function decimals(data, name) {
  const most = count(data, name);
  if (most > MAX_DECIMALS) {
    throw new BadResponse(`the server's response lacks a proper '${name}'`);
  }
  return most;
}

/**
 * An address that a person may follow, and so may be of no other scheme.
 *
 * @type {(data: JsonObject, name: string) => string}
 */
function https(data, name) {
  const address = token(data, name);
  if (!HTTPS.test(address)) {
    throw new BadResponse(`the server's response lacks a proper '${name}'`);
  }
  return address;
}

/** @type {(data: JsonObject, name: string) => number} */
function count(data, name) {
  const value = data.get(name);
  if (!(value instanceof JsonNumber && value.isInteger && value.value >= 0)) {
    throw new BadResponse(`the server's response lacks the count '${name}'`);
  }
  return value.value;
}

/** @type {(value: unknown, name: string) => number} */
function amount(value, name) {
  try {
    return Number(parseMicro(value, name));
  } catch (error) {
    throw error instanceof InvalidEpsilon ? new BadResponse(`the server's terms lack a valid ${name}`) : error;
  }
}
