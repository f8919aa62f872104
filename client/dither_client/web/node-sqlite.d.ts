/** Types of `sqlite_ledger.js`, which the package exports as `dither-client/ledgers/node-sqlite`. */

import type { Ledger, LedgerCaps } from "./dither.d.ts";

/** What the ledger uses of a database: `DatabaseSync` of `node:sqlite` has it, and `Database` of better-sqlite3. */
export interface SqliteDatabase {
  exec(statements: string): unknown;
  prepare(statement: string): {
    run(...values: (string | number | null)[]): unknown;
    all(...values: (string | number | null)[]): unknown[];
  };
  close(): unknown;
}

/** ε spent, and answers until they are sent, in one file that processes may share, also with the Python client. */
export class SqliteLedger implements Pick<Ledger, keyof Ledger> {
  constructor(database: SqliteDatabase, caps?: LedgerCaps);
  /** The file at `path`, by the `node:sqlite` of Node 22.13 or later; created for this user alone if there is none. */
  static open(path: string, caps?: LedgerCaps): Promise<SqliteLedger>;
  readonly maxEpsilon: Ledger["maxEpsilon"];
  find: Ledger["find"];
  join: Ledger["join"];
  turns: Ledger["turns"];
  charge: Ledger["charge"];
  draw: Ledger["draw"];
  markSent: Ledger["markSent"];
  markExpired: Ledger["markExpired"];
  retryKey: Ledger["retryKey"];
  price: Ledger["price"];
  keepPrice: Ledger["keepPrice"];
  unsent: Ledger["unsent"];
  entries: Ledger["entries"];
  spent: Ledger["spent"];
  close: Ledger["close"];
}
