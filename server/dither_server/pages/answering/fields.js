/** The fields for numbers: what is typed into one, what it is understood as, and what is wrong with it. */

import { checkBounds, readTyped, written } from "/web/dither.js";
import { element, local, mark, say } from "./saying.js";

/**
 * @typedef {object} Described a number that is asked for, with what may be typed
 * @property {string} name
 * @property {number | null} minimum
 * @property {number | null} maximum
 * @property {number | null} decimals
 * @property {string} [unit] with its period, such as `€ per week`
 */

export class NumberField {
  #end;
  #bounds;
  #decimals;

  /**
   * `end` is what the ids of the field and of what is said beside it end with.
   *
   * @param {string} end
   * @param {Described} described
   */
  constructor(end, { name, minimum, maximum, decimals }) {
    this.name = name;
    this.#end = end;
    this.#bounds = { minimum, maximum };
    this.#decimals = decimals;
  }

  /** Throws if the page does not have the field. */
  get input() {
    const found = element(`value${this.#end}`);
    if (!(found instanceof HTMLInputElement)) {
      throw new Error("the field is no input");
    }
    return found;
  }

  /**
   * The number that was typed, or null and what is wrong with it.
   *
   * @returns {{ value: number | null, wrong: string }}
   */
  read() {
    const text = this.input.value;
    if (text.trim() === "") {
      return { value: null, wrong: say("no_number") };
    }
    /** @type {[string, () => number][]} what each refusal means, in the order of the checks */
    const checks = [
      [say("not_finite"), () => readTyped(text, null, mark).value],
      [this.#tooFine(), () => readTyped(text, this.#decimals, mark).value],
      [this.#outside(), () => checkBounds(this.#bounds, readTyped(text, this.#decimals, mark).value)],
    ];
    let value = NaN;
    for (const [wrong, check] of checks) {
      try {
        value = check();
      } catch {
        return { value: null, wrong };
      }
    }
    return { value, wrong: "" };
  }

  /** Says beside the field what the text in it is understood as, if it could mean two numbers. */
  showUnderstood() {
    let said = "";
    try {
      const { value, other } = readTyped(this.input.value, this.#decimals, mark);
      said = other === null ? "" : say("understood", { value: plainly(value), other: plainly(other) });
    } catch {
      // What is no number yet is not understood.
    }
    element(`understood${this.#end}`).textContent = said;
  }

  /**
   * Says what is wrong beside the field; nothing is, if there is no text.
   *
   * @param {string} wrong
   */
  tell(wrong) {
    element(`error${this.#end}`).textContent = wrong;
    if (wrong === "") {
      this.input.removeAttribute("aria-invalid");
    } else {
      this.input.setAttribute("aria-invalid", "true");
    }
  }

  /** That a number may have no more decimals. */
  #tooFine() {
    const decimals = this.#decimals;
    const name = decimals === 0 ? "not_whole" : decimals === 1 ? "one_decimal" : "decimals";
    return say(name, { decimals: decimals ?? "" });
  }

  /** That a number must be within the bounds. */
  #outside() {
    const { minimum, maximum } = this.#bounds;
    const [least, most] = [minimum, maximum].map((bound) => local(written(bound ?? NaN)));
    const name = minimum === null ? "at_most" : maximum === null ? "at_least" : "from_to";
    return say("outside", { bounds: say(name, { minimum: least ?? "", maximum: most ?? "" }) });
  }
}

/**
 * The number without a mark between thousands, which could be taken for the other one.
 *
 * @param {number} value
 */
function plainly(value) {
  return local(String(value)).replace("-", "−");
}
