/**
 * The respondent's ledger in the browser's database for this origin and profile: every ε spent, and every answer until
 * the server has it.
 *
 * Each collection of each server has at most one entry, which is created before noise is drawn and never removed. Its
 * state is `charged` (ticket and question are stored, ε is spent), then `drawn` (the answer is stored for good, with the
 * key that it is sent with), then `sent` (the receipt is stored) or `expired` (the answer came too late; the charge
 * stands). Every call is one transaction, even between tabs, and resolves once that is stored.
 */

/** @import { Charge, Entry, Epsilon, LedgerOptions, Price, Query, State } from "./dither.d.ts" */

import { epsilonText, parseMicro } from "./epsilon.js";
import { DitherError, LedgerError, OverCap } from "./errors.js";
import { originOf } from "./http.js";
import { decodeJson } from "./json.js";
import { parseQuery } from "./queries.js";

const [TOTAL, PER_SERVER, PER_ANSWER] = ["10", "5", "2"]; // the caps unless the respondent sets a total
const ALLOW_MORE = "set maxEpsilon to allow more";
const BY_COLLECTION = "one_entry_for_a_collection";
const [ENTRIES, RETRY_KEYS, PRICES] = ["entries", "retry_keys", "prices"];

/**
 * @typedef {object} Row a stored entry
 * @property {string} server
 * @property {string} collection
 * @property {State} state
 * @property {number} micro_epsilon
 * @property {number | null} micro_rho
 * @property {string} ticket
 * @property {string} query
 * @property {number | null} answer
 * @property {string | null} retry_key
 * @property {string | null} receipt
 */

export class Ledger {
  #name;
  /** @type {Promise<IDBDatabase> | null} */
  #database = null;
  #total;
  #perServer;
  #perAnswer;

  /**
   * The caps of this object: `maxEpsilon` on the total, `maxEpsilonPerServer` on any one server, `maxEpsilonPerAnswer` on
   * one answer. Without `maxEpsilon`, they are 10, 5 and 2; with it, those that are left out are not capped.
   *
   * @param {LedgerOptions} options
   */
  constructor({ name = "dither", maxEpsilon = null, maxEpsilonPerServer = null, maxEpsilonPerAnswer = null } = {}) {
    const [perServer, perAnswer] = maxEpsilon === null ? [PER_SERVER, PER_ANSWER] : [null, null];
    this.#name = name;
    this.#total = parseMicro(maxEpsilon ?? TOTAL, "maxEpsilon");
    this.#perServer = cap(maxEpsilonPerServer ?? perServer, "maxEpsilonPerServer");
    this.#perAnswer = cap(maxEpsilonPerAnswer ?? perAnswer, "maxEpsilonPerAnswer");
  }

  /** The cap on the total, as a decimal. */
  get maxEpsilon() {
    return epsilonText(this.#total);
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
      this.#check(query.microEpsilon, await rows(entries), server);
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
   * Keeps a collection's price unless one is kept already, and returns the kept one: a price never changes.
   *
   * @type {(server: string, collection: string, told: Price) => Promise<Price>}
   */
  keepPrice(server, collection, told) {
    return this.#transact("readwrite", async (_, __, prices) => {
      const found = await reply(prices.get([server, collection]));
      if (!found) {
        await reply(prices.add({ server, collection, price: told }));
      }
      return found ? found.price : told;
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
    return this.#transact("readonly", async (entries) =>
      (await rows(entries)).map(({ server, collection, state, receipt, micro_epsilon, micro_rho }) => ({
        server,
        collection,
        state,
        receipt,
        epsilon: epsilonText(micro_epsilon),
        rho: micro_rho === null ? null : epsilonText(micro_rho),
      })),
    );
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

  /** @type {(cost: number, entries: Row[], server: string) => void} */
  #check(cost, entries, server) {
    const costs = `this question costs ε = ${epsilonText(cost)}`;
    if (this.#perAnswer !== null && cost > this.#perAnswer) {
      throw new OverCap(`${costs}, and ${epsilonText(this.#perAnswer)} is allowed for one answer; ${ALLOW_MORE}`);
    }
    const bounds = [
      { spent: sum(entries), most: this.#total, where: "in total" },
      { spent: sum(entries, originOf(server)), most: this.#perServer, where: "on this server" },
    ];
    for (const { spent, most, where } of bounds) {
      if (most !== null && spent + BigInt(cost) > most) {
        const [used, allowed] = [epsilonText(spent), epsilonText(most)];
        throw new OverCap(`${costs}, and ε = ${used} of the ${allowed} allowed ${where} is spent; ${ALLOW_MORE}`);
      }
    }
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
        throw new LedgerError("the ledger has no charge for this collection");
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

/** @type {(amount: Epsilon | null, name: string) => bigint | null} */
function cap(amount, name) {
  return amount === null ? null : parseMicro(amount, name);
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

/** A random key that cannot be guessed. */
function newRetryKey() {
  return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(24))))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
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

/** @type {(row: Row) => Entry} */
function opened(row) {
  const { server, collection, state, ticket, answer, retry_key: retryKey, receipt } = row;
  try {
    return { server, collection, state, ticket, answer, retryKey, receipt, query: parseQuery(decodeJson(row.query)) };
  } catch {
    throw new LedgerError("the ledger holds a query that this version cannot read");
  }
}

/** @type {(entries: Row[], server?: string | null) => bigint} */
function sum(entries, server = null) {
  return entries
    .filter((entry) => server === null || `${entry.server}/`.startsWith(`${server}/`))
    .reduce((total, entry) => total + BigInt(entry.micro_epsilon), 0n);
}
