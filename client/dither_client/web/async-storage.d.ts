/** Types of `storage_ledger.js`, which the package exports as `dither-client/ledgers/async-storage`. */

import type { Ledger, LedgerCaps } from "./dither.d.ts";

/** A store of texts by key, such as the AsyncStorage of React Native. `setItem` resolves once the text is kept for good. */
export interface AsyncStorageLike {
  getItem(key: string): Promise<string | null>;
  setItem(key: string, value: string): Promise<unknown>;
}

export interface StorageLedgerOptions extends LedgerCaps {
  /** Where in the store the ledger is; `"dither-ledger"` by default. */
  key?: string;
}

/** ε spent, and answers until they are sent, in a store that no other program uses. */
export class StorageLedger implements Pick<Ledger, keyof Ledger> {
  constructor(storage: AsyncStorageLike, options?: StorageLedgerOptions);
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
