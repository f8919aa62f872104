/** When somebody in a panel answers: in the periods that the device drew when they joined. */

/** @import { Client } from "/web/dither.d.ts" */

import { NO_PERIOD, periodNumber, periodStart } from "/web/panel.js";
import { language, say } from "./saying.js";

/**
 * @typedef {object} Turn
 * @property {number} period the number of this period; 0 without a panel
 * @property {boolean} joined
 * @property {boolean} now whether an answer is due in this period
 * @property {Date | null} next the first day of the next period in which one is
 */

/** What there is without a panel. @type {Turn} */
export const ALWAYS = { period: NO_PERIOD, joined: true, now: true, next: null };

/**
 * @param {Client} client
 * @param {string} collection
 * @param {string} name of the panel's periods: `day`, `week` or `month`
 * @returns {Promise<Turn>}
 */
export async function turnOf(client, collection, name) {
  const turns = await client.ledger.turns(client.server, collection);
  const period = periodNumber(name, Date.now());
  const next = turns.find((turn) => turn > period);
  return {
    period,
    joined: turns.length > 0,
    now: turns.includes(period),
    next: next === undefined ? null : periodStart(name, next),
  };
}

/**
 * A sentence on when to come back.
 *
 * @type {(name: string, next: Date | null) => string}
 */
export function nextTurn(name, next) {
  if (next === null) {
    return say("no_turn_left");
  }
  /** @type {Intl.DateTimeFormatOptions} */
  const parts = name === "month" ? { month: "long", year: "numeric" } : { dateStyle: "long" };
  const date = new Intl.DateTimeFormat(language === "en" ? "en-GB" : language, { ...parts, timeZone: "UTC" });
  return say(`next_${name}`, { date: date.format(next) });
}
