/** The npm package as a program for Node: `answer --url URL --ledger FILE [--max-epsilon E] [--invitation CODE] [--group LABEL] ID -`. */

import { readFileSync } from "node:fs";
import process from "node:process";
import { parseArgs } from "node:util";
import { Client } from "dither-client";
import { SqliteLedger } from "dither-client/ledgers/node-sqlite";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    url: { type: "string", default: "" },
    ledger: { type: "string", default: "" },
    "max-epsilon": { type: "string", default: "10" },
    invitation: { type: "string" },
    group: { type: "string" },
  },
});
const [, collection = ""] = positionals;
const text = readFileSync(0, "utf8").trim();
try {
  const ledger = await SqliteLedger.open(values.ledger, { maxEpsilon: values["max-epsilon"] });
  const client = new Client(values.url, { ledger });
  const value = text.includes("=") ? severalNumbers(text) : oneValue(text);
  const { receipt } = await client.answer(collection, value, {
    invitation: values.invitation ?? null,
    group: values.group ?? null,
  });
  console.log(receipt);
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
}

/**
 * A number, or the text of a category.
 *
 * @param {string} text
 */
function oneValue(text) {
  const number = Number(text);
  return text === "" ? Number.NaN : Number.isNaN(number) ? text : number;
}

/**
 * The numbers of lines `NAME=NUMBER`.
 *
 * @param {string} text
 */
function severalNumbers(text) {
  /** @type {Record<string, number>} */
  const numbers = {};
  for (const line of text.split("\n")) {
    const [name = "", number] = line.split("=");
    if (name in numbers) {
      throw new Error("a name stands there twice");
    }
    numbers[name] = Number(number || Number.NaN);
  }
  return numbers;
}
