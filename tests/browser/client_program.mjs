/**
 * The browser's client as a program for Node: `answer --url URL --ledger FOLDER [--max-epsilon E] [--invitation CODE] ID -`.
 * A browser keeps the ledger in IndexedDB; here it is a folder of files that are written once, whole or not at all.
 */

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
import { parseArgs } from "node:util";
import { Client } from "../../client/dither_client/web/client.js";
import { parseMicro } from "../../client/dither_client/web/epsilon.js";
import { LedgerError, OverCap } from "../../client/dither_client/web/errors.js";
import { decodeJson } from "../../client/dither_client/web/json.js";
import { parseQuery } from "../../client/dither_client/web/queries.js";

function newRetryKey() {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString("base64url");
}

class FolderLedger {
  #folder;
  #cap;

  constructor(folder, cap) {
    this.#folder = folder;
    this.#cap = parseMicro(cap);
    mkdirSync(folder, { recursive: true });
  }

  find(server, collection) {
    const entry = this.#get(collection, "entry");
    if (entry === null) {
      return null;
    }
    const [drawn, receipt, expired] = ["drawn", "receipt", "expired"].map((name) => this.#get(collection, name));
    const { answer, retryKey } = drawn ?? { answer: null, retryKey: null };
    const state = expired ? "expired" : receipt !== null ? "sent" : drawn !== null ? "drawn" : "charged";
    const query = parseQuery(decodeJson(entry.query));
    return { server, collection, state, ticket: entry.ticket, answer, retryKey, receipt, query };
  }

  charge(server, collection, ticket, query) {
    if (this.#get(collection, "entry") === null) {
      const names = readdirSync(this.#folder).filter((name) => name.endsWith(".entry"));
      const spent = names.map((name) => this.#get(name.slice(0, -".entry".length), "entry").micro);
      if (BigInt(spent.reduce((sum, micro) => sum + micro, query.microEpsilon)) > this.#cap) {
        throw new OverCap("over the cap");
      }
      this.#put(collection, "entry", { ticket, query: JSON.stringify(query), micro: query.microEpsilon });
    }
    return this.find(server, collection);
  }

  draw(server, collection, answer) {
    return this.#moved(server, collection, "drawn", { answer, retryKey: newRetryKey() });
  }

  markSent(server, collection, receipt) {
    return this.#moved(server, collection, "receipt", receipt);
  }

  markExpired(server, collection) {
    return this.#moved(server, collection, "expired", true);
  }

  retryKey(_, collection) {
    return this.#put(collection, "retry_key", newRetryKey());
  }

  price(_, collection) {
    return this.#get(collection, "price");
  }

  keepPrice(_, collection, told) {
    return this.#put(collection, "price", told);
  }

  #moved(server, collection, name, content) {
    if (this.#get(collection, "entry") === null) {
      throw new LedgerError("no charge");
    }
    this.#put(collection, name, content);
    return this.find(server, collection);
  }

  #get(collection, name) {
    try {
      return JSON.parse(readFileSync(join(this.#folder, `${collection}.${name}`), "utf8"));
    } catch (error) {
      if (error.code === "ENOENT") {
        return null;
      }
      throw error;
    }
  }

  /** Stores it unless there is something already, and returns what is stored. */
  #put(collection, name, content) {
    const path = join(this.#folder, `new-${crypto.randomUUID()}`);
    const file = openSync(path, "wx");
    writeSync(file, JSON.stringify(content));
    fsyncSync(file);
    closeSync(file);
    try {
      linkSync(path, join(this.#folder, `${collection}.${name}`));
    } catch (error) {
      if (error.code !== "EEXIST") {
        throw error;
      }
    }
    unlinkSync(path);
    return this.#get(collection, name);
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    url: { type: "string" },
    ledger: { type: "string" },
    "max-epsilon": { type: "string", default: "10" },
    invitation: { type: "string" },
  },
});
const [, collection] = positionals;
const text = readFileSync(0, "utf8").trim();
try {
  const ledger = new FolderLedger(values.ledger, values["max-epsilon"]);
  const client = new Client(values.url, { ledger });
  const value = text === "" ? Number.NaN : Number(text);
  const { receipt } = await client.answer(collection, value, { invitation: values.invitation ?? null });
  console.log(receipt);
} catch (error) {
  console.error(`${error.name}: ${error.message}`);
  process.exitCode = 1;
}
