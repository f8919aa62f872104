/** Types of `dither.js`. Names with `micro` hold integers of millionths; elsewhere ε is a decimal, such as `"0.5"`. */

/** ε as a person writes it; a number stands for the shortest decimal that prints it. */
export type Epsilon = string | number;

export type Mechanism =
  | "laplace"
  | "randomized_response"
  | "staircase"
  | "gaussian"
  | "grouped_randomized_response"
  | "component"
  | "joint";

export type Transform = "identity" | "log";

/** What several numbers are asked: whether both lie on one side of their cuts, which of three is alone, or the cell. */
export type States = "same_side" | "odd_one_out" | "cells";

/** What a question is about: a number, or where there are several of a person, the list of all of them. */
export type Value = number | readonly number[];

/** Uniform on `0..n-1`, for `n >= 1n`. */
export type RandBelow = (n: bigint) => bigint;

export interface Query {
  readonly mechanism: Mechanism;
  readonly transform: Transform;
  readonly microEpsilon: number;
  /** ρ of zero-concentrated differential privacy, if the mechanism states one. */
  readonly microRho: number | null;
  /** The cell edges, on the transformed scale: cell `k` holds the values with exactly `k` edges strictly below them. */
  readonly edges: readonly number[];
  readonly nCells: number;
  /** Answers are `0..nAnswers - 1`. */
  readonly nAnswers: number;
  /** The cell of a value on its own scale; a tie goes down. Throws `InvalidValue`. */
  cell(value: Value): number;
  /** The probability of `answer` for a value in `cell`. */
  probability(cell: number, answer: number): number;
  /** Draws an answer for a value in `cell`, exactly. */
  sample(cell: number, randbelow?: RandBelow): number;
  /** Draws the private answer of somebody who holds `value`. */
  answer(value: Value, randbelow?: RandBelow): number;
  toJSON(): Record<string, unknown>;
}

/** Public groups: what they are called, such as `region`, and their labels. */
export interface Groups {
  name: string;
  labels: string[];
}

/** One of several numbers that each person has. */
export interface Component {
  name: string;
  question: string | null;
  unit: string | null;
  /** Such as `per week`. */
  periodOfValue: string | null;
  minimum: number | null;
  maximum: number | null;
  decimals: number | null;
  transform: string;
}

/** The same people in several calendar periods: each answers in `answers` of the `periods` from joining on. */
export interface Panel {
  answers: number;
  periods: number;
  /** `day`, `week` or `month`. */
  period: string;
}

export interface Terms {
  id: string;
  name: string;
  family: string;
  transform: string;
  mechanism: string;
  microEpsilon: number;
  /** The values that respondents choose from before they ask for a ticket; empty without a choice. */
  microEpsilonChoices: number[];
  microRho: number | null;
  /** Levels or cuts of every question that has more than one; null if the server chooses. */
  levels: number | null;
  /** The texts of the categories, one of which is the value; empty where the value is a number. */
  categories: string[];
  /** The words that ask for the value. The question that a ticket has is another one, about the value. */
  question: string | null;
  unit: string | null;
  /** What the value is of, such as `per week`. */
  periodOfValue: string | null;
  /** The least value that there can be, in the values' own units; null for no bound. */
  minimum: number | null;
  maximum: number | null;
  /** How many decimals the value may be typed with, and is shown with; null for any. */
  decimals: number | null;
  organisation: string | null;
  contact: string | null;
  /** An address that begins with https. */
  privacyUrl: string | null;
  /** What to say once the answer is sent. */
  thankYou: string | null;
  /** The public groups, one of which the respondent names, without noise; null where there are none. */
  groups: Groups | null;
  /** The numbers that each person has, about some of which one question is asked; empty where it is one number. */
  components: Component[];
  /** In which periods a respondent answers who answers in several; null where everybody answers once. */
  panel: Panel | null;
  state: string;
  /** How many are stored; null if only those who may read the posterior may know it. */
  answers: number | null;
  opensAt: string | null;
  closesAt: string | null;
  maxAnswers: number | null;
  admission: string;
  visibility: string;
  advice: string | null;
  /** What a respondent must be told before choosing an ε. */
  notice: string | null;
}

export interface Ticket {
  ticket: string;
  expiresAt: string;
  query: Query;
}

export type State = "charged" | "drawn" | "sent" | "expired";

/** A collection's question and answer. `answer` and `retryKey` are null until drawn, `receipt` until sent. */
export interface Entry {
  server: string;
  collection: string;
  state: State;
  ticket: string;
  query: Query;
  answer: number | null;
  /** Sent with the answer: it proves to the server that a repeat comes from the first sender. */
  retryKey: string | null;
  receipt: string | null;
  /** The number of the period in which the respondent of a panel gives this answer; otherwise 0. */
  period: number;
}

/** An entry whose answer the server has. */
export interface SentEntry extends Entry {
  state: "sent";
  answer: number;
  retryKey: string;
  receipt: string;
}

/** What one answer has cost; `reserved`, of a panel, before its period has come. */
export interface Charge {
  server: string;
  collection: string;
  state: State | "reserved";
  period: number;
  receipt: string | null;
  epsilon: string;
  rho: string | null;
  /** The collection's name in its terms; null in what an earlier version stored. */
  name: string | null;
}

/** A person's numbers, by the names of the components. */
export type Numbers = Readonly<Record<string, number>>;

/** What the terms promise about a collection's questions. */
export type Price = Pick<
  Terms,
  | "mechanism"
  | "transform"
  | "microEpsilon"
  | "microEpsilonChoices"
  | "microRho"
  | "levels"
  | "categories"
  | "minimum"
  | "maximum"
  | "groups"
  | "panel"
> & { components: Pick<Component, "name" | "transform" | "minimum" | "maximum">[] };

export interface LedgerCaps {
  /** The cap on the total. Without it the caps are 10 in total, 5 on any one server and 2 for any one answer. */
  maxEpsilon?: Epsilon | null;
  /** The cap on any one server. */
  maxEpsilonPerServer?: Epsilon | null;
  /** The cap on any one answer. */
  maxEpsilonPerAnswer?: Epsilon | null;
}

export interface LedgerOptions extends LedgerCaps {
  /** The database's name in this origin; `"dither"` by default. */
  name?: string;
}

/** ε spent, and answers until they are sent, in this browser's database. Every method rejects with `LedgerError`. */
export class Ledger {
  constructor(options?: LedgerOptions);
  /** The cap on the total. */
  readonly maxEpsilon: string;
  find(server: string, collection: string, period?: number): Promise<Entry | null>;
  /** Spends micro-ε on each of a panel's periods and reserves them, unless that is done; resolves to those reserved. */
  join(server: string, collection: string, periods: number[], microEpsilon: number): Promise<number[]>;
  /** The reserved periods of a panel, increasing; none before it is joined. */
  turns(server: string, collection: string): Promise<number[]>;
  charge(server: string, collection: string, ticket: string, query: Query, period?: number): Promise<Entry>;
  draw(server: string, collection: string, answer: number, period?: number): Promise<Entry>;
  markSent(server: string, collection: string, receipt: string, period?: number): Promise<Entry>;
  markExpired(server: string, collection: string, period?: number): Promise<Entry>;
  retryKey(server: string, collection: string): Promise<string>;
  /** The price in the first terms that this ledger saw. */
  price(server: string, collection: string): Promise<Price | null>;
  keepPrice(server: string, collection: string, told: Price, name?: string | null): Promise<Price>;
  unsent(server: string): Promise<Entry[]>;
  entries(): Promise<Charge[]>;
  spent(server?: string | null): Promise<string>;
  close(): Promise<void>;
}

/** The part of a ledger that a client needs. */
export type ClientLedger = Pick<
  Ledger,
  | "find"
  | "join"
  | "turns"
  | "charge"
  | "draw"
  | "markSent"
  | "markExpired"
  | "retryKey"
  | "price"
  | "keepPrice"
  | "unsent"
>;

export interface Retry {
  attempts?: number;
  /** Seconds. */
  first?: number;
  /** Seconds. */
  longest?: number;
}

export interface AnswerOptions {
  /** The ε that the respondent was told; a collection that costs more is refused. The terms are the price in any case. */
  maxEpsilon?: Epsilon | null;
  /** The respondent's choice, made independently of the value, if the terms offer one. */
  epsilon?: Epsilon | null;
  /** The code, if `admission` is `invite`. */
  invitation?: string | null;
  /** The label of the respondent's group, where the terms have groups. It is sent as it is, without noise. */
  group?: string | null;
}

export class Client {
  /** `url` is https, or http on this machine. Throws `InvalidAddress`. */
  constructor(url: string, options?: { ledger?: ClientLedger; retry?: Retry; clock?: () => number });
  /** The server's canonical address, which identifies it in the ledger. */
  readonly server: string;
  readonly ledger: ClientLedger;
  terms(collection: string): Promise<Terms>;
  /** The ledger's entry for a collection of this server. */
  find(collection: string): Promise<Entry | null>;
  /**
   * Answers privately, or sends the answer that the ledger holds. A value may be the text of a category, or several numbers
   * by the names of the terms' components. Of a panel, call it in each period: it joins, and rejects with `NotYourTurn`,
   * without a request, in a period in which the respondent does not answer.
   */
  answer(collection: string, value: number | string | Numbers, options?: AnswerOptions): Promise<SentEntry>;
  /**
   * Joins the collection's panel, unless that is done: draws the periods in which to answer, and spends the ε of all of
   * them. Resolves to their labels, such as `2026-W07`; none where there is no panel.
   */
  join(collection: string, options?: Pick<AnswerOptions, "maxEpsilon">): Promise<string[]>;
  /** Sends the answer that the ledger holds; null if it holds none. */
  sendStored(collection: string): Promise<SentEntry | null>;
  /** Sends every stored answer to this server. */
  resume(): Promise<Map<string, SentEntry | DitherError>>;
}

export class DitherError extends Error {
  constructor(message: string);
}
export class InvalidEpsilon extends DitherError {}
export class InvalidValue extends DitherError {}
export class InvalidGroup extends DitherError {}
export class InvalidQuery extends DitherError {}
export class InvalidAddress extends DitherError {}
export class LedgerError extends DitherError {}
export class OverCap extends LedgerError {}
export class AlreadyAnswered extends LedgerError {
  constructor(message: string, receipt?: string | null);
  readonly receipt: string | null;
}
export class NotYourTurn extends LedgerError {
  constructor(message: string, nextTurn: string | null);
  /** The label of the next period in which the respondent answers, or null if there is none left. */
  readonly nextTurn: string | null;
}
export class AnswerExpired extends LedgerError {}
export class ServerError extends DitherError {}
export class Unreachable extends ServerError {}
export class BadResponse extends ServerError {}
export class Problem extends ServerError {
  constructor(status: number, type: string, detail: string);
  readonly status: number;
  readonly type: string;
  /** The last part of `type`, such as `ticket-expired`. */
  readonly reason: string;
}

/** Parses strict JSON: objects become Maps, and numbers keep their text. Throws `BadResponse`. */
export function decodeJson(text: string | Uint8Array): unknown;
/** The ticket in a decoded reply. Throws `BadResponse` and `InvalidQuery`. */
export function parseTicket(data: unknown): Ticket;
/** The question in decoded JSON. Throws `InvalidQuery` for one that no honest server would ask. */
export function parseQuery(data: unknown): Query;
/** Micro-ε of a decimal of at most six places. Throws `InvalidEpsilon`. */
export function parseMicro(value: unknown, name?: string): bigint;
export function epsilonText(micro: number | bigint): string;

/** The number that a text is understood as; `other` is the other one that it could mean, null if there is none. */
export interface Typed {
  value: number;
  other: number | null;
}
/**
 * The number in a text such as `1,250` or `120 €`, with at most so many decimals. With two readings, `mark` begins the
 * decimals: a point by default. Throws `InvalidValue`.
 */
export function readTyped(text: string, decimals?: number | null, mark?: "." | ","): Typed;
/** Returns a value within the terms' bounds, before anything is asked for. Throws `InvalidValue`. */
export function checkBounds(bounds: Pick<Terms, "minimum" | "maximum">, value: number): number;
/** The number with a comma between thousands and a decimal point. */
export function written(value: number): string;

/** A source of uniform integers that takes its bytes from `fill`. */
export function uniform(fill: (bytes: Uint8Array) => void): RandBelow;
/** The browser's cryptographic generator. */
export const systemRandbelow: RandBelow;

/** What a number that each person has is called, and how its values are written. */
export type Told = Pick<Component, "name" | "decimals"> & { unit?: string | null };
/**
 * The question in words, to be shown after the answer was sent; `categories`, `decimals` and `components` are those of the
 * terms, `language` is `en`, the default, or `de`, and `unit` is written after each number.
 */
export function questionText(
  query: Query,
  categories?: readonly string[],
  decimals?: number | null,
  language?: string,
  components?: readonly Told[],
  unit?: string | null,
): string;
export function answerText(
  query: Query,
  answer: number,
  categories?: readonly string[],
  decimals?: number | null,
  language?: string,
  components?: readonly Told[],
  unit?: string | null,
): string;
/** Which values send this answer with the highest, and which with the lowest probability. */
export function odds(
  query: Query,
  answer: number,
  categories?: readonly string[],
  decimals?: number | null,
  language?: string,
  components?: readonly Told[],
  unit?: string | null,
): [Odds, Odds];
/**
 * The values `who`, in words such as `above 500`, send an answer with this probability; where several numbers are asked
 * about, those whose true answer `who` is.
 */
export interface Odds {
  who: string;
  probability: number;
}

/** The words of questions and answers in one language; no part of what the module exports. */
export interface Phrases {
  /** The decimal mark, and the one between thousands. */
  marks: [string, string];
  threshold: (above: string) => string;
  interval: (low: string, high: string) => string;
  groups: (count: number, listed: string) => string;
  groupsOfRanges: (count: number, listed: string) => string;
  ranges: (count: number, listed: string) => string;
  yes: string;
  no: string;
  above: (number: string) => string;
  atLeast: (number: string) => string;
  upTo: (number: string) => string;
  below: (number: string) => string;
  exactly: (number: string) => string;
  about: (number: string) => string;
  orBelow: (number: string) => string;
  orAbove: (number: string) => string;
  quoted: (text: string) => string;
  category: (number: number) => string;
  component: (number: number) => string;
  statement: (name: string, above: string) => string;
  sameSide: (listed: string) => string;
  oddOneOut: (listed: string) => string;
  noneOfThem: string;
  combinations: (listed: string) => string;
  and: string;
  or: string;
  anything: string;
  nearlyZero: string;
  /** After words such as `above`. */
  beside: { enormous: string; enormousNegative: string };
  alone: { enormous: string; enormousNegative: string };
}
