/**
 * Panels: the same people in several calendar periods (days, ISO weeks or months, in UTC), each in a few that their device
 * draws when they join, without regard to the value. Periods are numbered from 1, which holds the first day of 1970.
 */

/** @import { Panel, RandBelow } from "./dither.d.ts" */

import { NotYourTurn } from "./errors.js";

export const NO_PERIOD = 0; // of an answer that is the only one to its collection
export const PERIODS = ["day", "week", "month"];
export const MAX_PANEL = 1_500;
const DAY = 86_400_000;
const THURSDAY = 3; // days from Monday: the first day of 1970 was one, and a week's Thursday is in the week's year

/**
 * The number of the period of a time in milliseconds since 1970.
 *
 * @type {(period: string, time: number) => number}
 */
export function periodNumber(period, time) {
  const day = Math.floor(time / DAY);
  if (period === "month") {
    const date = new Date(time);
    return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth() + 1;
  }
  return period === "week" ? Math.floor((day + THURSDAY) / 7) + 1 : day + 1;
}

/**
 * The first day of the period with this number, at midnight in UTC.
 *
 * @type {(period: string, number: number) => Date}
 */
export function periodStart(period, number) {
  if (period === "month") {
    return new Date(Date.UTC(1970, number - 1));
  }
  return new Date(DAY * (period === "week" ? (number - 1) * 7 - THURSDAY : number - 1));
}

/**
 * The ISO 8601 name of the period with this number: `2026-02-14`, `2026-W07` or `2026-02`.
 *
 * @type {(period: string, number: number) => string}
 */
export function periodLabel(period, number) {
  const start = periodStart(period, number);
  if (period !== "week") {
    return start.toISOString().slice(0, period === "month" ? 7 : 10);
  }
  const thursday = new Date(start.getTime() + THURSDAY * DAY);
  const year = thursday.getUTCFullYear();
  const week = Math.floor((thursday.getTime() - Date.UTC(year, 0)) / DAY / 7) + 1;
  return `${String(year).padStart(4, "0")}-W${String(week).padStart(2, "0")}`;
}

/**
 * Draws the numbers of the periods in which somebody answers who joins in period `joined`, increasing. Every set of them is
 * equally likely.
 *
 * @type {(panel: Panel, joined: number, randbelow: RandBelow) => number[]}
 */
export function drawTurns({ answers, periods }, joined, randbelow) {
  const left = Array.from({ length: periods }, (_, place) => joined + place);
  return Array.from(
    { length: answers },
    () => left.splice(Number(randbelow(BigInt(left.length))), 1).at(0) ?? joined,
  ).sort((a, b) => a - b);
}

/**
 * The number of the period that it is, at a time in milliseconds since 1970. Throws `NotYourTurn` unless it is one of `turns`.
 *
 * @type {(panel: Panel, turns: number[], time: number) => number}
 */
export function checkTurn({ period }, turns, time) {
  const now = periodNumber(period, time);
  if (turns.includes(now)) {
    return now;
  }
  const next = turns.find((turn) => turn > now);
  if (next === undefined) {
    throw new NotYourTurn("you have had all your turns in this panel", null);
  }
  const label = periodLabel(period, next);
  throw new NotYourTurn(`this is not your turn, and nothing was sent: the next one is in ${label}`, label);
}
