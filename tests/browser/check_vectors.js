// In a page of the server: a line for each case of the shared vectors that the browser's client does not meet.

/** @import { Entry, Value } from "/web/dither.d.ts" */

import { Client, Ledger, decodeJson, epsilonText, parseMicro, parseQuery, parseTicket, uniform } from "/web/dither.js";
import { leastMicroEpsilon } from "/web/gaussian_epsilon.js";
import { parseAddress } from "/web/http.js";
import { parseProblem, parseReceipt, parseTerms } from "/web/messages.js";
import { drawTurns, periodLabel, periodNumber, periodStart } from "/web/panel.js";
import { checkKept, checkQuestion, held, priceOf } from "/web/price.js";
import { readTyped, written } from "/web/typed.js";

/**
 * @typedef {object} Step one request of a flow
 * @property {string} request
 * @property {object | null} body
 * @property {object | null} ledger
 * @property {"killed" | "lost" | { status: number, body: string }} reply
 *
 * @typedef {object} Flow
 * @property {string} name
 * @property {number | string | Record<string, number>} value
 * @property {string | undefined} group
 * @property {string} bytes
 * @property {Run[]} runs
 * @property {object | null} ledger
 *
 * @typedef {object} Run a call of the client; of a panel with its time in seconds, and the turns and micro-ε spent by then
 * @property {Step[]} steps
 * @property {string} outcome
 * @property {number | undefined} time
 * @property {number[] | undefined} turns
 * @property {number | undefined} spent
 *
 * @typedef {object} Charged
 * @property {string} server
 * @property {string} collection
 * @property {string} epsilon
 * @property {string | null} refused
 * @property {string} spent
 *
 * @typedef {object} Capped a ledger with caps, of which null is a default, or none where there is a total
 * @property {string | null} max_epsilon
 * @property {string | null} max_epsilon_per_server
 * @property {string | null} max_epsilon_per_answer
 * @property {Charged[]} charges
 *
 * @typedef {object} Vectors
 * @property {{ query: string, values: Value[], cells: number[] }[]} cells
 * @property {{ query: string, channel: number[][] }[]} channels
 * @property {{ query: string, cell: number, answer: number, calls: [string, string][] }[]} samples
 * @property {{ body: string, error: string, reason: string }[]} tickets
 * @property {{ terms: string, ticket: string, epsilon: string | null, error: string | null, reason: string | null }[]} prices
 * @property {{ url: string, server: string | null }[]} addresses
 * @property {{ told: string, now: string, reason: string | null }[]} raised
 * @property {{ terms: string, value: any, number: Value | null, reason: string | null }[]} values
 * @property {{ text: string, decimals: number | null, value: number | null, other: number | null, reason: string | null }[]} typed
 * @property {{ value: number, text: string }[]} written
 * @property {{ json: string, micro: number | null, reason: string | null }[]} epsilons
 * @property {{ text?: string, hex?: string, repeat?: [string, number][], read: boolean }[]} texts
 * @property {{ below: string, bytes: string, drawn: string[] }[]} uniform
 * @property {{ query: string, cell: number, bytes: string, answer: number }[]} answers
 * @property {{ body: string, micro: number | null }[]} terms
 * @property {{ body: string, receipt: string | null }[]} receipts
 * @property {{ body: string, name: string }[]} problems
 * @property {{ period: string, seconds: number, number: number, label: string, start: string }[]} periods
 * @property {{ answers: number, periods: number, joined: number, bytes: string, turns: number[] }[]} turns
 * @property {Flow[]} flows
 * @property {{ levels: number, rho: string, epsilon: string }[]} gaussian
 * @property {Capped[]} ledgers
 *
 * @typedef {(what: string, found: unknown, wanted: unknown) => void} Expect
 */

/** @param {string} text */
const question = (text) => parseQuery(decodeJson(text));

/**
 * What the work comes to, or the error that it throws.
 *
 * @template T
 * @param {() => T | Promise<T>} work
 * @returns {Promise<{ found: T | null, error: Error | null }>}
 */
async function outcome(work) {
  try {
    return { found: await work(), error: null };
  } catch (error) {
    return { found: null, error: error instanceof Error ? error : new Error(String(error)) };
  }
}

/** @param {string} hex */
const unhex = (hex) => (hex.match(/../g) ?? []).map((byte) => parseInt(byte, 16));

/** @param {string} hex */
function source(hex) {
  const rest = unhex(hex);
  /** @param {Uint8Array} into */
  const fill = (into) => into.set(rest.splice(0, into.length));
  return { rest, fill };
}

/** @type {(vectors: Vectors, expect: Expect) => void} */
function checkQuestions(vectors, expect) {
  for (const { query, values, cells } of vectors.cells) {
    expect(
      `cells of ${query}`,
      values.map((value) => question(query).cell(value)),
      cells,
    );
    expect(`round trip of ${query}`, question(JSON.stringify(question(query))), question(query));
  }
  for (const { query, channel } of vectors.channels) {
    const asked = question(query);
    for (const [cell, row] of channel.entries()) {
      for (const [answer, wanted] of row.entries()) {
        const found = asked.probability(cell, answer);
        const same = Math.abs(found / wanted - 1) < 1e-12;
        expect(`channel of ${query} at ${cell}, ${answer}`, same ? wanted : found, wanted);
      }
    }
    expect(`answers of ${query}`, [asked.nCells, asked.nAnswers], [channel.length, channel[0]?.length]);
  }
  for (const { levels, rho, epsilon } of vectors.gaussian) {
    expect(`gaussian ${levels} ${rho}`, epsilonText(leastMicroEpsilon(levels, Number(parseMicro(rho)))), epsilon);
  }
}

/** @type {(vectors: Vectors, expect: Expect) => void} */
function checkDraws(vectors, expect) {
  for (const { query, cell, answer, calls } of vectors.samples) {
    const script = [...calls];
    const found = question(query).sample(cell, (n) => {
      const [below, drawn] = script.shift() ?? ["nothing more", "0"];
      expect(`call for ${query}`, String(n), below);
      return BigInt(drawn);
    });
    expect(`sample of ${query}`, [found, script.length], [answer, 0]);
  }
  for (const { below, bytes, drawn } of vectors.uniform) {
    const { rest, fill } = source(bytes);
    const found = drawn.map(() => String(uniform(fill)(BigInt(below))));
    expect(`uniform below ${below}`, [found, rest.length], [drawn, 0]);
  }
  for (const { query, cell, bytes, answer } of vectors.answers) {
    const { rest, fill } = source(bytes);
    const found = question(query).sample(cell, uniform(fill));
    expect(`drawn for ${query}`, [found, rest.length], [answer, 0]);
  }
}

/** @type {(vectors: Vectors, expect: Expect) => Promise<void>} */
async function checkTexts(vectors, expect) {
  for (const { json, micro, reason } of vectors.epsilons) {
    const { found, error } = await outcome(() => Number(parseMicro(decodeJson(json))));
    expect(`epsilon ${json}`, [found, error?.message ?? null], [micro, reason]);
  }
  for (const { text, hex, repeat = [], read } of vectors.texts) {
    const written = text ?? repeat.map(([part, times]) => part.repeat(times)).join("");
    const body = hex ? Uint8Array.from(unhex(hex)) : new TextEncoder().encode(written);
    const { error } = await outcome(() => decodeJson(body));
    expect(
      `reading ${text ?? hex ?? repeat}`,
      [error === null, error?.name ?? null],
      [read, read ? null : "BadResponse"],
    );
  }
  for (const { url, server } of vectors.addresses) {
    const { found } = await outcome(() => parseAddress(url));
    expect(`address ${url}`, found, server);
  }
}

/** @type {(vectors: Vectors, expect: Expect) => Promise<void>} */
async function checkMessages(vectors, expect) {
  for (const { body, error, reason } of vectors.tickets) {
    const refusal = (await outcome(() => parseTicket(decodeJson(body)))).error;
    expect(`refusal of ${body.slice(0, 300)}`, [refusal?.name, refusal?.message], [error, reason]);
  }
  for (const { body, micro } of vectors.terms) {
    const { found, error } = await outcome(() => parseTerms(decodeJson(body)).microEpsilon);
    expect(`terms ${body}`, [found, error?.name ?? null], [micro, micro === null ? "BadResponse" : null]);
  }
  for (const { body, receipt } of vectors.receipts) {
    const { found, error } = await outcome(() => parseReceipt(decodeJson(body)));
    expect(
      `receipt ${body.slice(0, 300)}`,
      [found, error?.name ?? null],
      [receipt, receipt === null ? "BadResponse" : null],
    );
  }
  for (const { body, name } of vectors.problems) {
    expect(`problem ${body}`, parseProblem(400, new TextEncoder().encode(body)).reason, name);
  }
}

/** @type {(vectors: Vectors, expect: Expect) => Promise<void>} */
async function checkPrices(vectors, expect) {
  for (const { terms, ticket, epsilon, error, reason } of vectors.prices) {
    const chosen = epsilon === null ? null : Number(parseMicro(epsilon));
    const price = priceOf(parseTerms(decodeJson(terms)));
    const refusal = (await outcome(() => checkQuestion(price, parseTicket(decodeJson(ticket)).query, chosen))).error;
    expect(`price of ${terms} for ${ticket}`, [refusal?.name ?? null, refusal?.message ?? null], [error, reason]);
  }
  for (const { told, now, reason } of vectors.raised) {
    const [before, after] = [parseTerms(decodeJson(told)), parseTerms(decodeJson(now))];
    const { error } = await outcome(() => checkKept(priceOf(before), after));
    expect(`raised from ${told} to ${now}`, error?.message ?? null, reason);
  }
  for (const [number, capped] of vectors.ledgers.entries()) {
    const ledger = new Ledger({
      name: `vectors ${number}`,
      maxEpsilon: capped.max_epsilon,
      maxEpsilonPerServer: capped.max_epsilon_per_server,
      maxEpsilonPerAnswer: capped.max_epsilon_per_answer,
    });
    for (const { server, collection, epsilon, refused, spent } of capped.charges) {
      const text = `{"mechanism": "laplace", "low": 0, "high": 1, "levels": 4, "epsilon": "${epsilon}"}`;
      const { error } = await outcome(() => ledger.charge(server, collection, "t", question(text)));
      const found = error?.message.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) ?? null;
      expect(`charge of ${epsilon}`, [found, await ledger.spent()], [refused, spent]);
    }
    await ledger.close();
  }
}

/** @type {(vectors: Vectors, expect: Expect) => Promise<void>} */
async function checkValues(vectors, expect) {
  for (const { terms, value, number, reason } of vectors.values) {
    const { found, error } = await outcome(() => held(priceOf(parseTerms(decodeJson(terms))), value));
    expect(`value ${JSON.stringify(value)} with ${terms}`, [found, error?.message ?? null], [number, reason]);
  }
  for (const { text, decimals, value, other, reason } of vectors.typed) {
    const { found, error } = await outcome(() => readTyped(text, decimals));
    expect(
      `typed ${text}, ${decimals} decimals`,
      [found?.value ?? null, found?.other ?? null, error?.message ?? null],
      [value, other, reason],
    );
  }
  for (const { value, text } of vectors.written) {
    expect(`written ${value}`, written(value), text);
  }
}

/** @type {(vectors: Vectors, expect: Expect) => void} */
function checkPanels(vectors, expect) {
  for (const { period, seconds, number, label, start } of vectors.periods) {
    const found = periodNumber(period, seconds * 1000);
    const [name, first] = [periodLabel(period, found), periodStart(period, found).toISOString().slice(0, 10)];
    expect(`${period} of ${seconds}`, [found, name, first], [number, label, start]);
  }
  for (const { answers, periods, joined, bytes, turns } of vectors.turns) {
    const { rest, fill } = source(bytes);
    const found = drawTurns({ answers, periods, period: "week" }, joined, uniform(fill));
    expect(`turns of ${answers} of ${periods}`, [found, rest.length], [turns, 0]);
  }
}

/** A flow's requests, replies and ledger, with a network and a generator that follow its script. */
class Rehearsal {
  #server = "https://server.example";
  #flow;
  #expect;
  #ledger;
  #keys = new Set();
  #now = 0;

  /**
   * @param {Flow} flow
   * @param {Expect} expect
   */
  constructor(flow, expect) {
    this.#flow = flow;
    this.#expect = expect;
    this.#ledger = new Ledger({ name: `flow ${flow.name}`, maxEpsilon: "10" });
  }

  async play() {
    const { name, bytes, runs, ledger: last } = this.#flow;
    const [ownFetch, ownRandom] = [globalThis.fetch, crypto.getRandomValues];
    const { fill } = source(bytes);
    crypto.getRandomValues = (into) => {
      // 24 bytes at once are the retry key's, which the vectors do not tell.
      if (into instanceof Uint8Array && into.length !== 24) fill(into);
      else ownRandom.call(crypto, into);
      return into;
    };
    let wanted = 1;
    for (const [number, { steps, outcome, time = 0, turns = [], spent = null }] of runs.entries()) {
      const script = [...steps];
      const what = `flow ${name}, run ${number}`;
      this.#now = time;
      this.#expect(what, [await this.#answer(what, script), script.length], [outcome, 0]);
      this.#expect(`${what}, turns`, await this.#ledger.turns(this.#server, "c"), turns);
      if (spent !== null) {
        this.#expect(`${what}, spent`, await this.#ledger.spent(), epsilonText(spent));
      }
      wanted = Math.max(wanted, turns.length);
    }
    globalThis.fetch = ownFetch;
    crypto.getRandomValues = ownRandom;
    this.#expect(`flow ${name}, afterwards`, await this.#stored(), last);
    this.#expect(`flow ${name}, retry keys`, this.#keys.size <= wanted, true);
    await this.#ledger.close();
  }

  /**
   * How a run ends: `receipt`, `killed`, or the name of the client's error.
   *
   * @type {(what: string, script: Step[]) => Promise<string>}
   */
  #answer(what, script) {
    return new Promise((end) => {
      globalThis.fetch = (url, request) => this.#reply(what, script.shift(), String(url), request, end);
      new Client(this.#server, { ledger: this.#ledger, retry: { first: 0.001 }, clock: () => this.#now * 1000 })
        .answer("c", this.#flow.value, { group: this.#flow.group ?? null })
        .then(() => end("receipt"))
        .catch((error) => end(error.name));
    });
  }

  /**
   * @param {string} what
   * @param {Step | undefined} step
   * @param {string} url
   * @param {RequestInit | undefined} request
   * @param {(outcome: string) => void} end
   * @returns {Promise<Response>}
   */
  async #reply(what, step, url, request, end) {
    /** @type {{ retry_key?: string } | null} */
    const sent = typeof request?.body === "string" ? JSON.parse(request.body) : null;
    if (sent?.retry_key !== undefined) {
      sent.retry_key = this.#veiled(sent.retry_key);
    }
    const asked = `${request?.method} ${url.slice(this.#server.length)}`;
    this.#expect(what, [asked, sent, await this.#stored()], [step?.request, step?.body, step?.ledger]);
    if (step?.reply === "killed") {
      end("killed");
      return new Promise(() => {});
    }
    if (step === undefined || step.reply === "lost") {
      throw new TypeError("the connection failed");
    }
    return new Response(step.reply.body, { status: step.reply.status });
  }

  async #stored() {
    const period = this.#now === 0 ? 0 : periodNumber("week", this.#now * 1000);
    const entry = await this.#ledger.find(this.#server, "c", period);
    return entry && this.#told(entry);
  }

  /** @param {Entry} entry */
  #told({ state, query, ticket, answer, retryKey, receipt }) {
    const key = retryKey === null ? null : this.#veiled(retryKey);
    return { state, micro_epsilon: query.microEpsilon, ticket, answer, retry_key: key, receipt };
  }

  /** @param {string} key */
  #veiled(key) {
    this.#keys.add(key);
    return /^[!-~]{16,128}$/.test(key) ? "*" : key;
  }
}

/** @param {Vectors} vectors */
export async function check(vectors) {
  /** @type {string[]} */
  const failures = [];
  /** @type {Expect} */
  const expect = (what, found, wanted) => {
    if (JSON.stringify(found) !== JSON.stringify(wanted)) {
      failures.push(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
    }
  };
  checkQuestions(vectors, expect);
  checkDraws(vectors, expect);
  checkPanels(vectors, expect);
  await checkTexts(vectors, expect);
  await checkMessages(vectors, expect);
  await checkPrices(vectors, expect);
  await checkValues(vectors, expect);
  for (const flow of vectors.flows) {
    await new Rehearsal(flow, expect).play();
  }
  return failures;
}
