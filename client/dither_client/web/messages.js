/** What the server says, read strictly: terms, tickets, receipts and problem documents. */

/** @import { Terms, Ticket } from "./dither.d.ts" */

import { parseMicro } from "./epsilon.js";
import { BadResponse, InvalidEpsilon, InvalidQuery, Problem } from "./errors.js";
import { JsonNumber, decodeJson } from "./json.js";
import { parseQuery } from "./queries.js";

const MAX_TOKEN = 65_536;
const MAX_TEXT = 500;

/** @typedef {Map<string, unknown>} JsonObject */

/**
 * What a respondent should know of a collection before answering. ε is in micro-ε. Throws `BadResponse`.
 *
 * @param {unknown} data
 * @returns {Terms}
 */
export function parseTerms(data) {
  const terms = object(data, "terms");
  /** @type {<T>(name: string, read: (from: JsonObject, name: string) => T) => T | null} */
  const optional = (name, read) => ((terms.get(name) ?? null) === null ? null : read(terms, name));
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
 * Throws `BadResponse`, and `InvalidQuery` for a question that an honest server would not ask.
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
 * Throws `BadResponse`.
 *
 * @param {unknown} data
 */
export function parseReceipt(data) {
  return token(object(data, "receipt"), "receipt");
}

/**
 * The refusal that `body` documents; one without a proper document has the type `about:blank`.
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
 * One line that a page can show: no control characters, nothing that changes the direction of what follows.
 *
 * @type {(data: JsonObject, name: string) => string}
 */
function text(data, name) {
  const value = data.get(name);
  if (typeof value !== "string") {
    throw new BadResponse(`the server's response lacks the text '${name}'`);
  }
  return value.slice(0, MAX_TEXT).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, " ");
}

/**
 * A text that is sent back or stored as it is: printable ASCII.
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
    throw error instanceof InvalidEpsilon ? new BadResponse(`the server's terms lack a proper ${name}`) : error;
  }
}
