/** What all ledgers share: the caps of ε, the rows of entries and charges, and the keys that answers are sent with. */

/** @import { Charge, Entry, Epsilon, LedgerCaps, Query, State } from "./dither.d.ts" */

import { epsilonText, parseMicro } from "./epsilon.js";
import { LedgerError, OverCap } from "./errors.js";
import { originOf } from "./http.js";
import { decodeJson } from "./json.js";
import { NO_PERIOD } from "./panel.js";
import { parseQuery } from "./queries.js";

const [TOTAL, PER_SERVER, PER_ANSWER] = ["10", "5", "2"]; // the caps unless the respondent sets a total

/**
 * @typedef {object} Row a stored entry
 * @property {string} server
 * @property {string} collection
 * @property {number} [period] of an answer of a panel; 0, or in what an earlier version stored nothing, of any other
 * @property {State | "reserved"} state
 * @property {number} micro_epsilon
 * @property {number | null} micro_rho
 * @property {string | null} ticket null only while it is reserved, as `query`
 * @property {string | null} query
 * @property {number | null} answer
 * @property {string | null} retry_key
 * @property {string | null} receipt
 */

/** @typedef {Pick<Row, "server" | "micro_epsilon">} Spending */

/**
 * A new row: of an answer that is paid for and has no question yet, which `asked` adds.
 *
 * @type {(server: string, collection: string, period: number, microEpsilon: number) => Row}
 */
export function reserved(server, collection, period, microEpsilon) {
  const empty = { micro_rho: null, ticket: null, query: null, answer: null, retry_key: null, receipt: null };
  return { server, collection, period, state: "reserved", micro_epsilon: microEpsilon, ...empty };
}

/**
 * The periods of a panel that rows are of, increasing.
 *
 * @type {(rows: Row[], server: string, collection: string) => number[]}
 */
export function turnsIn(rows, server, collection) {
  return rows
    .filter((row) => row.server === server && row.collection === collection)
    .map(({ period = NO_PERIOD }) => period)
    .filter((period) => period !== NO_PERIOD)
    .sort((a, b) => a - b);
}

/**
 * A reserved row with its question. Throws `OverCap` if that costs more than was spent.
 *
 * @type {(row: Row, ticket: string, query: Query) => Row}
 */
export function asked(row, ticket, query) {
  if (query.microEpsilon > row.micro_epsilon) {
    const [costs, spent] = [epsilonText(query.microEpsilon), epsilonText(row.micro_epsilon)];
    throw new OverCap(`this question costs ε = ${costs}, and ε = ${spent} was spent on it`);
  }
  return { ...row, state: "charged", micro_rho: query.microRho, ticket, query: JSON.stringify(query) };
}

/** Upper bounds of ε: on the total, on any one server, and on any one answer. */
export class Caps {
  #perServer;
  #perAnswer;

  /**
   * Without `maxEpsilon`, they are 10, 5 and 2; with it, those that are left out are not capped. Throws `InvalidEpsilon`.
   *
   * @param {LedgerCaps} caps
   */
  constructor({ maxEpsilon = null, maxEpsilonPerServer = null, maxEpsilonPerAnswer = null }) {
    const [perServer, perAnswer] = maxEpsilon === null ? [PER_SERVER, PER_ANSWER] : [null, null];
    this.total = parseMicro(maxEpsilon ?? TOTAL, "maxEpsilon");
    this.#perServer = cap(maxEpsilonPerServer ?? perServer, "maxEpsilonPerServer");
    this.#perAnswer = cap(maxEpsilonPerAnswer ?? perAnswer, "maxEpsilonPerAnswer");
  }

  /**
   * Throws `OverCap`, which names the cap, if `cost`, in micro-ε, on each of so many `answers` is too much for `server`
   * after what the `entries` have spent.
   *
   * @type {(cost: number, entries: Spending[], server: string, answers?: number) => void}
   */
  check(cost, entries, server, answers = 1) {
    const all = BigInt(cost) * BigInt(answers);
    const costs =
      answers === 1
        ? `this question costs ε = ${epsilonText(cost)}`
        : `this panel costs ε = ${epsilonText(all)} for ${answers} answers`;
    if (this.#perAnswer !== null && cost > this.#perAnswer) {
      const allowed = `${epsilonText(this.#perAnswer)} is allowed for one answer`;
      throw new OverCap(`${costs}, and ${allowed}; set maxEpsilonPerAnswer to allow more`);
    }
    const onServer = sum(entries, originOf(server));
    const bounds = [
      { spent: sum(entries), most: this.total, where: "in total", name: "maxEpsilon" },
      { spent: onServer, most: this.#perServer, where: "on this server", name: "maxEpsilonPerServer" },
    ];
    for (const { spent, most, where, name } of bounds) {
      if (most !== null && spent + all > most) {
        const used = `ε = ${epsilonText(spent)} of the ${epsilonText(most)} allowed ${where} is spent`;
        throw new OverCap(`${costs}, and ${used}; set ${name} to allow more`);
      }
    }
  }
}

/** @type {(amount: Epsilon | null, name: string) => bigint | null} */
function cap(amount, name) {
  return amount === null ? null : parseMicro(amount, name);
}

/**
 * The micro-ε spent, or that on one server, whose paths count with it.
 *
 * @type {(entries: Spending[], server?: string | null) => bigint}
 */
export function sum(entries, server = null) {
  return entries
    .filter((entry) => server === null || `${entry.server}/`.startsWith(`${server}/`))
    .reduce((total, entry) => total + BigInt(entry.micro_epsilon), 0n);
}

/** @type {(row: Row) => Entry} */
export function opened(row) {
  const { server, collection, state, ticket, answer, retry_key: retryKey, receipt, period = NO_PERIOD } = row;
  if (state === "reserved" || ticket === null || row.query === null) {
    throw uncharged();
  }
  try {
    const query = parseQuery(decodeJson(row.query));
    return { server, collection, state, ticket, answer, retryKey, receipt, period, query };
  } catch {
    throw new LedgerError("the ledger holds a query that this version cannot read");
  }
}

/** @type {(row: Row, name?: string | null) => Charge} */
export function charged({ server, collection, state, receipt, micro_epsilon, micro_rho, period }, name = null) {
  const rho = micro_rho === null ? null : epsilonText(micro_rho);
  return {
    server,
    collection,
    state,
    period: period ?? NO_PERIOD,
    receipt,
    epsilon: epsilonText(micro_epsilon),
    rho,
    name,
  };
}

export function uncharged() {
  return new LedgerError("the ledger has no charge for this collection");
}

/** A random key that cannot be guessed. */
export function newRetryKey() {
  return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(24))))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}
