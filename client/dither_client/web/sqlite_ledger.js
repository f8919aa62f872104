/**
 * A ledger in one SQLite file, which any number of processes may share: every ε spent, and every answer until the server
 * has it. The file is the one of the Python client (`dither_client.ledger.sqlite`), and either may write it.
 */

/** @import { Charge, Entry, LedgerCaps, Price, Query, State } from "./dither.d.ts" */
/** @import { SqliteDatabase } from "./node-sqlite.d.ts" */
/** @import { Row, Spending } from "./entries.js" */

import { Caps, asked, charged, newRetryKey, opened, reserved, sum, uncharged } from "./entries.js";
import { epsilonText } from "./epsilon.js";
import { DitherError, LedgerError } from "./errors.js";
import { NO_PERIOD } from "./panel.js";
import { SCHEMA, VERSION, readPrice, storedPrice } from "./sqlite_file.js";

const BUSY_TIMEOUT = 30_000;
const WHERE = "WHERE server = ? AND collection = ?";
const WHERE_ONE = `${WHERE} AND period = ?`;

/** @typedef {string | number} Stored */

export class SqliteLedger {
  #database;
  #caps;

  /**
   * A ledger in an open database of `node:sqlite` or better-sqlite3, which nothing else should use meanwhile. Throws
   * `InvalidEpsilon`, and `LedgerError` for what is no open database, or no ledger, or one of another version.
   *
   * @param {SqliteDatabase} database
   * @param {LedgerCaps} caps as those of `Ledger`
   */
  constructor(database, caps = {}) {
    if (typeof database?.exec !== "function" || typeof database.prepare !== "function") {
      throw new LedgerError(
        "new SqliteLedger takes an open database of node:sqlite or better-sqlite3: for a path, await SqliteLedger.open(path)",
      );
    }
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

  /** @type {(server: string, collection: string, period?: number) => Promise<Entry | null>} */
  async find(server, collection, period = NO_PERIOD) {
    return reported(() => this.#find(server, collection, period));
  }

  /**
   * Spends micro-ε on each of a panel's periods and reserves them. If it has reserved some, returns those and spends
   * nothing.
   *
   * @type {(server: string, collection: string, periods: number[], microEpsilon: number) => Promise<number[]>}
   */
  async join(server, collection, periods, microEpsilon) {
    return this.#transact(() => {
      if (this.#turns(server, collection).length === 0) {
        this.#caps.check(microEpsilon, this.#spendings(), server, periods.length);
        for (const period of periods) {
          this.#store(reserved(server, collection, period, microEpsilon));
        }
      }
      return this.#turns(server, collection);
    });
  }

  /** @type {(server: string, collection: string) => Promise<number[]>} */
  async turns(server, collection) {
    return reported(() => this.#turns(server, collection));
  }

  /**
   * Spends the question's ε, unless that was reserved, and stores ticket and question. If there is an entry already,
   * returns it and spends nothing.
   *
   * @type {(server: string, collection: string, ticket: string, query: Query, period?: number) => Promise<Entry>}
   */
  async charge(server, collection, ticket, query, period = NO_PERIOD) {
    return this.#transact(() => {
      const [row] = this.#rows(`SELECT * FROM entries ${WHERE_ONE}`, server, collection, period);
      if (row !== undefined && row.state !== "reserved") {
        return opened(row);
      }
      if (row === undefined) {
        this.#caps.check(query.microEpsilon, this.#spendings(), server);
      }
      this.#store(asked(row ?? reserved(server, collection, period, query.microEpsilon), ticket, query));
      return this.#entry(server, collection, period);
    });
  }

  /**
   * Stores the answer of a charged entry with a new retry key; an entry that has an answer already is left as it is.
   *
   * @type {(server: string, collection: string, answer: number, period?: number) => Promise<Entry>}
   */
  async draw(server, collection, answer, period = NO_PERIOD) {
    const change = "state = 'drawn', answer = ?, retry_key = ?";
    return this.#advance(server, collection, period, "charged", change, answer, newRetryKey());
  }

  /** @type {(server: string, collection: string, receipt: string, period?: number) => Promise<Entry>} */
  async markSent(server, collection, receipt, period = NO_PERIOD) {
    return this.#advance(server, collection, period, "drawn", "state = 'sent', receipt = ?", receipt);
  }

  /** @type {(server: string, collection: string, period?: number) => Promise<Entry>} */
  async markExpired(server, collection, period = NO_PERIOD) {
    return this.#advance(server, collection, period, "drawn", "state = 'expired'");
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

  /** @type {(server: string, collection: string, period: number) => Entry | null} */
  #find(server, collection, period) {
    const [row] = this.#rows(`SELECT * FROM entries ${WHERE_ONE}`, server, collection, period);
    return row === undefined || row.state === "reserved" ? null : opened(row);
  }

  /** @type {(server: string, collection: string) => number[]} */
  #turns(server, collection) {
    const turns = `SELECT period FROM entries ${WHERE} AND period > 0 ORDER BY period`;
    return this.#rows(turns, server, collection).map(({ period }) => period);
  }

  /**
   * Stores a row that is new, or has its question now.
   *
   * @param {Row} row
   */
  #store(row) {
    this.#run(
      "INSERT INTO entries (server, collection, period, state, micro_epsilon, micro_rho, ticket, query) " +
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (server, collection, period) DO UPDATE SET state = excluded.state, " +
        "micro_rho = excluded.micro_rho, ticket = excluded.ticket, query = excluded.query",
      row.server,
      row.collection,
      row.period ?? NO_PERIOD,
      row.state,
      row.micro_epsilon,
      row.micro_rho,
      row.ticket,
      row.query,
    );
  }

  /** @type {(server: string, collection: string, period: number) => Entry} */
  #entry(server, collection, period) {
    const entry = this.#find(server, collection, period);
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
   * @type {(server: string, collection: string, period: number, before: State, change: string, ...values: Stored[]) => Entry}
   */
  #advance(server, collection, period, before, change, ...values) {
    return this.#transact(() => {
      const of = [server, collection, period, before];
      this.#run(`UPDATE entries SET ${change} ${WHERE_ONE} AND state = ?`, ...values, ...of);
      return this.#entry(server, collection, period);
    });
  }

  /** @type {(statement: string, ...values: (string | number | null)[]) => void} */
  #run(statement, ...values) {
    this.#database.prepare(statement).run(...values);
  }

  /** @type {(statement: string, ...values: Stored[]) => any[]} */
  #rows(statement, ...values) {
    return this.#database.prepare(statement).all(...values);
  }

  /** @type {(statement: string, ...values: Stored[]) => any} */
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
