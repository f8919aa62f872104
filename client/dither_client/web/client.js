/**
 * A respondent's client for one server, in a browser. The value enters `answer`, and only an answer drawn from the
 * question's channel leaves: no request, stored entry or error ever contains the value.
 */

/** @import { AnswerOptions, ClientLedger, Entry, Epsilon, Groups, Numbers, Price, Retry, SentEntry, Terms } from "./dither.d.ts" */

import { epsilonText, parseMicro } from "./epsilon.js";
import {
  AlreadyAnswered,
  AnswerExpired,
  DitherError,
  InvalidAddress,
  LedgerError,
  OverCap,
  Problem,
  Unreachable,
} from "./errors.js";
import { collectionPath, exchange, originOf, parseAddress, sleep } from "./http.js";
import { decodeJson } from "./json.js";
import { Ledger } from "./ledger.js";
import { parseProblem, parseReceipt, parseTerms, parseTicket } from "./messages.js";
import { NO_PERIOD, checkTurn, drawTurns, periodLabel, periodNumber } from "./panel.js";
import { boundsOf, checkGroup, checkKept, checkQuestion, held, panelOf, priceInAll, priceOf } from "./price.js";
import { checkValue } from "./query.js";
import { systemRandbelow } from "./sampling.js";

const TOO_LATE = ["ticket-expired", "collection-closed", "collection-full"];
const LATE = "your answer came too late; no new answer is drawn, and its charge stands";
const SECRET = /^[!-~]{1,128}$/;
const SETTLE = 0.005; // seconds from the start of drawing, whose time depends on the noise, to the next step
const SETTLE_CELLS = 8; // the largest number of cells for which `SETTLE` is enough: with more, drawing takes longer

export class Client {
  #retry;
  #clock;

  /**
   * `url` is https, or http on this machine; `retry` may have `attempts`, `first` and `longest`, the last two in seconds;
   * `clock` returns the milliseconds since 1970, which say in which period it is, where a collection has a panel.
   *
   * @param {string} url
   * @param {{ ledger?: ClientLedger, retry?: Retry, clock?: () => number }} options
   */
  constructor(url, { ledger = new Ledger(), retry = {}, clock = Date.now } = {}) {
    this.server = parseAddress(url);
    /** @type {ClientLedger} */
    this.ledger = ledger;
    this.#retry = retry;
    this.#clock = clock;
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
   * sent as it is, without noise. Of a panel, the first call joins, as `join` does; in a period in which the respondent
   * does not answer, it throws `NotYourTurn` without a request, and `maxEpsilon` is of all answers. Resolves to the entry, with its `query`, `answer` and `receipt`. Throws `InvalidValue`,
   * `InvalidAddress` and `InvalidEpsilon` before anything is sent, `InvalidGroup` before a ticket is requested,
   * `InvalidQuery`, `LedgerError` and `ServerError`.
   *
   * @param {string} collection
   * @param {number | string | Numbers} value a number within the terms' bounds, the text of one of the collection's
   *   categories, or a number for each of its components, by their names
   * @param {AnswerOptions} options
   */
  async answer(collection, value, { maxEpsilon = null, epsilon = null, invitation = null, group = null } = {}) {
    if (typeof value !== "string" && (typeof value !== "object" || value === null)) {
      checkValue(value);
    }
    const path = collectionPath(collection, "tickets");
    const [told, chosen] = [micro(maxEpsilon), micro(epsilon)];
    if (invitation !== null && !SECRET.test(invitation)) {
      throw new InvalidAddress("an invitation may contain only printable ASCII characters, no blanks, at most 128");
    }
    let [entry, period] = [await this.find(collection), NO_PERIOD];
    if (entry === null) {
      const { price, groups, terms } = await this.#price(collection, group !== null);
      checkTold(priceInAll(price, chosen), told);
      held(price, value);
      checkGroup(groups, group);
      const panel = panelOf(price);
      if (panel !== null) {
        period = checkTurn(
          panel,
          await this.#join(collection, told, terms === null ? null : { price, terms }),
          this.#clock(),
        );
        entry = await this.ledger.find(this.server, collection, period);
      }
      if (entry === null) {
        const { ticket, query } = await this.#ticket(path, collection, chosen, invitation, group);
        checkQuestion(price, query, chosen);
        entry = await this.ledger.charge(this.server, collection, ticket, query, period);
      }
    }
    if (entry.state === "charged") {
      const kept = await this.ledger.price(this.server, collection);
      const began = performance.now();
      const answer = entry.query.answer(kept === null ? checkValue(value) : held(kept, value));
      const floor = SETTLE * Math.max(1, entry.query.nCells / SETTLE_CELLS);
      await sleep(Math.max(0, floor - (performance.now() - began) / 1000));
      entry = await this.ledger.draw(entry.server, collection, answer, period);
    }
    return this.#send(entry);
  }

  /**
   * Joins the collection's panel, unless that is done. Resolves to the labels of the periods in which to answer, such as
   * `2026-W07`, which are drawn by chance; none where there is no panel. The ε of all answers is charged at once; if that
   * exceeds `maxEpsilon`, nothing is drawn. Throws `InvalidAddress`, `LedgerError` and `ServerError`.
   *
   * @param {string} collection
   * @param {Pick<AnswerOptions, "maxEpsilon">} options
   */
  async join(collection, { maxEpsilon = null } = {}) {
    const turns = await this.#join(collection, micro(maxEpsilon));
    const panel = (await this.ledger.price(this.server, collection))?.panel ?? null;
    return panel === null ? [] : turns.map((turn) => periodLabel(panel.period, turn));
  }

  /**
   * Sends the answer that the ledger holds for the collection; null if it holds none.
   *
   * @param {string} collection
   */
  async sendStored(collection) {
    const unsent = await this.ledger.unsent(this.server);
    const entry = (await this.find(collection)) ?? unsent.find((each) => each.collection === collection) ?? null;
    return entry === null || entry.state === "charged" ? null : this.#send(entry);
  }

  /** Sends all stored answers to this server; resolves to a Map from collection to entry or error. Throws `Unreachable`. */
  async resume() {
    /** @type {Map<string, SentEntry | DitherError>} */
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
   * The terms, with the bounds and the panel of the kept price, so that a server cannot hold a value to others later.
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
    return { terms: { ...terms, ...boundsOf(price), panel: panelOf(price) }, price };
  }

  /**
   * The periods in which to answer, drawn unless that is done; none without a panel.
   *
   * @type {(collection: string, told: number | null, known?: { price: Price, terms: Terms } | null) => Promise<number[]>}
   */
  async #join(collection, told, known = null) {
    const turns = await this.ledger.turns(this.server, collection);
    if (turns.length > 0) {
      return turns;
    }
    const { price, terms } = known ?? (await this.#told(collection));
    const [panel, { state }] = [panelOf(price), terms];
    if (panel === null) {
      return [];
    }
    checkTold(priceInAll(price, null), told);
    if (state !== "open") {
      throw new Problem(409, `urn:dither:collection-${state}`, `the collection is ${state}`);
    }
    const drawn = drawTurns(panel, periodNumber(panel.period, this.#clock()), systemRandbelow);
    return this.ledger.join(this.server, collection, drawn, price.microEpsilon);
  }

  /**
   * The kept price, and the groups: a price that an earlier version kept has none, and if a group is named, the terms say.
   *
   * @type {(collection: string, named: boolean) => Promise<{ price: Price, groups: Groups | null, terms: Terms | null }>}
   */
  async #price(collection, named) {
    const kept = await this.ledger.price(this.server, collection);
    if (kept !== null && (!named || (kept.groups ?? null) !== null)) {
      return { price: kept, groups: kept.groups ?? null, terms: null };
    }
    const { terms, price } = await this.#told(collection);
    return { price, groups: price.groups ?? terms.groups, terms };
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
   * @returns {Promise<SentEntry>}
   */
  async #send(entry) {
    const { server, collection, ticket, answer, retryKey, state, period } = entry;
    if (state === "sent") {
      const often = period === NO_PERIOD ? "" : " in each period";
      throw new AlreadyAnswered(`this collection already has your answer and takes only one${often}`, entry.receipt);
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
      const receipt = parseReceipt(decodeJson(response.body));
      const marked = await this.ledger.markSent(server, collection, receipt, period);
      return { ...marked, state: "sent", answer, retryKey, receipt };
    }
    const problem = parseProblem(response.status, response.body);
    if (TOO_LATE.includes(problem.reason)) {
      await this.ledger.markExpired(server, collection, period);
      throw new AnswerExpired(`${LATE}: ${problem.message}`);
    }
    if (problem.reason === "already-answered") {
      // A ledger that was restored from a copy has drawn a second answer; the one that the server has counts.
      await this.ledger.markExpired(server, collection, period);
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
    throw new OverCap(`answering this collection costs ε = ${costs}, more than the ε = ${most} that you were told`);
  }
}
