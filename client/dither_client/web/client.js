/**
 * A respondent's client for one server, in a browser. The value enters `answer`, and only an answer drawn from the
 * question's channel leaves: no request, stored entry or error ever contains the value.
 */

/** @import { AnswerOptions, ClientLedger, Entry, Epsilon, Groups, Price, Retry, Terms } from "./dither.d.ts" */

import { epsilonText, parseMicro } from "./epsilon.js";
import {
  AlreadyAnswered,
  AnswerExpired,
  DitherError,
  InvalidAddress,
  LedgerError,
  OverCap,
  Unreachable,
} from "./errors.js";
import { collectionPath, exchange, originOf, parseAddress, sleep } from "./http.js";
import { decodeJson } from "./json.js";
import { Ledger } from "./ledger.js";
import { parseProblem, parseReceipt, parseTerms, parseTicket } from "./messages.js";
import { boundsOf, checkGroup, checkKept, checkQuestion, numberOf, priceAt, priceOf } from "./price.js";
import { checkValue } from "./query.js";

const TOO_LATE = ["ticket-expired", "collection-closed", "collection-full"];
const LATE = "your answer came too late; no new answer is drawn, and its charge stands";
const SECRET = /^[!-~]{1,128}$/;
const SETTLE = 0.005; // seconds from the start of drawing, whose time depends on the noise, to the next step
const SETTLE_CELLS = 8; // the largest number of cells for which `SETTLE` is enough: with more, drawing takes longer

export class Client {
  #retry;

  /**
   * `url` is https, or http on this machine; `retry` may have `attempts`, `first` and `longest`, the last two in seconds.
   *
   * @param {string} url
   * @param {{ ledger?: ClientLedger, retry?: Retry }} options
   */
  constructor(url, { ledger = new Ledger(), retry = {} } = {}) {
    this.server = parseAddress(url);
    /** @type {ClientLedger} */
    this.ledger = ledger;
    this.#retry = retry;
  }

  /**
   * Fetches a collection's terms, and keeps their price in the ledger, after which it can no longer rise. Throws
   * `InvalidAddress`, `LedgerError` and `ServerError`.
   *
   * @param {string} collection
   */
  async terms(collection) {
    const { terms } = await this.#told(collection);
    return terms;
  }

  /**
   * Answers privately, or sends the answer that the ledger holds.
   *
   * The terms are the price: they are fetched once and kept in the ledger, and a question that costs more or is of
   * another kind is refused. So is a collection that costs more than `maxEpsilon`, the ε that the respondent was told.
   * `epsilon` is the respondent's choice, made independently of the value, if the terms offer one; `invitation` is the
   * code, if `admission` is `invite`; `group` is the label of the respondent's group, if the terms have `groups`, and is
   * sent as it is, without noise. Resolves to the entry, with its `query`, `answer` and `receipt`. Throws `InvalidValue`,
   * `InvalidAddress` and `InvalidEpsilon` before anything is sent, `InvalidGroup` before a ticket is requested,
   * `InvalidQuery`, `LedgerError` and `ServerError`.
   *
   * @param {string} collection
   * @param {number | string} value a number within the terms' bounds, or the text of one of the collection's categories
   * @param {AnswerOptions} options
   */
  async answer(collection, value, { maxEpsilon = null, epsilon = null, invitation = null, group = null } = {}) {
    if (typeof value !== "string") {
      checkValue(value);
    }
    const path = collectionPath(collection, "tickets");
    const [told, chosen] = [micro(maxEpsilon), micro(epsilon)];
    if (invitation !== null && !SECRET.test(invitation)) {
      throw new InvalidAddress("an invitation may contain only printable ASCII characters, no blanks, at most 128");
    }
    let entry = await this.find(collection);
    if (entry === null) {
      const { price, groups } = await this.#price(collection, group !== null);
      checkTold(priceAt(price, chosen), told);
      numberOf(price, value);
      checkGroup(groups, group);
      const { ticket, query } = await this.#ticket(path, collection, chosen, invitation, group);
      checkQuestion(price, query, chosen);
      entry = await this.ledger.charge(this.server, collection, ticket, query);
    }
    if (entry.state === "charged") {
      const kept = await this.ledger.price(this.server, collection);
      const began = performance.now();
      const answer = entry.query.answer(kept === null ? checkValue(value) : numberOf(kept, value));
      const floor = SETTLE * Math.max(1, entry.query.nCells / SETTLE_CELLS);
      await sleep(Math.max(0, floor - (performance.now() - began) / 1000));
      entry = await this.ledger.draw(entry.server, collection, answer);
    }
    return this.#send(entry);
  }

  /**
   * Sends the answer that the ledger holds for the collection; null if it holds none.
   *
   * @param {string} collection
   */
  async sendStored(collection) {
    const entry = await this.find(collection);
    return entry === null || entry.state === "charged" ? null : this.#send(entry);
  }

  /** Sends all stored answers to this server; resolves to a Map from collection to entry or error. Throws `Unreachable`. */
  async resume() {
    /** @type {Map<string, Entry | DitherError>} */
    const outcomes = new Map();
    for (const entry of await this.ledger.unsent(this.server)) {
      try {
        outcomes.set(entry.collection, await this.#send(entry));
      } catch (error) {
        if (error instanceof Unreachable || !(error instanceof DitherError)) {
          throw error;
        }
        outcomes.set(entry.collection, error);
      }
    }
    return outcomes;
  }

  /**
   * The ledger's entry, or null; for a server with a path, also an entry made before ledgers distinguished paths.
   *
   * @param {string} collection
   */
  async find(collection) {
    const origin = originOf(this.server);
    const entry = await this.ledger.find(this.server, collection);
    return entry === null && origin !== this.server ? this.ledger.find(origin, collection) : entry;
  }

  /**
   * The terms, with the bounds of the kept price, so that a server cannot hold a value to others later.
   *
   * @type {(collection: string) => Promise<{ terms: Terms, price: Price }>}
   */
  async #told(collection) {
    const response = await this.#exchange("GET", collectionPath(collection));
    if (response.status !== 200) {
      throw parseProblem(response.status, response.body);
    }
    const terms = parseTerms(decodeJson(response.body));
    const price = await this.ledger.keepPrice(this.server, collection, priceOf(terms), terms.name);
    checkKept(price, terms);
    return { terms: { ...terms, ...boundsOf(price) }, price };
  }

  /**
   * The kept price, and the groups: a price that an earlier version kept has none, and if a group is named, the terms say.
   *
   * @type {(collection: string, named: boolean) => Promise<{ price: Price, groups: Groups | null }>}
   */
  async #price(collection, named) {
    const kept = await this.ledger.price(this.server, collection);
    if (kept !== null && (!named || (kept.groups ?? null) !== null)) {
      return { price: kept, groups: kept.groups ?? null };
    }
    const { terms, price } = await this.#told(collection);
    return { price, groups: price.groups ?? terms.groups };
  }

  /**
   * @param {string} path
   * @param {string} collection
   * @param {number | null} chosen
   * @param {string | null} invitation
   * @param {string | null} group
   */
  async #ticket(path, collection, chosen, invitation, group) {
    /** @type {{ epsilon?: number, group?: string, invitation?: string, retry_key?: string }} */
    const asked = chosen === null ? {} : { epsilon: Number(epsilonText(chosen)) };
    if (group !== null) {
      asked.group = group;
    }
    if (invitation !== null) {
      asked.invitation = invitation;
      asked.retry_key = await this.ledger.retryKey(this.server, collection);
    }
    const response = await this.#exchange("POST", path, JSON.stringify(asked));
    if (response.status !== 201) {
      throw parseProblem(response.status, response.body);
    }
    return parseTicket(decodeJson(response.body));
  }

  /**
   * Sends the stored answer of a drawn entry, always as the same bytes.
   *
   * @param {Entry} entry
   */
  async #send(entry) {
    const { server, collection, ticket, answer, retryKey, state } = entry;
    if (state === "sent") {
      throw new AlreadyAnswered("this collection already has your answer and takes only one", entry.receipt);
    }
    if (state === "expired") {
      throw new AnswerExpired(LATE);
    }
    if (answer === null || retryKey === null) {
      throw new LedgerError("the ledger has no answer to send to this collection");
    }
    const path = collectionPath(collection, "responses");
    const response = await this.#exchange("POST", path, JSON.stringify({ ticket, answer, retry_key: retryKey }));
    if (response.status === 200 || response.status === 201) {
      return this.ledger.markSent(server, collection, parseReceipt(decodeJson(response.body)));
    }
    const problem = parseProblem(response.status, response.body);
    if (TOO_LATE.includes(problem.reason)) {
      await this.ledger.markExpired(server, collection);
      throw new AnswerExpired(`${LATE}: ${problem.message}`);
    }
    if (problem.reason === "already-answered") {
      // A ledger that was restored from a copy has drawn a second answer; the one that the server has counts.
      await this.ledger.markExpired(server, collection);
      throw new AlreadyAnswered("the server already has another answer to this ticket");
    }
    throw problem;
  }

  /** @type {(method: string, path: string, body?: string) => ReturnType<typeof exchange>} */
  #exchange(method, path, body) {
    return exchange(method, this.server + path, body, this.#retry);
  }
}

/** @param {Epsilon | null} amount */
function micro(amount) {
  return amount === null ? null : Number(parseMicro(amount));
}

/** @type {(price: number, told: number | null) => void} */
function checkTold(price, told) {
  if (told !== null && price > told) {
    const [costs, most] = [epsilonText(price), epsilonText(told)];
    throw new OverCap(`an answer to this collection costs ε = ${costs}, more than the ε = ${most} that you were told`);
  }
}
