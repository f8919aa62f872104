/** Types of `ledger.js`, which the package exports as `dither-client/ledgers/indexeddb`. */

export { Ledger } from "./dither.js";
