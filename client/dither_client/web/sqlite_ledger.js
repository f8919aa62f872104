/**
 * A ledger in one SQLite file, which any number of processes may share: every ε spent, and every answer until the server
 * has it. The file is the one of the Python client (`dither_client.ledger.sqlite`), and either may write it.
 */

/** @import { Charge, Entry, LedgerCaps, Price, Query, State } from "./dither.d.ts" */
/** @import { SqliteDatabase } from "./node-sqlite.d.ts" */
/** @import { Row, Spending } from "./entries.js" */

import { Caps, charged, newRetryKey, opened, sum, uncharged } from "./entries.js";
import { epsilonText, parseMicro } from "./epsilon.js";
import { DitherError, LedgerError } from "./errors.js";

const VERSION = 5; // of the file, as PRAGMA user_version
const BUSY_TIMEOUT = 30_000;
const WHERE = "WHERE server = ? AND collection = ?";

const SCHEMA = `
CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    server TEXT NOT NULL,
    collection TEXT NOT NULL,
    state TEXT NOT NULL,
    micro_epsilon INTEGER NOT NULL,
    ticket TEXT NOT NULL,
    query TEXT NOT NULL,
    answer INTEGER,
    receipt TEXT,
    micro_rho INTEGER CONSTRAINT a_rho_is_positive CHECK (micro_rho > 0),
    retry_key TEXT,
    -- One answer to a collection, ever.
    CONSTRAINT one_entry_for_a_collection UNIQUE (server, collection),
    CONSTRAINT a_charge_is_positive CHECK (micro_epsilon > 0),
    -- What is stored says how far the answer has come.
    CONSTRAINT the_state_is_what_is_stored CHECK (
        CASE state
            WHEN 'charged' THEN answer IS NULL AND receipt IS NULL
            WHEN 'drawn' THEN answer IS NOT NULL AND receipt IS NULL
            WHEN 'sent' THEN answer IS NOT NULL AND receipt IS NOT NULL
            WHEN 'expired' THEN answer IS NOT NULL AND receipt IS NULL
            ELSE 0
        END
    )
);
CREATE TABLE retry_keys (
    server TEXT NOT NULL, collection TEXT NOT NULL, key TEXT NOT NULL,
    CONSTRAINT one_retry_key_for_a_collection UNIQUE (server, collection)
);
CREATE TABLE prices (
    server TEXT NOT NULL, collection TEXT NOT NULL, price TEXT NOT NULL,
    CONSTRAINT one_price_of_a_collection UNIQUE (server, collection)
);
PRAGMA user_version = ${VERSION};
`;

export class SqliteLedger {
  #database;
  #caps;

  /**
   * A ledger in an open database of `node:sqlite` or better-sqlite3, which nothing else should use meanwhile. Throws
   * `InvalidEpsilon`, and `LedgerError` for a database that is not a ledger, or one of another version.
   *
   * @param {SqliteDatabase} database
   * @param {LedgerCaps} caps as those of `Ledger`
   */
  constructor(database, caps = {}) {
    this.#caps = new Caps(caps);
    this.#database = database;
    reported(() => this.#prepare());
  }

  /**
   * The ledger in the file at `path`, which is created if there is none, for this user alone, by the `node:sqlite` of this
   * Node. Rejects with `InvalidEpsilon` and `LedgerError`.
   *
   * @param {string} path
   * @param {LedgerCaps} caps
   */
  static async open(path, caps = {}) {
    const sqlite = await import("node:sqlite").catch(() => {
      throw new LedgerError(
        "this Node has no node:sqlite: use 22.13 or later, or give a database of better-sqlite3 to new SqliteLedger",
      );
    });
    const { closeSync, openSync } = await import("node:fs");
    return reported(() => {
      try {
        closeSync(openSync(path, "wx", 0o600));
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) {
          throw error;
        }
      }
      const database = new sqlite.DatabaseSync(path);
      try {
        return new SqliteLedger(database, caps);
      } catch (error) {
        database.close();
        throw error;
      }
    });
  }

  /** The cap on the total, as a decimal. */
  get maxEpsilon() {
    return epsilonText(this.#caps.total);
  }

  /** @type {(server: string, collection: string) => Promise<Entry | null>} */
  async find(server, collection) {
    return reported(() => this.#find(server, collection));
  }

  /**
   * Spends the question's ε and stores ticket and question. If there is an entry already, returns it and spends nothing.
   *
   * @type {(server: string, collection: string, ticket: string, query: Query) => Promise<Entry>}
   */
  async charge(server, collection, ticket, query) {
    return this.#transact(() => {
      const found = this.#find(server, collection);
      if (found !== null) {
        return found;
      }
      this.#caps.check(query.microEpsilon, this.#spendings(), server);
      this.#run(
        "INSERT INTO entries (server, collection, state, micro_epsilon, micro_rho, ticket, query) " +
          "VALUES (?, ?, 'charged', ?, ?, ?, ?)",
        server,
        collection,
        query.microEpsilon,
        query.microRho,
        ticket,
        JSON.stringify(query),
      );
      return this.#entry(server, collection);
    });
  }

  /**
   * Stores the answer of a charged entry with a new retry key; an entry that has an answer already is left as it is.
   *
   * @type {(server: string, collection: string, answer: number) => Promise<Entry>}
   */
  async draw(server, collection, answer) {
    const change = "state = 'drawn', answer = ?, retry_key = ?";
    return this.#advance(server, collection, "charged", change, answer, newRetryKey());
  }

  /** @type {(server: string, collection: string, receipt: string) => Promise<Entry>} */
  async markSent(server, collection, receipt) {
    return this.#advance(server, collection, "drawn", "state = 'sent', receipt = ?", receipt);
  }

  /** @type {(server: string, collection: string) => Promise<Entry>} */
  async markExpired(server, collection) {
    return this.#advance(server, collection, "drawn", "state = 'expired'");
  }

  /**
   * The retry key for redeeming an invitation: random, and the same every time.
   *
   * @type {(server: string, collection: string) => Promise<string>}
   */
  async retryKey(server, collection) {
    return this.#transact(() => {
      const row = [server, collection, newRetryKey()];
      this.#run("INSERT OR IGNORE INTO retry_keys (server, collection, key) VALUES (?, ?, ?)", ...row);
      return this.#row(`SELECT key FROM retry_keys ${WHERE}`, server, collection).key;
    });
  }

  /** @type {(server: string, collection: string) => Promise<Price | null>} */
  async price(server, collection) {
    return reported(() => this.#price(server, collection));
  }

  /**
   * Keeps a collection's price unless one is kept already, and returns the kept one: a price never changes. Within it, the
   * collection's name, which the Python client passes over.
   *
   * @type {(server: string, collection: string, told: Price, name?: string | null) => Promise<Price>}
   */
  async keepPrice(server, collection, told, name = null) {
    return this.#transact(() => {
      const row = [server, collection, JSON.stringify(storedPrice(told))];
      this.#run("INSERT OR IGNORE INTO prices (server, collection, price) VALUES (?, ?, ?)", ...row);
      const kept = this.#stored(server, collection);
      if (name !== null && kept.name === undefined) {
        const named = JSON.stringify({ ...kept, name });
        this.#run(`UPDATE prices SET price = ? ${WHERE}`, named, server, collection);
      }
      return readPrice(kept);
    });
  }

  /**
   * The drawn entries of a server, oldest first; not an institution's counts, which are texts and are not sent from here.
   *
   * @type {(server: string) => Promise<Entry[]>}
   */
  async unsent(server) {
    const drawn = "WHERE server = ? AND state = 'drawn' AND typeof(answer) = 'integer' ORDER BY id";
    return reported(() => this.#rows(`SELECT * FROM entries ${drawn}`, server).map(opened));
  }

  /** @type {() => Promise<Charge[]>} */
  async entries() {
    return reported(() =>
      this.#rows("SELECT * FROM entries ORDER BY id").map((row) =>
        charged(row, this.#stored(row.server, row.collection)?.name),
      ),
    );
  }

  /** @type {(server?: string | null) => Promise<string>} */
  async spent(server = null) {
    return reported(() => epsilonText(sum(this.#spendings(), server)));
  }

  /** Closes the database. */
  async close() {
    reported(() => this.#database.close());
  }

  #prepare() {
    this.#database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT}`);
    // A transaction that is reported as done survives a power cut.
    this.#database.exec("PRAGMA synchronous = EXTRA");
    if (this.#version() === 0) {
      this.#transact(() => this.#create());
    }
    if (this.#version() !== VERSION) {
      throw new LedgerError(
        "the ledger's file was written by another version of Dither: run `dither answer` to upgrade it",
      );
    }
  }

  #create() {
    if (this.#version() !== 0) {
      return; // another process has done it meanwhile
    }
    if (this.#row("SELECT count(*) AS tables FROM sqlite_master").tables > 0) {
      throw new LedgerError("the file is a database, but not a ledger");
    }
    this.#database.exec(SCHEMA);
  }

  /** @returns {number} */
  #version() {
    return this.#row("PRAGMA user_version").user_version;
  }

  /** @type {(server: string, collection: string) => Entry | null} */
  #find(server, collection) {
    const [row] = this.#rows(`SELECT * FROM entries ${WHERE}`, server, collection);
    return row === undefined ? null : opened(row);
  }

  /** @type {(server: string, collection: string) => Entry} */
  #entry(server, collection) {
    const entry = this.#find(server, collection);
    if (entry === null) {
      throw uncharged();
    }
    return entry;
  }

  /** @type {(server: string, collection: string) => Price | null} */
  #price(server, collection) {
    const stored = this.#stored(server, collection);
    return stored === null ? null : readPrice(stored);
  }

  /** @type {(server: string, collection: string) => any} */
  #stored(server, collection) {
    const [row] = this.#rows(`SELECT price FROM prices ${WHERE}`, server, collection);
    return row === undefined ? null : JSON.parse(row.price);
  }

  /** @returns {Spending[]} */
  #spendings() {
    return this.#rows("SELECT server, micro_epsilon FROM entries");
  }

  /**
   * Changes an entry that is in the state `before`, and leaves any other as it is.
   *
   * @type {(server: string, collection: string, before: State, change: string, ...values: (string | number)[]) => Entry}
   */
  #advance(server, collection, before, change, ...values) {
    return this.#transact(() => {
      this.#run(`UPDATE entries SET ${change} ${WHERE} AND state = ?`, ...values, server, collection, before);
      return this.#entry(server, collection);
    });
  }

  /** @type {(statement: string, ...values: (string | number | null)[]) => void} */
  #run(statement, ...values) {
    this.#database.prepare(statement).run(...values);
  }

  /** @type {(statement: string, ...values: string[]) => any[]} */
  #rows(statement, ...values) {
    return this.#database.prepare(statement).all(...values);
  }

  /** @type {(statement: string, ...values: string[]) => any} */
  #row(statement, ...values) {
    return this.#rows(statement, ...values)[0];
  }

  /**
   * What `work` returns, in one transaction that excludes other writers and is rolled back if anything is thrown.
   *
   * @template T
   * @param {() => T} work
   * @returns {T}
   */
  #transact(work) {
    return reported(() => {
      this.#database.exec("BEGIN IMMEDIATE");
      try {
        const result = work();
        this.#database.exec("COMMIT");
        return result;
      } catch (error) {
        try {
          this.#database.exec("ROLLBACK");
        } catch {
          // SQLite has rolled it back already.
        }
        throw error;
      }
    });
  }
}

/**
 * What `work` returns; throws `LedgerError` for an error that is not one of this module's own.
 *
 * @template T
 * @param {() => T} work
 * @returns {T}
 */
function reported(work) {
  try {
    return work();
  } catch (error) {
    if (error instanceof DitherError) {
      throw error;
    }
    throw new LedgerError(`the ledger's file cannot be used: ${error instanceof Error ? error.message : error}`);
  }
}

/**
 * The price as the Python client stores it, with ε as text.
 *
 * @param {Price} price
 */
function storedPrice({ mechanism, transform, microEpsilon, microEpsilonChoices, microRho, levels, ...rest }) {
  const { categories, minimum, maximum, groups } = rest;
  return {
    mechanism,
    transform,
    epsilon: epsilonText(microEpsilon),
    choices: microEpsilonChoices.map(epsilonText),
    rho: microRho === null ? null : epsilonText(microRho),
    levels,
    ...(categories.length > 0 ? { categories } : {}),
    ...(minimum === null && maximum === null ? {} : { minimum, maximum }),
    ...(groups === null ? {} : { groups }),
  };
}

/**
 * @param {any} stored
 * @returns {Price}
 */
function readPrice({ mechanism, transform, epsilon, choices, rho, levels, categories, minimum, maximum, groups }) {
  /** @param {unknown} amount */
  const micro = (amount) => Number(parseMicro(amount));
  return {
    mechanism,
    transform,
    microEpsilon: micro(epsilon),
    microEpsilonChoices: choices.map(micro),
    microRho: rho === null ? null : micro(rho),
    levels,
    categories: categories ?? [],
    minimum: minimum ?? null,
    maximum: maximum ?? null,
    groups: groups ?? null,
  };
}
