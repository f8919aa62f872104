/** Types of `dither.js`. ε in `micro…` is an integer of millionths; elsewhere it is a decimal, such as `"0.5"`. */

/** ε as a person writes it; a number stands for the shortest decimal that prints it. */
export type Epsilon = string | number;

export type Mechanism = "laplace" | "randomized_response" | "staircase" | "gaussian";

export type Transform = "identity" | "log";

/** Uniform on `0..n-1`, for `n >= 1n`. */
export type RandBelow = (n: bigint) => bigint;

export interface Query {
  readonly mechanism: Mechanism;
  readonly transform: Transform;
  readonly microEpsilon: number;
  /** ρ of zero-concentrated differential privacy, where the mechanism states one. */
  readonly microRho: number | null;
  /** The cell edges, on the transformed scale: cell `k` holds the values with exactly `k` edges strictly below them. */
  readonly edges: readonly number[];
  readonly nCells: number;
  /** Answers are `0..nAnswers - 1`. */
  readonly nAnswers: number;
  /** The cell of a value on its own scale; a tie goes down. Throws `InvalidValue`. */
  cell(value: number): number;
  /** The chance of `answer` for whoever is in `cell`. */
  probability(cell: number, answer: number): number;
  /** An answer for whoever is in `cell`, drawn exactly. */
  sample(cell: number, randbelow?: RandBelow): number;
  /** The private answer of whoever holds `value`. */
  answer(value: number, randbelow?: RandBelow): number;
  toJSON(): Record<string, unknown>;
}

export interface Terms {
  id: string;
  name: string;
  family: string;
  transform: string;
  mechanism: string;
  microEpsilon: number;
  /** What respondents choose from before they ask for a ticket; empty if `microEpsilon` is for everyone. */
  microEpsilonChoices: number[];
  microRho: number | null;
  /** Levels or cuts of every question that has more than one; null where the server chooses. */
  levels: number | null;
  state: string;
  /** How many are stored; null where that is for those who may read the posterior. */
  answers: number | null;
  opensAt: string | null;
  closesAt: string | null;
  maxAnswers: number | null;
  admission: string;
  visibility: string;
  advice: string | null;
  /** What a respondent has to know before choosing an ε. */
  notice: string | null;
}

export interface Ticket {
  ticket: string;
  expiresAt: string;
  query: Query;
}

export type State = "charged" | "drawn" | "sent" | "expired";

/** One collection's question and answer. `answer` and `retryKey` are null until drawn, `receipt` until it is sent. */
export interface Entry {
  server: string;
  collection: string;
  state: State;
  ticket: string;
  query: Query;
  answer: number | null;
  /** Sent with the answer: it shows the server that a repeat comes from whoever sent it first. */
  retryKey: string | null;
  receipt: string | null;
}

export interface Charge {
  server: string;
  collection: string;
  state: State;
  receipt: string | null;
  epsilon: string;
  rho: string | null;
}

/** What terms promise of a collection's questions. */
export type Price = Pick<
  Terms,
  "mechanism" | "transform" | "microEpsilon" | "microEpsilonChoices" | "microRho" | "levels"
>;

export interface LedgerOptions {
  /** The database's name in this origin; `"dither"` unless given. */
  name?: string;
  /** What may be spent in all. Without it the caps are 10 in all, 5 on any one server and 2 for any one answer. */
  maxEpsilon?: Epsilon | null;
  /** What may be spent on any one server. */
  maxEpsilonPerServer?: Epsilon | null;
  /** What any one answer may cost. */
  maxEpsilonPerAnswer?: Epsilon | null;
}

/** ε spent, and answers until they are sent, in this browser's database. Every method rejects with `LedgerError`. */
export class Ledger {
  constructor(options?: LedgerOptions);
  /** What may be spent in all. */
  readonly maxEpsilon: string;
  find(server: string, collection: string): Promise<Entry | null>;
  charge(server: string, collection: string, ticket: string, query: Query): Promise<Entry>;
  draw(server: string, collection: string, answer: number): Promise<Entry>;
  markSent(server: string, collection: string, receipt: string): Promise<Entry>;
  markExpired(server: string, collection: string): Promise<Entry>;
  retryKey(server: string, collection: string): Promise<string>;
  /** What the first terms said that this ledger was told. */
  price(server: string, collection: string): Promise<Price | null>;
  keepPrice(server: string, collection: string, told: Price): Promise<Price>;
  unsent(server: string): Promise<Entry[]>;
  entries(): Promise<Charge[]>;
  spent(server?: string | null): Promise<string>;
  close(): Promise<void>;
}

/** What a client needs of a ledger. */
export type ClientLedger = Pick<
  Ledger,
  "find" | "charge" | "draw" | "markSent" | "markExpired" | "retryKey" | "price" | "keepPrice" | "unsent"
>;

export interface Retry {
  attempts?: number;
  /** Seconds. */
  first?: number;
  /** Seconds. */
  longest?: number;
}

export interface AnswerOptions {
  /** What the respondent was told; a collection that costs more is refused. The terms are the price in any case. */
  maxEpsilon?: Epsilon | null;
  /** What the respondent chose, without regard to the value, where the terms leave a choice. */
  epsilon?: Epsilon | null;
  /** The code, where `admission` is `invite`. */
  invitation?: string | null;
}

export class Client {
  /** `url` is https, or http on this machine. Throws `InvalidAddress`. */
  constructor(url: string, options?: { ledger?: ClientLedger; retry?: Retry });
  /** The server's address in its one spelling, by which the ledger knows it. */
  readonly server: string;
  readonly ledger: ClientLedger;
  terms(collection: string): Promise<Terms>;
  /** The ledger's entry for a collection of this server. */
  find(collection: string): Promise<Entry | null>;
  /** Answers privately, or sends the answer that the ledger holds. */
  answer(collection: string, value: number, options?: AnswerOptions): Promise<Entry>;
  /** Sends the answer that the ledger holds; null if it holds none. */
  sendStored(collection: string): Promise<Entry | null>;
  /** Sends every stored answer to this server. */
  resume(): Promise<Map<string, Entry | DitherError>>;
}

export class DitherError extends Error {
  constructor(message: string);
}
export class InvalidEpsilon extends DitherError {}
export class InvalidValue extends DitherError {}
export class InvalidQuery extends DitherError {}
export class InvalidAddress extends DitherError {}
export class LedgerError extends DitherError {}
export class OverCap extends LedgerError {}
export class AlreadyAnswered extends LedgerError {
  constructor(message: string, receipt?: string | null);
  readonly receipt: string | null;
}
export class AnswerExpired extends LedgerError {}
export class ServerError extends DitherError {}
export class Unreachable extends ServerError {}
export class BadResponse extends ServerError {}
export class Problem extends ServerError {
  constructor(status: number, type: string, detail: string);
  readonly status: number;
  readonly type: string;
  /** The cause alone, such as `ticket-expired`. */
  readonly reason: string;
}

/** Strict JSON: objects become Maps, and numbers keep the text that wrote them. Throws `BadResponse`. */
export function decodeJson(text: string | Uint8Array): unknown;
/** A reply to a request for a ticket, decoded. Throws `BadResponse` and `InvalidQuery`. */
export function parseTicket(data: unknown): Ticket;
/** A question, decoded. Throws `InvalidQuery` for what no honest server would ask. */
export function parseQuery(data: unknown): Query;
/** Micro-ε of a decimal of at most six places. Throws `InvalidEpsilon`. */
export function parseMicro(value: unknown, name?: string): bigint;
export function epsilonText(micro: number | bigint): string;

/** A source of uniform integers that takes its bytes from `fill`. */
export function uniform(fill: (bytes: Uint8Array) => void): RandBelow;
/** The browser's cryptographic generator. */
export const systemRandbelow: RandBelow;

/** The question in words, to be shown after the answer was sent. */
export function questionText(query: Query): string;
export function answerText(query: Query, answer: number): string;
/** Who would most likely, and who least likely, have sent this answer. */
export function odds(query: Query, answer: number): [Odds, Odds];
/** Whoever they are, they send an answer with this probability. */
export interface Odds {
  who: string;
  probability: number;
}
