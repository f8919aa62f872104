/**
 * The respondent's ledger in the browser's database for this origin and profile: every ε spent, and every answer until
 * the server has it.
 *
 * Each collection of each server has at most one entry, which is created before noise is drawn and never removed. Its
 * state is `charged` (ticket and question are stored, ε is spent), then `drawn` (the answer is stored for good, with the
 * key that it is sent with), then `sent` (the receipt is stored) or `expired` (the answer came too late; the charge
 * stands). Every call is one transaction, even between tabs, and resolves once that is stored.
 */

/** @import { Charge, Entry, LedgerOptions, Price, Query, State } from "./dither.d.ts" */
/** @import { Row } from "./entries.js" */

import { Caps, charged, newRetryKey, opened, sum, uncharged } from "./entries.js";
import { epsilonText } from "./epsilon.js";
import { DitherError, LedgerError } from "./errors.js";

const BY_COLLECTION = "one_entry_for_a_collection";
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
   * The entry of a collection, or null.
   *
   * @type {(server: string, collection: string) => Promise<Entry | null>}
   */
  find(server, collection) {
    return this.#transact("readonly", async (entries) => {
      const row = await stored(entries, server, collection);
      return row ? opened(row) : null;
    });
  }

  /**
   * Spends the question's ε and stores ticket and question. If there is an entry already, returns it and spends nothing.
   *
   * @type {(server: string, collection: string, ticket: string, query: Query) => Promise<Entry>}
   */
  charge(server, collection, ticket, query) {
    return this.#transact("readwrite", async (entries) => {
      const found = await stored(entries, server, collection);
      if (found) {
        return opened(found);
      }
      this.#caps.check(query.microEpsilon, await rows(entries), server);
      /** @type {Row} */
      const entry = {
        server,
        collection,
        state: "charged",
        micro_epsilon: query.microEpsilon,
        micro_rho: query.microRho,
        ticket,
        query: JSON.stringify(query),
        answer: null,
        retry_key: null,
        receipt: null,
      };
      await reply(entries.add(entry));
      return opened(entry);
    });
  }

  /**
   * Stores the answer of a charged entry with a new retry key; an entry that has an answer already is left as it is.
   *
   * @type {(server: string, collection: string, answer: number) => Promise<Entry>}
   */
  draw(server, collection, answer) {
    return this.#advance(server, collection, "charged", { state: "drawn", answer, retry_key: newRetryKey() });
  }

  /**
   * Stores the receipt of a drawn entry.
   *
   * @type {(server: string, collection: string, receipt: string) => Promise<Entry>}
   */
  markSent(server, collection, receipt) {
    return this.#advance(server, collection, "drawn", { state: "sent", receipt });
  }

  /**
   * Records that the answer of a drawn entry can no longer be stored by the server.
   *
   * @type {(server: string, collection: string) => Promise<Entry>}
   */
  markExpired(server, collection) {
    return this.#advance(server, collection, "drawn", { state: "expired" });
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
   * @type {(server: string, collection: string, before: State, change: Partial<Row>) => Promise<Entry>}
   */
  #advance(server, collection, before, change) {
    return this.#transact("readwrite", async (entries) => {
      const entry = await stored(entries, server, collection);
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
  const request = indexedDB.open(name, 3);
  request.onupgradeneeded = ({ oldVersion }) => {
    if (oldVersion < 1) {
      const entries = request.result.createObjectStore(ENTRIES, { keyPath: "id", autoIncrement: true });
      // One answer to a collection, ever.
      entries.createIndex(BY_COLLECTION, ["server", "collection"], { unique: true });
      request.result.createObjectStore(RETRY_KEYS, { keyPath: ["server", "collection"] });
    }
    if (oldVersion < 2) {
      // The price in the first terms that this ledger saw: no question may cost more.
      request.result.createObjectStore(PRICES, { keyPath: ["server", "collection"] });
    }
    if (oldVersion > 0 && request.transaction) {
      giveRetryKeys(request.transaction.objectStore(ENTRIES));
    }
  };
  const database = await reply(request);
  database.onversionchange = () => database.close();
  return database;
}

/**
 * Gives a retry key to every stored answer that is not sent yet.
 *
 * @param {IDBObjectStore} entries
 */
function giveRetryKeys(entries) {
  const request = entries.openCursor();
  request.onsuccess = () => {
    const cursor = request.result;
    if (cursor) {
      cursor.update({ ...cursor.value, retry_key: cursor.value.state === "drawn" ? newRetryKey() : null });
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

/** @type {(entries: IDBObjectStore, server: string, collection: string) => Promise<Row | undefined>} */
function stored(entries, server, collection) {
  return reply(entries.index(BY_COLLECTION).get([server, collection]));
}
