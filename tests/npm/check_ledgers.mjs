/** The ledgers of the npm package against the vectors of charges and the promises of a ledger: `node --test FILE`. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { decodeJson, parseQuery } from "dither-client";
import { StorageLedger } from "dither-client/ledgers/async-storage";
import { SqliteLedger } from "dither-client/ledgers/node-sqlite";

/** @import { LedgerCaps, Price } from "dither-client" */
/** @import { AsyncStorageLike } from "dither-client/ledgers/async-storage" */

/** Texts in a file, which is replaced as a whole; slow, so that calls which did not wait for each other would show. */
class FileStorage {
  #path;

  /** @param {string} path */
  constructor(path) {
    this.#path = path;
  }

  /** @type {AsyncStorageLike["getItem"]} */
  async getItem(key) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    return this.#all()[key] ?? null;
  }

  /** @type {(key: string, value: string) => Promise<void>} */
  async setItem(key, value) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    writeFileSync(`${this.#path}.new`, JSON.stringify({ ...this.#all(), [key]: value }));
    renameSync(`${this.#path}.new`, this.#path);
  }

  /** @returns {Record<string, string>} */
  #all() {
    try {
      return JSON.parse(readFileSync(this.#path, "utf8"));
    } catch {
      return {};
    }
  }
}

const SERVER = "https://server.example";
/** @type {Price} */
const PRICE = {
  mechanism: "laplace",
  transform: "identity",
  microEpsilon: 1_500_000,
  microEpsilonChoices: [500_000],
  microRho: null,
  levels: 4,
  categories: [],
  minimum: null,
  maximum: 1000,
  groups: null,
  components: [],
  panel: { answers: 2, periods: 30, period: "week" },
};

/** @param {string} epsilon */
function question(epsilon) {
  return parseQuery(decodeJson(`{"mechanism": "laplace", "low": 0, "high": 1, "levels": 4, "epsilon": "${epsilon}"}`));
}

function newPath() {
  return join(mkdtempSync(join(process.cwd(), "ledger-")), "ledger");
}

/** How each kind opens the ledger at a path, which a second call finds again. */
const KINDS = {
  /** @type {(path: string, caps?: LedgerCaps) => Promise<SqliteLedger>} */
  sqlite: (path, caps) => SqliteLedger.open(path, caps),
  /** @type {(path: string, caps?: LedgerCaps) => Promise<StorageLedger>} */
  storage: async (path, caps) => new StorageLedger(storageAt(path), caps),
};

/** @type {Map<string, FileStorage>} */
const storages = new Map();

/** @param {string} path */
function storageAt(path) {
  const storage = storages.get(path) ?? new FileStorage(path);
  storages.set(path, storage);
  return storage;
}

for (const [kind, open] of Object.entries(KINDS)) {
  test(`${kind}: charges as the vectors say`, async () => {
    const vectors = JSON.parse(readFileSync(process.env.CHARGES ?? "", "utf8"));
    for (const capped of vectors.ledgers) {
      const ledger = await open(newPath(), {
        maxEpsilon: capped.max_epsilon,
        maxEpsilonPerServer: capped.max_epsilon_per_server,
        maxEpsilonPerAnswer: capped.max_epsilon_per_answer,
      });
      for (const { server, collection, epsilon, refused, spent } of capped.charges) {
        const reason = await ledger.charge(server, collection, "t", question(epsilon)).then(
          () => null,
          (error) => String(error.message).replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        );
        assert.deepEqual([reason, await ledger.spent()], [refused, spent]);
      }
      await ledger.close();
    }
  });

  test(`${kind}: an entry goes one way, and survives a restart`, async () => {
    const path = newPath();
    let ledger = await open(path);
    const restart = async () => {
      await ledger.close();
      ledger = await open(path);
    };
    await assert.rejects(ledger.draw(SERVER, "c", 1), { name: "LedgerError" });
    assert.equal(await ledger.find(SERVER, "c"), null);
    const charged = await ledger.charge(SERVER, "c", "ticket", question("1"));
    assert.deepEqual([charged.state, charged.answer, charged.retryKey], ["charged", null, null]);
    await restart();
    assert.equal((await ledger.charge(SERVER, "c", "another", question("1"))).ticket, "ticket");
    assert.equal((await ledger.markSent(SERVER, "c", "early")).state, "charged");
    const drawn = await ledger.draw(SERVER, "c", 3);
    assert.match(drawn.retryKey ?? "", /^[\w-]{32}$/);
    await restart();
    assert.deepEqual(await ledger.draw(SERVER, "c", 0), drawn);
    assert.deepEqual(await ledger.unsent(SERVER), [drawn]);
    assert.deepEqual(await ledger.unsent("https://other.example"), []);
    const sent = await ledger.markSent(SERVER, "c", "receipt");
    assert.deepEqual([sent.state, sent.answer, sent.receipt], ["sent", 3, "receipt"]);
    await restart();
    assert.equal((await ledger.markExpired(SERVER, "c")).state, "sent");
    await ledger.charge(SERVER, "late", "t", question("0.5"));
    await ledger.draw(SERVER, "late", 1);
    assert.equal((await ledger.markExpired(SERVER, "late")).state, "expired");
    assert.deepEqual(await ledger.unsent(SERVER), []);
    await ledger.keepPrice(SERVER, "late", PRICE);
    await ledger.keepPrice(SERVER, "late", PRICE, "Weekly wages");
    await ledger.keepPrice(SERVER, "late", PRICE, "Renamed");
    const charge = { server: SERVER, rho: null, period: 0 };
    assert.deepEqual(await ledger.entries(), [
      { ...charge, collection: "c", state: "sent", receipt: "receipt", epsilon: "1", name: null },
      { ...charge, collection: "late", state: "expired", receipt: null, epsilon: "0.5", name: "Weekly wages" },
    ]);
    await ledger.close();
  });

  test(`${kind}: a price and a retry key are kept for good`, async () => {
    const path = newPath();
    const ledger = await open(path);
    assert.equal(await ledger.price(SERVER, "c"), null);
    assert.deepEqual(await ledger.keepPrice(SERVER, "c", PRICE), PRICE);
    const key = await ledger.retryKey(SERVER, "c");
    await ledger.close();
    const again = await open(path);
    assert.deepEqual(await again.keepPrice(SERVER, "c", { ...PRICE, microEpsilon: 9 }), PRICE);
    const other = { ...PRICE, microRho: 250_000, categories: ["a", "b"], minimum: null, maximum: null };
    await again.keepPrice(SERVER, "d", other);
    assert.deepEqual(await again.price(SERVER, "d"), other);
    assert.equal(await again.retryKey(SERVER, "c"), key);
    assert.notEqual(await again.retryKey(SERVER, "d"), key);
    await again.close();
  });

  test(`${kind}: a panel is paid for once, and answered in each of its periods`, async () => {
    const path = newPath();
    let ledger = await open(path, { maxEpsilon: "3" });
    assert.deepEqual(await ledger.turns(SERVER, "c"), []);
    await assert.rejects(ledger.join(SERVER, "c", [3, 7], 1_500_001), { name: "OverCap", message: /for 2 answers/ });
    assert.deepEqual(await ledger.join(SERVER, "c", [7, 3], 1_000_000), [3, 7]);
    assert.deepEqual(await ledger.join(SERVER, "c", [8, 9], 1_000_000), [3, 7]);
    await ledger.close();
    ledger = await open(path, { maxEpsilon: "3" });
    assert.deepEqual(await ledger.turns(SERVER, "c"), [3, 7]);
    assert.deepEqual([await ledger.spent(), await ledger.find(SERVER, "c", 3)], ["2", null]);
    await assert.rejects(ledger.charge(SERVER, "c", "t", question("1.5"), 3), { name: "OverCap" });
    await assert.rejects(ledger.draw(SERVER, "c", 1, 3), { name: "LedgerError" });
    assert.equal((await ledger.charge(SERVER, "c", "t", question("1"), 3)).period, 3);
    assert.equal((await ledger.charge(SERVER, "c", "u", question("0.5"), 3)).ticket, "t");
    const drawn = await ledger.draw(SERVER, "c", 2, 3);
    assert.deepEqual([await ledger.unsent(SERVER), await ledger.find(SERVER, "c", 7)], [[drawn], null]);
    assert.equal((await ledger.markSent(SERVER, "c", "receipt", 3)).state, "sent");
    await ledger.charge(SERVER, "c", "v", question("0.5"), 7);
    assert.notEqual((await ledger.draw(SERVER, "c", 1, 7)).retryKey, drawn.retryKey);
    assert.equal((await ledger.markExpired(SERVER, "c", 7)).state, "expired");
    const found = (await ledger.entries()).map(({ period, state, epsilon }) => [period, state, epsilon]);
    assert.deepEqual(
      found.sort(([a], [b]) => Number(a) - Number(b)),
      [
        [3, "sent", "1"],
        [7, "expired", "1"],
      ],
    );
    assert.equal(await ledger.spent(), "2");
    await ledger.close();
  });

  test(`${kind}: two at once cannot spend twice`, async () => {
    const path = newPath();
    const ledgers = [await open(path, { maxEpsilon: "1" }), await open(path, { maxEpsilon: "1" })];
    const spending = ledgers.flatMap((ledger, i) =>
      ["c", `d${i}`].map((collection) => ledger.charge(SERVER, collection, `ticket ${i}`, question("0.5"))),
    );
    const outcomes = await Promise.allSettled(spending);
    const [first, second, third, fourth] = outcomes.map((outcome) =>
      outcome.status === "fulfilled" ? outcome.value.ticket : outcome.reason.name,
    );
    assert.deepEqual([first, second, third, fourth], ["ticket 0", "ticket 0", "ticket 0", "OverCap"]);
    assert.equal(await ledgers[0]?.spent(), "1");
    await Promise.all(ledgers.map((ledger) => ledger.close()));
  });

  test(`${kind}: what is no ledger is refused and left as it is`, async () => {
    const path = newPath();
    writeFileSync(path, JSON.stringify({ "dither-ledger": '{"version": 1, "entr' }));
    const before = readFileSync(path, "utf8");
    await assert.rejects(async () => (await open(path)).charge(SERVER, "c", "t", question("1")), {
      name: "LedgerError",
    });
    assert.equal(readFileSync(path, "utf8"), before);
  });
}

test("sqlite: a path in place of a database is one clear sentence", () => {
  for (const given of ["ledger.sqlite", undefined, {}]) {
    // @ts-expect-error what the types refuse, programs without types give
    assert.throws(() => new SqliteLedger(given), {
      name: "LedgerError",
      message:
        "new SqliteLedger takes an open database of node:sqlite or better-sqlite3: for a path, await SqliteLedger.open(path)",
    });
  }
});

test("storage: a change that the store refuses is an error, and no answer", async () => {
  const storage = { getItem: async () => null, setItem: () => Promise.reject(new RangeError("full")) };
  const ledger = new StorageLedger(storage);
  await assert.rejects(ledger.charge(SERVER, "c", "t", question("1")), { name: "LedgerError", message: /RangeError/ });
});

test("storage: a ledger of the first version is read, and kept as one of this version", async () => {
  const query = '{"mechanism": "laplace", "low": 0, "high": 1, "levels": 4, "epsilon": 1, "transform": "identity"}';
  const row = {
    server: SERVER,
    collection: "c",
    state: "charged",
    micro_epsilon: 1_000_000,
    micro_rho: null,
    ticket: "t",
  };
  const old = { ...row, query, answer: null, retry_key: null, receipt: null };
  let text = JSON.stringify({ version: 1, entries: [old], retry_keys: [], prices: [] });
  const storage = {
    getItem: async () => text,
    setItem: async (/** @type {string} */ _, /** @type {string} */ to) => void (text = to),
  };
  const ledger = new StorageLedger(storage);
  assert.equal((await ledger.charge(SERVER, "c", "u", question("1"))).ticket, "t");
  assert.equal((await ledger.draw(SERVER, "c", 3)).period, 0);
  assert.equal(JSON.parse(text).version, 2);
});

test("storage: a ledger of another version is refused", async () => {
  const storage = { getItem: async () => '{"version": 3}', setItem: async () => {} };
  await assert.rejects(new StorageLedger(storage).spent(), { name: "LedgerError", message: /another version/ });
});
