/**
 * The respondent's ledger in the browser's database for this origin and profile: every ε spent, and every answer until
 * the server has it.
 *
 * Each collection of each server has at most one entry, which is created before noise is drawn and never removed; of a
 * panel one for each period in which the respondent answers, which is `reserved` (paid for) before that period comes. Its
 * state is `charged` (ticket and question are stored, ε is spent), then `drawn` (the answer is stored for good, with the
 * key that it is sent with), then `sent` (the receipt is stored) or `expired` (the answer came too late; the charge
 * stands). Every call is one transaction, even between tabs, and resolves once that is stored.
 */

/** @import { Charge, Entry, LedgerOptions, Price, Query, State } from "./dither.d.ts" */
/** @import { Row } from "./entries.js" */

import { Caps, asked, charged, newRetryKey, opened, reserved, sum, turnsIn, uncharged } from "./entries.js";
import { epsilonText } from "./epsilon.js";
import { DitherError, LedgerError } from "./errors.js";
import { NO_PERIOD } from "./panel.js";

const BY_PERIOD = "one_entry_for_a_period_of_a_collection";
const [ENTRIES, RETRY_KEYS, PRICES] = ["entries", "retry_keys", "prices"];

export class Ledger {
  #name;
  /** @type {Promise<IDBDatabase> | null} */
  #database = null;
  #caps;

  /**
   * The caps of this object: `maxEpsilon` on the total, `maxEpsilonPerServer` on any one server, `maxEpsilonPerAnswer` on
   * one answer. Without `maxEpsilon`, they are 10, 5 and 2; with it, those that are left out are not capped.
   *
   * @param {LedgerOptions} options
   */
  constructor({ name = "dither", ...caps } = {}) {
    this.#name = name;
    this.#caps = new Caps(caps);
  }

  /** The cap on the total, as a decimal. */
  get maxEpsilon() {
    return epsilonText(this.#caps.total);
  }

  /**
   * The entry of a collection, or of one period of a panel; null if there is none, or only what is reserved.
   *
   * @type {(server: string, collection: string, period?: number) => Promise<Entry | null>}
   */
  find(server, collection, period = NO_PERIOD) {
    return this.#transact("readonly", async (entries) => {
      const row = await stored(entries, server, collection, period);
      return row && row.state !== "reserved" ? opened(row) : null;
    });
  }

  /**
   * Spends micro-ε on each of a panel's periods and reserves them. If it has reserved some, returns those and spends
   * nothing.
   *
   * @type {(server: string, collection: string, periods: number[], microEpsilon: number) => Promise<number[]>}
   */
  join(server, collection, periods, microEpsilon) {
    return this.#transact("readwrite", async (entries) => {
      const before = await rows(entries);
      if (turnsIn(before, server, collection).length === 0) {
        this.#caps.check(microEpsilon, before, server, periods.length);
        for (const period of periods) {
          await reply(entries.add(reserved(server, collection, period, microEpsilon)));
        }
      }
      return turnsIn(await rows(entries), server, collection);
    });
  }

  /**
   * The reserved periods of a panel, increasing.
   *
   * @type {(server: string, collection: string) => Promise<number[]>}
   */
  turns(server, collection) {
    return this.#transact("readonly", async (entries) => turnsIn(await rows(entries), server, collection));
  }

  /**
   * Spends the question's ε, unless that was reserved, and stores ticket and question. If there is an entry already,
   * returns it and spends nothing.
   *
   * @type {(server: string, collection: string, ticket: string, query: Query, period?: number) => Promise<Entry>}
   */
  charge(server, collection, ticket, query, period = NO_PERIOD) {
    return this.#transact("readwrite", async (entries) => {
      const found = await stored(entries, server, collection, period);
      if (found && found.state !== "reserved") {
        return opened(found);
      }
      if (!found) {
        this.#caps.check(query.microEpsilon, await rows(entries), server);
      }
      const entry = asked(found ?? reserved(server, collection, period, query.microEpsilon), ticket, query);
      await reply(entries.put(entry));
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

  /**
   * Stores the receipt of a drawn entry.
   *
   * @type {(server: string, collection: string, receipt: string, period?: number) => Promise<Entry>}
   */
  markSent(server, collection, receipt, period = NO_PERIOD) {
    return this.#advance(server, collection, period, "drawn", { state: "sent", receipt });
  }

  /**
   * Records that the answer of a drawn entry can no longer be stored by the server.
   *
   * @type {(server: string, collection: string, period?: number) => Promise<Entry>}
   */
  markExpired(server, collection, period = NO_PERIOD) {
    return this.#advance(server, collection, period, "drawn", { state: "expired" });
  }

  /**
   * The retry key for redeeming an invitation: random, and the same every time.
   *
   * @type {(server: string, collection: string) => Promise<string>}
   */
  retryKey(server, collection) {
    return this.#transact("readwrite", async (_, keys) => {
      const found = await reply(keys.get([server, collection]));
      if (found) {
        return found.key;
      }
      const key = newRetryKey();
      await reply(keys.add({ server, collection, key }));
      return key;
    });
  }

  /**
   * The price that was kept for a collection, or null.
   *
   * @type {(server: string, collection: string) => Promise<Price | null>}
   */
  price(server, collection) {
    return this.#transact("readonly", async (_, __, prices) => {
      return (await reply(prices.get([server, collection])))?.price ?? null;
    });
  }

  /**
   * Keeps a collection's price unless one is kept already, and returns the kept one: a price never changes. Beside it, the
   * collection's name, for people who read the ledger.
   *
   * @type {(server: string, collection: string, told: Price, name?: string | null) => Promise<Price>}
   */
  keepPrice(server, collection, told, name = null) {
    return this.#transact("readwrite", async (_, __, prices) => {
      const found = await reply(prices.get([server, collection]));
      const price = found ? found.price : told;
      if (!found || (found.name ?? null) === null) {
        await reply(prices.put({ server, collection, price, name }));
      }
      return price;
    });
  }

  /**
   * The drawn entries of a server, oldest first.
   *
   * @type {(server: string) => Promise<Entry[]>}
   */
  unsent(server) {
    return this.#transact("readonly", async (entries) => {
      const all = await rows(entries);
      return all.filter((entry) => entry.server === server && entry.state === "drawn").map(opened);
    });
  }

  /**
   * Every charge, oldest first, with amounts as decimals.
   *
   * @type {() => Promise<Charge[]>}
   */
  entries() {
    return this.#transact("readonly", async (entries, _, prices) => {
      const all = await rows(entries);
      const kept = await Promise.all(all.map(({ server, collection }) => reply(prices.get([server, collection]))));
      return all.map((row, number) => charged(row, kept[number]?.name));
    });
  }

  /**
   * The total ε spent, or that on one server, as a decimal.
   *
   * @type {(server?: string | null) => Promise<string>}
   */
  spent(server = null) {
    return this.#transact("readonly", async (entries) => epsilonText(sum(await rows(entries), server)));
  }

  async close() {
    (await this.#database)?.close();
    this.#database = null;
  }

  /**
   * Changes an entry that is in the state `before`, and leaves any other as it is.
   *
   * @type {(server: string, collection: string, period: number, before: State, change: Partial<Row>) => Promise<Entry>}
   */
  #advance(server, collection, period, before, change) {
    return this.#transact("readwrite", async (entries) => {
      const entry = await stored(entries, server, collection, period);
      if (!entry) {
        throw uncharged();
      }
      if (entry.state === before) {
        Object.assign(entry, change);
        await reply(entries.put(entry));
      }
      return opened(entry);
    });
  }

  /**
   * @template T
   * @param {IDBTransactionMode} mode
   * @param {(entries: IDBObjectStore, keys: IDBObjectStore, prices: IDBObjectStore) => Promise<T>} work
   */
  async #transact(mode, work) {
    try {
      this.#database ??= open(this.#name);
      const database = await this.#database;
      // Strict: an answer that is reported as stored survives a power cut.
      const transaction = database.transaction([ENTRIES, RETRY_KEYS, PRICES], mode, { durability: "strict" });
      /** @type {Promise<void>} */
      const ended = new Promise((resolve, reject) => {
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => reject(transaction.error ?? new Error("aborted"));
      });
      /** @param {string} name */
      const store = (name) => transaction.objectStore(name);
      const done = work(store(ENTRIES), store(RETRY_KEYS), store(PRICES)).catch(undo(transaction));
      const [result] = await Promise.all([done, ended]);
      return result;
    } catch (error) {
      if (error instanceof DitherError) {
        throw error;
      }
      this.#database = null;
      throw new LedgerError(
        `the ledger in this browser cannot be used: ${error instanceof Error ? error.name : error}`,
      );
    }
  }
}

/** @type {(transaction: IDBTransaction) => (error: unknown) => never} */
function undo(transaction) {
  return (error) => {
    try {
      transaction.abort();
    } catch {
      // It has ended already.
    }
    throw error;
  };
}

/** @param {string} name */
async function open(name) {
  const request = indexedDB.open(name, 4);
  request.onupgradeneeded = ({ oldVersion }) => {
    if (oldVersion < 1) {
      const entries = request.result.createObjectStore(ENTRIES, { keyPath: "id", autoIncrement: true });
      // One answer to a collection, or of a panel one in each period, ever.
      entries.createIndex(BY_PERIOD, ["server", "collection", "period"], { unique: true });
      request.result.createObjectStore(RETRY_KEYS, { keyPath: ["server", "collection"] });
    }
    if (oldVersion < 2) {
      // The price in the first terms that this ledger saw: no question may cost more.
      request.result.createObjectStore(PRICES, { keyPath: ["server", "collection"] });
    }
    if (oldVersion > 0 && request.transaction) {
      upgradeEntries(request.transaction.objectStore(ENTRIES), oldVersion);
    }
  };
  const database = await reply(request);
  database.onversionchange = () => database.close();
  return database;
}

/**
 * Gives every entry a period, and a retry key to every stored answer that has none and is not sent yet.
 *
 * @param {IDBObjectStore} entries
 * @param {number} oldVersion
 */
function upgradeEntries(entries, oldVersion) {
  entries.deleteIndex("one_entry_for_a_collection");
  entries.createIndex(BY_PERIOD, ["server", "collection", "period"], { unique: true });
  const request = entries.openCursor();
  request.onsuccess = () => {
    const cursor = request.result;
    if (cursor) {
      const { state, retry_key: kept = null } = cursor.value;
      const key = oldVersion < 3 && state === "drawn" ? newRetryKey() : kept;
      cursor.update({ ...cursor.value, period: NO_PERIOD, retry_key: key });
      cursor.continue();
    }
  };
}

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
function reply(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** @type {(entries: IDBObjectStore) => Promise<Row[]>} */
function rows(entries) {
  return reply(entries.getAll());
}

/** @type {(entries: IDBObjectStore, server: string, collection: string, period: number) => Promise<Row | undefined>} */
function stored(entries, server, collection, period) {
  return reply(entries.index(BY_PERIOD).get([server, collection, period]));
}
