// What the declarations of types say is what the modules are: checked with the types, and never run. Not by way of `dither.js`,
// whose types are the very declarations.

import * as client from "../../client/dither_client/web/client.js";
import * as epsilon from "../../client/dither_client/web/epsilon.js";
import * as errors from "../../client/dither_client/web/errors.js";
import * as json from "../../client/dither_client/web/json.js";
import * as ledger from "../../client/dither_client/web/ledger.js";
import * as messages from "../../client/dither_client/web/messages.js";
import * as price from "../../client/dither_client/web/price.js";
import * as queries from "../../client/dither_client/web/queries.js";
import * as sampling from "../../client/dither_client/web/sampling.js";
import * as sqliteLedger from "../../client/dither_client/web/sqlite_ledger.js";
import * as storageLedger from "../../client/dither_client/web/storage_ledger.js";
import * as typed from "../../client/dither_client/web/typed.js";
import * as words from "../../client/dither_client/web/words.js";

export const declared: typeof import("../../client/dither_client/web/dither.d.ts") = {
  ...client,
  ...epsilon,
  ...errors,
  ...json,
  ...ledger,
  ...messages,
  ...price,
  ...queries,
  ...sampling,
  ...typed,
  ...words,
};

export const indexedDb: typeof import("../../client/dither_client/web/indexeddb.d.ts") = { ...ledger };
export const nodeSqlite: typeof import("../../client/dither_client/web/node-sqlite.d.ts") = { ...sqliteLedger };
export const asyncStorage: typeof import("../../client/dither_client/web/async-storage.d.ts") = { ...storageLedger };
