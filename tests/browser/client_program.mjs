/**
 * The browser's client as a program for Node: `answer --url URL --ledger FOLDER [--max-epsilon E] [--invitation CODE] ID -`.
 * A browser keeps the ledger in IndexedDB; here it is a folder of files that are written once, whole or not at all.
 */

/** @import { Entry, Price, Query } from "../../client/dither_client/web/dither.d.ts" */

import { Buffer } from "node:buffer";
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { Client } from "../../client/dither_client/web/client.js";
import { parseMicro } from "../../client/dither_client/web/epsilon.js";
import { LedgerError, OverCap } from "../../client/dither_client/web/errors.js";
import { decodeJson } from "../../client/dither_client/web/json.js";
import { parseQuery } from "../../client/dither_client/web/queries.js";

/**
 * @typedef {object} Stored what there is a file of, for each collection
 * @property {{ ticket: string, query: string, micro: number }} entry
 * @property {{ answer: number, retryKey: string }} drawn
 * @property {string} receipt
 * @property {true} expired
 * @property {string} retry_key
 * @property {Price} price
 */

function newRetryKey() {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString("base64url");
}

/** @param {unknown} error */
function codeOf(error) {
  return error instanceof Error && "code" in error ? error.code : null;
}

class FolderLedger {
  #folder;
  #cap;

  /**
   * @param {string} folder
   * @param {string} cap
   */
  constructor(folder, cap) {
    this.#folder = folder;
    this.#cap = parseMicro(cap);
    mkdirSync(folder, { recursive: true });
  }

  /** @type {(server: string, collection: string) => Promise<Entry | null>} */
  async find(server, collection) {
    const entry = this.#get(collection, "entry");
    return entry === null ? null : this.#opened(server, collection, entry);
  }

  /** @type {(server: string) => Promise<Entry[]>} */
  async unsent(server) {
    const entries = this.#collections().map(([collection, entry]) => this.#opened(server, collection, entry));
    return entries.filter(({ state }) => state === "drawn");
  }

  /** @type {(server: string, collection: string, ticket: string, query: Query) => Promise<Entry>} */
  async charge(server, collection, ticket, query) {
    const known = this.#get(collection, "entry");
    if (known !== null) {
      return this.#opened(server, collection, known);
    }
    const spent = this.#collections().reduce((sum, [, { micro }]) => sum + micro, query.microEpsilon);
    if (BigInt(spent) > this.#cap) {
      throw new OverCap("over the cap");
    }
    const entry = { ticket, query: JSON.stringify(query), micro: query.microEpsilon };
    return this.#opened(server, collection, this.#put(collection, "entry", entry));
  }

  /** @type {(server: string, collection: string, answer: number) => Promise<Entry>} */
  async draw(server, collection, answer) {
    return this.#moved(server, collection, "drawn", { answer, retryKey: newRetryKey() });
  }

  /** @type {(server: string, collection: string, receipt: string) => Promise<Entry>} */
  async markSent(server, collection, receipt) {
    return this.#moved(server, collection, "receipt", receipt);
  }

  /** @type {(server: string, collection: string) => Promise<Entry>} */
  async markExpired(server, collection) {
    return this.#moved(server, collection, "expired", true);
  }

  /** @type {(server: string, collection: string) => Promise<string>} */
  async retryKey(_, collection) {
    return this.#put(collection, "retry_key", newRetryKey());
  }

  /** @type {(server: string, collection: string) => Promise<Price | null>} */
  async price(_, collection) {
    return this.#get(collection, "price");
  }

  /** @type {(server: string, collection: string, told: Price) => Promise<Price>} */
  async keepPrice(_, collection, told) {
    return this.#put(collection, "price", told);
  }

  /** @type {<Name extends keyof Stored>(server: string, collection: string, name: Name, content: Stored[Name]) => Entry} */
  #moved(server, collection, name, content) {
    const entry = this.#get(collection, "entry");
    if (entry === null) {
      throw new LedgerError("no charge");
    }
    this.#put(collection, name, content);
    return this.#opened(server, collection, entry);
  }

  /** @type {(server: string, collection: string, entry: Stored["entry"]) => Entry} */
  #opened(server, collection, entry) {
    const [drawn, receipt] = [this.#get(collection, "drawn"), this.#get(collection, "receipt")];
    const { answer, retryKey } = drawn ?? { answer: null, retryKey: null };
    const late = this.#get(collection, "expired") !== null;
    const state = late ? "expired" : receipt !== null ? "sent" : drawn !== null ? "drawn" : "charged";
    const query = parseQuery(decodeJson(entry.query));
    return { server, collection, state, ticket: entry.ticket, answer, retryKey, receipt, query };
  }

  /** @type {() => [string, Stored["entry"]][]} */
  #collections() {
    const names = readdirSync(this.#folder).filter((name) => name.endsWith(".entry"));
    return names.flatMap((name) => {
      const collection = name.slice(0, -".entry".length);
      const entry = this.#get(collection, "entry");
      return entry === null ? [] : [[collection, entry]];
    });
  }

  /** @type {<Name extends keyof Stored>(collection: string, name: Name) => Stored[Name] | null} */
  #get(collection, name) {
    try {
      return JSON.parse(readFileSync(join(this.#folder, `${collection}.${name}`), "utf8"));
    } catch (error) {
      if (codeOf(error) === "ENOENT") {
        return null;
      }
      throw error;
    }
  }

  /**
   * Stores it unless there is something already, and returns what is stored.
   *
   * @type {<Name extends keyof Stored>(collection: string, name: Name, content: Stored[Name]) => Stored[Name]}
   */
  #put(collection, name, content) {
    const path = join(this.#folder, `new-${crypto.randomUUID()}`);
    const file = openSync(path, "wx");
    writeSync(file, JSON.stringify(content));
    fsyncSync(file);
    closeSync(file);
    try {
      linkSync(path, join(this.#folder, `${collection}.${name}`));
    } catch (error) {
      if (codeOf(error) !== "EEXIST") {
        throw error;
      }
    }
    unlinkSync(path);
    return this.#get(collection, name) ?? content;
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    url: { type: "string", default: "" },
    ledger: { type: "string", default: "" },
    "max-epsilon": { type: "string", default: "10" },
    invitation: { type: "string" },
  },
});
const [, collection = ""] = positionals;
const text = readFileSync(0, "utf8").trim();
try {
  const ledger = new FolderLedger(values.ledger, values["max-epsilon"]);
  const client = new Client(values.url, { ledger });
  const number = Number(text);
  const value = text === "" ? Number.NaN : Number.isNaN(number) ? text : number;
  const { receipt } = await client.answer(collection, value, { invitation: values.invitation ?? null });
  console.log(receipt);
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
}
