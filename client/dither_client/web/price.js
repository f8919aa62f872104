/**
 * A collection's price: the most that an answer may cost, and which questions may be asked, according to its terms. Terms
 * never change, so the first ones that a device sees are its price for good.
 */

/** @import { Groups, Numbers, Price, Query, Terms, Value } from "./dither.d.ts" */

import { ComponentQuery, JointQuery } from "./components.js";
import { epsilonText } from "./epsilon.js";
import { BadResponse, InvalidEpsilon, InvalidGroup, InvalidQuery, InvalidValue, OverCap } from "./errors.js";
import { checkValue } from "./query.js";
import { written } from "./typed.js";

/** The other mechanisms that a collection may ask with: to find its range, compare families or check its family. */
/** @type {Record<string, string[]>} */
const BESIDE = { randomized_response: ["laplace"], staircase: ["randomized_response", "laplace"] };
const SHOWN_LABELS = 20; // the most labels that a message lists
const SHOWN_NAME = /^[A-Za-z][\w-]{0,63}$/; // of what is no component: a number is never repeated
const AT_ONE_CUT = "laplace"; // as another mechanism, only with one level

/**
 * The price in the terms: a plain object, which can be stored.
 *
 * @param {Price} terms
 * @returns {Price}
 */
export function priceOf(terms) {
  const { mechanism, transform, microEpsilon, microEpsilonChoices, microRho, levels, categories, groups } = terms;
  const asked = { mechanism, transform, microEpsilon, microEpsilonChoices, microRho, levels };
  const components = componentsOf(terms).map(({ name, transform: scale, ...its }) => {
    return { name, transform: scale, ...boundsOf(its) };
  });
  return { ...asked, categories, ...boundsOf(terms), groups, components, panel: panelOf(terms) };
}

/**
 * The value as what questions are about: a number, that of its category where there are some, or the list of all numbers
 * where there are several of a person. Throws `InvalidValue`, whose message never repeats it.
 *
 * @param {Price} price
 * @param {number | string | Numbers} value
 * @returns {Value}
 */
export function held(price, value) {
  const [categories, components] = [categoriesOf(price), componentsOf(price)];
  if (components.length > 0) {
    return numbersOf(components, value);
  }
  if (categories.length === 0) {
    return checkBounds(price, checkValue(value));
  }
  const number = typeof value === "string" ? categories.indexOf(value) : -1;
  if (number < 0) {
    throw new InvalidValue(`the value must be one of the collection's categories: ${categories.join(", ")}`);
  }
  return number;
}

/** @type {(components: Price["components"], values: unknown) => number[]} */
function numbersOf(components, values) {
  const listed = components.map(({ name }) => name).join(", ");
  if (typeof values !== "object" || values === null || Array.isArray(values)) {
    throw new InvalidValue(`the value must have a number for each of ${listed}`);
  }
  const given = new Map(Object.entries(values));
  for (const name of given.keys()) {
    if (!components.some((component) => component.name === name)) {
      const shown = SHOWN_NAME.test(name) ? `: ${name}` : "";
      throw new InvalidValue(`the value has a name that is no component${shown}; components are ${listed}`);
    }
  }
  return components.map(({ name, ...bounds }) => {
    if (!given.has(name)) {
      throw new InvalidValue(`the value lacks the component ${name}`);
    }
    return checkBounds(bounds, checkValue(given.get(name), name), name);
  });
}

/**
 * Returns a value within the bounds. Throws `InvalidValue`, whose message says what it is and never repeats it.
 *
 * @param {Pick<Price, "minimum" | "maximum">} bounds
 * @param {number} value
 * @param {string} what
 */
export function checkBounds(bounds, value, what = "the value") {
  const { minimum, maximum } = boundsOf(bounds);
  if ((minimum !== null && value < minimum) || (maximum !== null && value > maximum)) {
    throw new InvalidValue(`${what} must be ${boundsText(minimum, maximum)} here: please check it`);
  }
  return value;
}

/** @type {(minimum: number | null, maximum: number | null) => string} */
function boundsText(minimum, maximum) {
  if (minimum === null) {
    return maximum === null ? "" : `at most ${written(maximum)}`;
  }
  return maximum === null ? `at least ${written(minimum)}` : `from ${written(minimum)} to ${written(maximum)}`;
}

/**
 * The bounds of a price; none in one that was stored by an earlier version.
 *
 * @param {Pick<Price, "minimum" | "maximum">} price
 */
export function boundsOf({ minimum, maximum }) {
  return { minimum: minimum ?? null, maximum: maximum ?? null };
}

/**
 * The categories of a price; none in one that was stored by an earlier version.
 *
 * @param {Price} price
 */
function categoriesOf({ categories }) {
  return categories ?? [];
}

/**
 * The components of a price; none in one that was stored by an earlier version.
 *
 * @template {Pick<Price, "components">} T
 * @param {T} price
 * @returns {T["components"]}
 */
function componentsOf({ components }) {
  return components ?? [];
}

/**
 * Throws `InvalidGroup` unless `given` is one of the labels, or null where a collection has no groups. Nothing but a label
 * of the terms is ever sent, and the message never repeats what was given.
 *
 * @param {Groups | null} groups
 * @param {string | null} given
 */
export function checkGroup(groups, given) {
  if (groups === null) {
    if (given !== null) {
      throw new InvalidGroup("the collection has no groups: leave the group out");
    }
  } else if (given === null || !groups.labels.includes(given)) {
    const more = groups.labels.length - SHOWN_LABELS;
    const listed = groups.labels.slice(0, SHOWN_LABELS).join(", ");
    throw new InvalidGroup(
      `the group (${groups.name}), which is sent as it is, must be one of the collection's: ${listed}` +
        (more > 0 ? ` and ${more} more, which the terms list` : ""),
    );
  }
}

/**
 * The most that an answer costs at the micro-ε `chosen`; null means no choice. Throws `InvalidEpsilon` for a micro-ε that
 * the terms do not offer.
 *
 * @param {Price} price
 * @param {number | null} chosen
 */
export function priceAt({ microEpsilon, microEpsilonChoices }, chosen) {
  const offered = microEpsilonChoices.length > 0 ? microEpsilonChoices : [microEpsilon];
  if (chosen !== null && !offered.includes(chosen)) {
    throw new InvalidEpsilon(`epsilon must be one of ${offered.map(epsilonText).join(", ")} here`);
  }
  return chosen ?? microEpsilon;
}

/**
 * The most that all answers of one respondent cost at the micro-ε `chosen`. Throws `InvalidEpsilon`.
 *
 * @type {(price: Price, chosen: number | null) => number}
 */
export function priceInAll(price, chosen) {
  return priceAt(price, chosen) * (panelOf(price)?.answers ?? 1);
}

/**
 * The panel of a price, or null; none in one that was stored by an earlier version.
 *
 * @param {Pick<Price, "panel">} price
 */
export function panelOf({ panel }) {
  return panel ?? null;
}

/**
 * Throws `BadResponse` if the terms now have a higher ε than `price`, other categories, bounds, groups or components, or
 * another panel. A price without bounds may come from a version that kept none, and stays without, and so does one without
 * a panel: such a respondent answers once. One without groups may, too; a respondent who names a group is then held to
 * those of the terms.
 *
 * @param {Price} price
 * @param {Terms} terms
 */
export function checkKept(price, terms) {
  const now = priceOf(terms);
  for (const amount of [ownEpsilon, largestEpsilon]) {
    const [said, says] = [amount(price), amount(terms)];
    if (says > said) {
      throw new BadResponse(
        "the server has raised the price of this collection, which never changes: its terms said " +
          `ε = ${epsilonText(said)} and now say ε = ${epsilonText(says)}`,
      );
    }
  }
  if (JSON.stringify(categoriesOf(terms)) !== JSON.stringify(categoriesOf(price))) {
    throw new BadResponse("the server has changed the categories of this collection, which never change");
  }
  const kept = boundsOf(price);
  const unbounded = kept.minimum === null && kept.maximum === null;
  if (!unbounded && (kept.minimum !== now.minimum || kept.maximum !== now.maximum)) {
    throw new BadResponse("the server has changed the bounds of this collection, which never change");
  }
  const known = price.groups ?? null;
  if (known !== null && JSON.stringify(known) !== JSON.stringify(terms.groups)) {
    throw new BadResponse("the server has changed the groups of this collection, which never change");
  }
  const panel = panelOf(price);
  if (panel !== null && JSON.stringify(panel) !== JSON.stringify(now.panel)) {
    throw new BadResponse("the server has changed the panel of this collection, which never changes");
  }
  if (JSON.stringify(componentsOf(price)) !== JSON.stringify(now.components)) {
    throw new BadResponse("the server has changed the components of this collection, which never change");
  }
}

/** @param {Price} price */
function ownEpsilon({ microEpsilon }) {
  return microEpsilon;
}

/** @param {Price} price */
function largestEpsilon({ microEpsilon, microEpsilonChoices }) {
  return Math.max(microEpsilon, ...microEpsilonChoices);
}

/**
 * Throws `OverCap` for a question that costs more than the price, and `InvalidQuery` for one that the terms rule out.
 *
 * @param {Price} price
 * @param {Query} query
 * @param {number | null} chosen
 */
export function checkQuestion(price, query, chosen) {
  const [asked, most] = [query.microEpsilon, priceAt(price, chosen)];
  const whose = chosen === null ? "the collection's terms say" : "you chose";
  if (asked > most) {
    throw new OverCap(
      `this question costs ε = ${epsilonText(asked)}, more than the ε = ${epsilonText(most)} that ${whose}`,
    );
  }
  if (chosen !== null && price.microEpsilonChoices.length > 0 && asked !== chosen) {
    const costs = `it is asked at ε = ${epsilonText(asked)}`;
    throw refused(`${costs}, not at the ε = ${epsilonText(chosen)} that ${whose}`);
  }
  const components = componentsOf(price);
  if (query instanceof ComponentQuery || query instanceof JointQuery) {
    checkAbout(price, components, query);
  } else if (components.length > 0) {
    throw refused("it is about no component, and the terms list several");
  } else {
    checkKind(price, query, price.transform);
  }
}

/** @type {(price: Price, components: Price["components"], query: ComponentQuery | JointQuery) => void} */
function checkAbout(price, components, query) {
  if (components.length === 0) {
    throw refused("it is about one of several numbers, and the terms ask for one value");
  }
  const last = query.about.at(-1) ?? 0;
  if (last >= components.length) {
    throw refused(`it is about component ${last}, and the terms list ${components.length}`);
  }
  const transforms = query.about.map((number) => components[number]?.transform ?? "").join(", ");
  if (query instanceof ComponentQuery) {
    checkKind(price, query.query, transforms);
  } else if (query.transforms.join(", ") !== transforms) {
    throw refused(`its transforms are ${query.transforms.join(", ")}, and the terms say ${transforms}`);
  }
}

/** @type {(price: Price, query: Query, transform: string) => void} */
function checkKind(price, query, transform) {
  const { mechanism, microRho, levels } = price;
  const { length } = categoriesOf(price);
  if (query.transform !== transform) {
    throw refused(`its transform is ${query.transform}, and the terms say ${transform}`);
  }
  const edges = query.edges.length;
  const beside = Object.hasOwn(BESIDE, mechanism) && BESIDE[mechanism]?.includes(query.mechanism);
  if (query.mechanism !== mechanism && !(beside && (query.mechanism !== AT_ONE_CUT || edges === 1))) {
    throw refused("its mechanism is not the one that the terms say");
  }
  if (query.microRho !== null && (microRho === null || query.microRho > microRho)) {
    const said = microRho === null ? "none" : `ρ = ${epsilonText(microRho)}`;
    throw refused(`it states ρ = ${epsilonText(query.microRho)}, and the terms say ${said}`);
  }
  if (length > 0 && query.nCells !== length) {
    throw refused(`it has ${query.nCells} categories, and the terms list ${length}`);
  }
  if (levels !== null && edges > levels) {
    throw refused(`it has ${edges} edges between its cells, and the terms say ${levels} at most`);
  }
}

/** @param {string} reason */
function refused(reason) {
  return new InvalidQuery(`the server's question is refused: ${reason}`);
}
