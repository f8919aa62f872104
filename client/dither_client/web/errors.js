/**
 * The errors that the module throws on purpose, named as in the Python client. Their messages never contain a value.
 *
 *     DitherError
 *     ├── InvalidEpsilon    ε is not a positive decimal
 *     ├── InvalidValue      the value is not a number that can be asked about
 *     ├── InvalidGroup      the group is none of the collection's, or is missing
 *     ├── InvalidQuery      a question that an honest server would not ask
 *     ├── InvalidAddress    a server's URL, a collection's id or a code that cannot be used
 *     ├── LedgerError
 *     │   ├── OverCap           answering would exceed a cap
 *     │   ├── AlreadyAnswered   the collection has this ledger's answer
 *     │   ├── NotYourTurn       the respondent answers in other periods of the collection
 *     │   └── AnswerExpired     a stored answer came too late
 *     └── ServerError
 *         ├── Unreachable       no response after every retry
 *         ├── Problem           the server refused, with a reason
 *         └── BadResponse       the response does not follow the protocol
 */

export class DitherError extends Error {}

export class InvalidEpsilon extends DitherError {}

export class InvalidValue extends DitherError {}

export class InvalidGroup extends DitherError {}

export class InvalidQuery extends DitherError {}

export class InvalidAddress extends DitherError {}

export class LedgerError extends DitherError {}

export class OverCap extends LedgerError {}

export class AlreadyAnswered extends LedgerError {
  /**
   * `receipt` is the receipt of the answer, or null if the ledger does not have it.
   *
   * @param {string} message
   * @param {string | null} receipt
   */
  constructor(message, receipt = null) {
    super(message);
    this.receipt = receipt;
  }
}

/** Thrown in a period in which the respondent of a panel does not answer: nothing was drawn, sent or spent. */
export class NotYourTurn extends LedgerError {
  /**
   * `nextTurn` is the label of the next period in which it answers, such as `2026-W07`, or null if there is none left.
   *
   * @param {string} message
   * @param {string | null} nextTurn
   */
  constructor(message, nextTurn) {
    super(message);
    this.nextTurn = nextTurn;
  }
}

export class AnswerExpired extends LedgerError {}

export class ServerError extends DitherError {}

export class Unreachable extends ServerError {}

export class BadResponse extends ServerError {}

/** `status` is the HTTP status, `type` the URI that names the cause, `reason` its last part, such as `ticket-expired`. */
export class Problem extends ServerError {
  /**
   * @param {number} status
   * @param {string} type
   * @param {string} detail
   */
  constructor(status, type, detail) {
    super(detail);
    this.status = status;
    this.type = type;
    this.reason = type.replace(/^urn:dither:/, "");
  }
}

// In words, since a bundler may give the classes other names.
const NAMED = {
  DitherError,
  InvalidEpsilon,
  InvalidValue,
  InvalidGroup,
  InvalidQuery,
  InvalidAddress,
  LedgerError,
  OverCap,
  AlreadyAnswered,
  NotYourTurn,
  AnswerExpired,
  ServerError,
  Unreachable,
  BadResponse,
  Problem,
};
for (const [name, named] of Object.entries(NAMED)) named.prototype.name = name;
