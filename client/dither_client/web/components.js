/** Questions to people who have several numbers: about one of them, or about which of some states several are in. */

/** @import { Mechanism, Query as AnyQuery, RandBelow, States, Transform, Value } from "./dither.d.ts" */

import { InvalidQuery, InvalidValue } from "./errors.js";
import { parseNumberQuery } from "./ordinary.js";
import { Query, cellAt, checkEpsilon, checkIncreasing, checkTransform, checkWhole, isIncreasing } from "./query.js";
import { systemRandbelow } from "./sampling.js";

export const MAX_COMPONENTS = 8;
const CHANNELS = ["randomized_response", "staircase"]; // what answers which state several numbers are in

/** What an ordinary question answers: its cells, its channel and its ε are those of the question about several numbers. */
class Answered extends Query {
  /**
   * @param {Mechanism} mechanism
   * @param {AnyQuery} channel
   * @param {Transform} transform
   */
  constructor(mechanism, channel, transform) {
    super(mechanism, { edges: [...channel.edges], microEpsilon: channel.microEpsilon, transform });
    this.microRho = channel.microRho;
    this.channel = channel;
  }

  /** @override */
  get nCells() {
    return this.channel.nCells;
  }

  get nAnswers() {
    return this.channel.nAnswers;
  }

  /** @type {(cell: number, answer: number) => number} */
  probability(cell, answer) {
    return this.channel.probability(cell, answer);
  }

  /**
   * @param {number} cell
   * @param {RandBelow} randbelow
   */
  sample(cell, randbelow = systemRandbelow) {
    return this.channel.sample(cell, randbelow);
  }
}

/** An ordinary question about one number; a value is the list of all of a person's numbers. */
export class ComponentQuery extends Answered {
  static fields = ["component", "query"];

  /** @param {Record<string, unknown>} fields */
  constructor({ component, query, epsilon, transform }) {
    const inner = parseNumberQuery(query);
    const [number = NaN] = checkComponents([component]);
    if (checkEpsilon(epsilon) !== inner.microEpsilon) {
      throw new InvalidQuery("epsilon must be that of the query about the component");
    }
    if (checkTransform(transform) !== inner.transform) {
      throw new InvalidQuery("transform must be that of the query about the component");
    }
    super("component", inner, inner.transform);
    this.component = number;
    this.query = inner;
  }

  get about() {
    return [this.component];
  }

  /**
   * @override
   * @param {Value} values
   */
  cell(values) {
    return this.query.cell(numberAt(values, this.component));
  }

  fields() {
    return { component: this.component, query: this.query };
  }
}

/**
 * @typedef {object} Kind what is asked about several numbers: how many they are, whether each has one cut, how many states
 *   there are for so many cells of each, and the state of those whose numbers lie in these cells
 * @property {number} about
 * @property {boolean} atOneCut
 * @property {(sizes: readonly number[]) => number} count
 * @property {(cells: readonly number[], sizes: readonly number[]) => number} state
 */

/** @type {Record<States, Kind>} */
const KINDS = {
  same_side: { about: 2, atOneCut: true, count: () => 2, state: ([a, b]) => Number(a === b) },
  odd_one_out: { about: 3, atOneCut: true, count: () => 4, state: oddOne },
  cells: {
    about: 2,
    atOneCut: false,
    count: ([rows = 0, columns = 0]) => rows * columns,
    state: ([row = 0, column = 0], [, columns = 0]) => row * columns + column,
  },
};

/** Which of some states several numbers are in; a value is the list of all of a person's numbers. */
export class JointQuery extends Answered {
  static fields = ["components", "states", "cuts", "transforms", "channel"];

  /** @param {Record<string, unknown>} fields */
  constructor({ components, states, cuts, transforms, channel, epsilon, transform }) {
    const asked = checkStates(states);
    const about = checkComponents(components);
    checkLength("components", about, asked);
    const lists = checkLength("cuts", cuts, asked);
    const scales = checkLength("transforms", transforms, asked);
    checkLists(lists, asked);
    if (transform !== "identity") {
      throw new InvalidQuery('transform must be "identity": each component has its own among transforms');
    }
    const answeredBy = checkChannel(channel);
    if (checkEpsilon(epsilon) !== answeredBy.microEpsilon) {
      throw new InvalidQuery("epsilon must be that of the channel");
    }
    const checkedCuts = lists.map(checkIncreasing);
    const checkedTransforms = scales.map(checkTransform);
    const count = KINDS[asked].count(sizesOf(checkedCuts));
    if (answeredBy.nCells !== count) {
      throw new InvalidQuery(`the channel must have a cell for each of the ${count} states`);
    }
    super("joint", answeredBy, transform);
    this.about = about;
    this.states = asked;
    this.cuts = checkedCuts;
    this.transforms = checkedTransforms;
  }

  /**
   * @override
   * @param {Value} values
   */
  cell(values) {
    const cells = this.about.map((component, i) =>
      cellAt(this.cuts[i] ?? [], numberAt(values, component), this.transforms[i] ?? "identity"),
    );
    return KINDS[this.states].state(cells, sizesOf(this.cuts));
  }

  fields() {
    const { about, states, cuts, transforms, channel } = this;
    return { components: about, states, cuts, transforms, channel };
  }
}

/** @type {(cells: readonly number[]) => number} */
function oddOne([a, b, c]) {
  if (a === b) {
    return b === c ? 0 : 3;
  }
  return a === c ? 2 : 1;
}

/** @type {(cuts: readonly number[][]) => number[]} how many cells each of the numbers has */
function sizesOf(cuts) {
  return cuts.map(({ length }) => length + 1);
}

/** @type {(values: Value, component: number) => number} */
function numberAt(values, component) {
  const number = typeof values === "number" ? undefined : values[component];
  if (number === undefined) {
    throw new InvalidValue("the question is about one of several numbers: the value must have a number for each");
  }
  return number;
}

/** @type {(states: unknown) => States} */
function checkStates(states) {
  if (states !== "same_side" && states !== "odd_one_out" && states !== "cells") {
    throw new InvalidQuery(`states must be one of ${Object.keys(KINDS).join(", ")}`);
  }
  return states;
}

/** @type {(components: unknown) => number[]} */
function checkComponents(components) {
  if (!Array.isArray(components)) {
    throw new InvalidQuery("components must be a list of whole numbers");
  }
  const last = MAX_COMPONENTS - 1;
  const numbers = components.map((component) =>
    checkWhole(component, 0, last, `a component's number must be 0 to ${last}`),
  );
  if (!isIncreasing(numbers)) {
    throw new InvalidQuery("the numbers of components must increase");
  }
  return numbers;
}

/** @type {(name: string, given: unknown, states: States) => any[]} */
function checkLength(name, given, states) {
  const { about } = KINDS[states];
  if (!Array.isArray(given) || given.length !== about) {
    throw new InvalidQuery(`${name} of ${states} must be a list of ${about}`);
  }
  return given;
}

/** @type {(cuts: unknown[], states: States) => void} */
function checkLists(cuts, states) {
  for (const each of cuts) {
    if (!Array.isArray(each) || each.length === 0) {
      throw new InvalidQuery("cuts must be a list of numbers for each component");
    }
    if (KINDS[states].atOneCut && each.length !== 1) {
      throw new InvalidQuery(`each component of ${states} has one cut`);
    }
  }
}

/**
 * A question whose answers depend on cells without an order, and on no transform.
 *
 * @param {unknown} channel
 */
function checkChannel(channel) {
  const query = parseNumberQuery(channel);
  if (!CHANNELS.includes(query.mechanism)) {
    throw new InvalidQuery("the channel must be a randomized_response or staircase query");
  }
  if (query.transform !== "identity") {
    throw new InvalidQuery('the transform of the channel must be "identity"');
  }
  return query;
}
