/**
 * A ledger in a store of texts by key, such as the AsyncStorage of React Native: every ε spent, and every answer until
 * the server has it. It is one text under one key, so that each change is stored whole or not at all. Such a store has no
 * transactions: calls in one program wait for each other, and no second program may use the same store.
 */

/** @import { Charge, Entry, Price, Query, State } from "./dither.d.ts" */
/** @import { AsyncStorageLike, StorageLedgerOptions } from "./async-storage.d.ts" */
/** @import { Row } from "./entries.js" */

import { Caps, asked, charged, newRetryKey, opened, reserved, sum, turnsIn, uncharged } from "./entries.js";
import { epsilonText } from "./epsilon.js";
import { DitherError, LedgerError } from "./errors.js";
import { NO_PERIOD } from "./panel.js";

const VERSION = 2; // of what is stored: since 2 there are panels, and what an earlier version stored is read

/**
 * @typedef {object} Kept what is stored
 * @property {number} version
 * @property {Row[]} entries
 * @property {{ server: string, collection: string, key: string }[]} retry_keys
 * @property {{ server: string, collection: string, price: Price, name: string | null }[]} prices
 */

/** @typedef {{ server: string, collection: string, period?: number }} Kin */

/** The end of the last call of any ledger in a store. @type {WeakMap<AsyncStorageLike, Promise<unknown>>} */
const turns = new WeakMap();

export class StorageLedger {
  #storage;
  #key;
  #caps;

  /**
   * Throws `InvalidEpsilon` for a cap that is none.
   *
   * @param {AsyncStorageLike} storage
   * @param {StorageLedgerOptions} options
   */
  constructor(storage, { key = "dither-ledger", ...caps } = {}) {
    this.#storage = storage;
    this.#key = key;
    this.#caps = new Caps(caps);
  }

  /** The cap on the total, as a decimal. */
  get maxEpsilon() {
    return epsilonText(this.#caps.total);
  }

  /** @type {(server: string, collection: string, period?: number) => Promise<Entry | null>} */
  find(server, collection, period = NO_PERIOD) {
    return this.#read(({ entries }) => {
      const row = entries.find(of(server, collection, period));
      return row === undefined || row.state === "reserved" ? null : opened(row);
    });
  }

  /**
   * Spends micro-ε on each of a panel's periods and reserves them. If it has reserved some, returns those and spends
   * nothing.
   *
   * @type {(server: string, collection: string, periods: number[], microEpsilon: number) => Promise<number[]>}
   */
  join(server, collection, periods, microEpsilon) {
    return this.#change(({ entries }) => {
      if (turnsIn(entries, server, collection).length === 0) {
        this.#caps.check(microEpsilon, entries, server, periods.length);
        entries.push(...periods.map((period) => reserved(server, collection, period, microEpsilon)));
      }
      return turnsIn(entries, server, collection);
    });
  }

  /** @type {(server: string, collection: string) => Promise<number[]>} */
  turns(server, collection) {
    return this.#read(({ entries }) => turnsIn(entries, server, collection));
  }

  /**
   * Spends the question's ε, unless that was reserved, and stores ticket and question. If there is an entry already,
   * returns it and spends nothing.
   *
   * @type {(server: string, collection: string, ticket: string, query: Query, period?: number) => Promise<Entry>}
   */
  charge(server, collection, ticket, query, period = NO_PERIOD) {
    return this.#change(({ entries }) => {
      const found = entries.find(of(server, collection, period));
      if (found?.state === "reserved") {
        return opened(Object.assign(found, asked(found, ticket, query)));
      }
      if (found) {
        return opened(found);
      }
      this.#caps.check(query.microEpsilon, entries, server);
      const entry = asked(reserved(server, collection, period, query.microEpsilon), ticket, query);
      entries.push(entry);
      return opened(entry);
    });
  }

  /**
   * Stores the answer of a charged entry with a new retry key; an entry that has an answer already is left as it is.
   *
   * @type {(server: string, collection: string, answer: number, period?: number) => Promise<Entry>}
   */
  draw(server, collection, answer, period = NO_PERIOD) {
    return this.#advance(server, collection, period, "charged", { state: "drawn", answer, retry_key: newRetryKey() });
  }

  /** @type {(server: string, collection: string, receipt: string, period?: number) => Promise<Entry>} */
  markSent(server, collection, receipt, period = NO_PERIOD) {
    return this.#advance(server, collection, period, "drawn", { state: "sent", receipt });
  }

  /** @type {(server: string, collection: string, period?: number) => Promise<Entry>} */
  markExpired(server, collection, period = NO_PERIOD) {
    return this.#advance(server, collection, period, "drawn", { state: "expired" });
  }

  /**
   * The retry key for redeeming an invitation: random, and the same every time.
   *
   * @type {(server: string, collection: string) => Promise<string>}
   */
  retryKey(server, collection) {
    return this.#change(({ retry_keys: keys }) => {
      const found = keys.find(of(server, collection)) ?? { server, collection, key: newRetryKey() };
      if (!keys.includes(found)) {
        keys.push(found);
      }
      return found.key;
    });
  }

  /** @type {(server: string, collection: string) => Promise<Price | null>} */
  price(server, collection) {
    return this.#read(({ prices }) => prices.find(of(server, collection))?.price ?? null);
  }

  /**
   * Keeps a collection's price unless one is kept already, and returns the kept one: a price never changes. Beside it, the
   * collection's name.
   *
   * @type {(server: string, collection: string, told: Price, name?: string | null) => Promise<Price>}
   */
  keepPrice(server, collection, told, name = null) {
    return this.#change(({ prices }) => {
      const found = prices.find(of(server, collection));
      if (found) {
        found.name ??= name;
        return found.price;
      }
      prices.push({ server, collection, price: told, name });
      return told;
    });
  }

  /**
   * The drawn entries of a server, oldest first.
   *
   * @type {(server: string) => Promise<Entry[]>}
   */
  unsent(server) {
    return this.#read(({ entries }) =>
      entries.filter((entry) => entry.server === server && entry.state === "drawn").map(opened),
    );
  }

  /** @type {() => Promise<Charge[]>} */
  entries() {
    return this.#read(({ entries, prices }) =>
      entries.map((row) => charged(row, prices.find(of(row.server, row.collection))?.name)),
    );
  }

  /** @type {(server?: string | null) => Promise<string>} */
  spent(server = null) {
    return this.#read(({ entries }) => epsilonText(sum(entries, server)));
  }

  async close() {
    // A store is not opened.
  }

  /**
   * Changes an entry that is in the state `before`, and leaves any other as it is.
   *
   * @type {(server: string, collection: string, period: number, before: State, change: Partial<Row>) => Promise<Entry>}
   */
  #advance(server, collection, period, before, change) {
    return this.#change(({ entries }) => {
      const entry = entries.find(of(server, collection, period));
      if (!entry) {
        throw uncharged();
      }
      if (entry.state === before) {
        Object.assign(entry, change);
      }
      return opened(entry);
    });
  }

  /**
   * @template T
   * @param {(kept: Kept) => T} work
   * @returns {Promise<T>}
   */
  #read(work) {
    return this.#inTurn(async () => work(parsed(await this.#storage.getItem(this.#key))));
  }

  /**
   * What `work` returns, once the text that it has changed is stored.
   *
   * @template T
   * @param {(kept: Kept) => T} work
   * @returns {Promise<T>}
   */
  #change(work) {
    return this.#inTurn(async () => {
      const before = await this.#storage.getItem(this.#key);
      const kept = parsed(before);
      const result = work(kept);
      const after = JSON.stringify(kept);
      if (after !== before) {
        await this.#storage.setItem(this.#key, after);
      }
      return result;
    });
  }

  /**
   * @template T
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  #inTurn(work) {
    const done = (turns.get(this.#storage) ?? Promise.resolve()).then(() => reported(work));
    turns.set(
      this.#storage,
      done.catch(() => {}),
    );
    return done;
  }
}

/**
 * What is of this collection, and of this period of a panel.
 *
 * @type {(server: string, collection: string, period?: number) => (kept: Kin) => boolean}
 */
function of(server, collection, period = NO_PERIOD) {
  return (kept) => kept.server === server && kept.collection === collection && (kept.period ?? NO_PERIOD) === period;
}

/**
 * What a text holds. A text that cannot be read is an error, and never the beginning of an empty ledger.
 *
 * @param {string | null | undefined} text
 * @returns {Kept}
 */
function parsed(text) {
  if (text === null || text === undefined) {
    return { version: VERSION, entries: [], retry_keys: [], prices: [] };
  }
  const kept = JSON.parse(text);
  if (![1, VERSION].includes(kept?.version)) {
    throw new LedgerError("the ledger in this store was written by another version of Dither");
  }
  return { ...kept, version: VERSION };
}

/**
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
async function reported(work) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DitherError) {
      throw error;
    }
    throw new LedgerError(`the ledger in this store cannot be used: ${error instanceof Error ? error.name : error}`);
  }
}
