/**
 * Answers the questions of a Dither server privately, in a browser: the value stays on the device, and what is sent is
 * drawn with exact noise. It has no dependencies; the types are in `dither.d.ts`.
 */

export { Client } from "./client.js";
export { epsilonText, parseMicro } from "./epsilon.js";
export {
  AlreadyAnswered,
  AnswerExpired,
  BadResponse,
  DitherError,
  InvalidAddress,
  InvalidEpsilon,
  InvalidGroup,
  InvalidQuery,
  InvalidValue,
  LedgerError,
  NotYourTurn,
  OverCap,
  Problem,
  ServerError,
  Unreachable,
} from "./errors.js";
export { decodeJson } from "./json.js";
export { Ledger } from "./ledger.js";
export { parseTicket } from "./messages.js";
export { checkBounds } from "./price.js";
export { parseQuery } from "./queries.js";
export { systemRandbelow, uniform } from "./sampling.js";
export { readTyped, written } from "./typed.js";
export { answerText, odds, questionText } from "./words.js";
