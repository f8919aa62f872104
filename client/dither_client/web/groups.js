/** The mechanism on categories: an answer is a group of them. */

/** @import { RandBelow, Value } from "./dither.d.ts" */

import { randomizedResponse } from "./cuts.js";
import { InvalidQuery, InvalidValue } from "./errors.js";
import { Query, checkEpsilon, checkValue, checkWhole, isIncreasing } from "./query.js";
import { systemRandbelow } from "./sampling.js";

export const MAX_CATEGORIES = 64;

/**
 * Answers with one's own of g groups with probability `e^ε / (e^ε + g - 1)`, with each other one with `1 / (e^ε + g - 1)`.
 * A value is the number of a category, and each category is a cell.
 */
export class GroupedRandomizedResponse extends Query {
  static fields = ["groups"];

  /** @param {Record<string, unknown>} fields */
  constructor({ groups, epsilon, transform }) {
    if (!Array.isArray(groups)) {
      throw new InvalidQuery("groups must be a list");
    }
    if (transform !== "identity") {
      throw new InvalidQuery('transform must be "identity", since categories have no scale');
    }
    const checked = checkGroups(groups);
    const edges = Array.from({ length: checked.flat().length - 1 }, (_, category) => category + 0.5);
    super("grouped_randomized_response", { edges, microEpsilon: checkEpsilon(epsilon), transform });
    this.groups = checked;
  }

  get nAnswers() {
    return this.groups.length;
  }

  /**
   * @override
   * @param {Value} value
   */
  cell(value) {
    const category = checkValue(value);
    if (!(Number.isInteger(category) && 0 <= category && category < this.nCells)) {
      throw new InvalidValue(`the value must be the number of a category, from 0 to ${this.nCells - 1}`);
    }
    return category;
  }

  /** @param {number} cell */
  group(cell) {
    return this.groups.findIndex((group) => group.includes(cell));
  }

  /** @type {(cell: number, answer: number) => number} */
  probability(cell, answer) {
    const other = Math.exp(-this.microEpsilon / 1e6);
    return (this.group(cell) === answer ? 1 : other) / (1 + (this.nAnswers - 1) * other);
  }

  /**
   * @param {number} cell
   * @param {RandBelow} randbelow
   */
  sample(cell, randbelow = systemRandbelow) {
    return randomizedResponse(this.group(cell), this.nAnswers, this.microEpsilon, randbelow);
  }

  fields() {
    return { groups: this.groups };
  }
}

/** @type {(groups: unknown[]) => number[][]} */
function checkGroups(groups) {
  const checked = groups.map(checkGroup);
  if (!(2 <= groups.length && groups.length <= MAX_CATEGORIES)) {
    throw new InvalidQuery(`there must be 2 to ${MAX_CATEGORIES} groups, not ${groups.length}`);
  }
  if (!isIncreasing(checked, (a, b) => (a[0] ?? 0) < (b[0] ?? 0))) {
    throw new InvalidQuery("the first categories of the groups must increase strictly");
  }
  const categories = checked.flat().sort((a, b) => a - b);
  if (categories.length > MAX_CATEGORIES || !categories.every((category, i) => category === i)) {
    throw new InvalidQuery(
      `each category must be in one group, from 0 on, and there must be at most ${MAX_CATEGORIES}`,
    );
  }
  return checked;
}

/** @type {(group: unknown) => number[]} */
function checkGroup(group) {
  if (!Array.isArray(group) || group.length === 0) {
    throw new InvalidQuery("each group must be a list of categories");
  }
  const categories = group.map((category) =>
    checkWhole(category, -Infinity, Infinity, "each group must hold whole numbers"),
  );
  if (!isIncreasing(categories)) {
    throw new InvalidQuery("the categories of a group must increase strictly");
  }
  return categories;
}
