// How much an answer of `laplace` tells of N(0, 1), for an interval and an ε that the reader moves.

import { chances } from "./channel.js";
import { line, picture, shape, word } from "./drawing.js";

const LEVELS = 16;
const FARTHEST = 3;
const [NARROWEST, WIDEST] = [0.05, 8];
/** @type {{ name: string, about: 0 | 1, dashes: string }[]} */
const PARAMETERS = [
  { name: "mean", about: 0, dashes: "none" },
  { name: "spread", about: 1, dashes: "5 4" },
];
const [FULL_MEAN, FULL_SPREAD] = [1, 2]; // the information of the value itself

/** @param {number} x */
const density = (x) => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);

/**
 * Φ by Marsaglia's series, good to the last digits of a double within ±8.
 *
 * @param {number} x
 */
function below(x) {
  if (Math.abs(x) > 8) return x < 0 ? 0 : 1;
  let [sum, term] = [x, x];
  for (let k = 3; Math.abs(term) > 1e-17; k += 2) sum += term *= (x * x) / k;
  return 0.5 + sum * density(x);
}

/** @type {Map<number, number[][]>} */
const channels = new Map();

/** @param {number} epsilon */
function channel(epsilon) {
  const known = channels.get(epsilon);
  if (known) return known;
  const found = Array.from({ length: LEVELS + 1 }, (_, k) => chances(k, LEVELS, epsilon));
  channels.set(epsilon, found);
  return found;
}

/**
 * The shares of a told value's Fisher information that an answer has: about the mean, and about the spread.
 *
 * @type {(place: number, width: number, epsilon: number) => [number, number]}
 */
function shares(place, width, epsilon) {
  const edges = Array.from({ length: LEVELS }, (_, k) => place + width * ((2 * k + 1) / (2 * LEVELS) - 0.5));
  /** @type {(f: (x: number) => number, last: number) => number[]} */
  const cells = (f, last) => {
    const at = [0, ...edges.map(f), last];
    return at.slice(1).map((value, k) => value - (at[k] ?? NaN));
  };
  const rows = channel(epsilon);
  /** @type {(mass: number[], s: number) => number} */
  const answered = (mass, s) => mass.reduce((sum, m, k) => sum + m * (rows[k]?.[s] ?? NaN), 0);
  const chance = cells(below, 1);
  /** @param {number[]} slope */
  const told = (slope) => rows.reduce((sum, _, s) => sum + answered(slope, s) ** 2 / answered(chance, s), 0);
  const [mean, spread] = [cells((x) => -density(x), 0), cells((x) => -x * density(x), 0)];
  return [told(mean) / FULL_MEAN, told(spread) / FULL_SPREAD];
}

/** @type {(from: number, to: number, n: number) => number[]} */
const steps = (from, to, n) => Array.from({ length: n + 1 }, (_, i) => from + ((to - from) * i) / n);

/**
 * The place and width of the most informative interval; of two places alike on either side, the upper.
 *
 * @type {(about: 0 | 1, epsilon: number) => [number, number]}
 */
function best(about, epsilon) {
  let found = { share: -1, place: 0, width: 0 };
  for (const width of steps(NARROWEST, WIDEST, 159)) {
    for (const place of steps(0, FARTHEST, 30)) {
      const share = shares(place, width, epsilon)[about];
      if (share > found.share) found = { share, place, width };
    }
  }
  return [Number(found.place.toFixed(2)), Number(found.width.toFixed(2))];
}

/** @param {number} share */
const percent = (share) => `${Number((100 * share).toPrecision(3))}%`;

/**
 * Both shares for every `xs`, drawn over `base` between the places `from` and `to`, and where it is now.
 *
 * @param {SVGElement} svg
 * @param {object} content
 * @param {number} content.base
 * @param {string} content.title
 * @param {number[]} content.xs
 * @param {number} content.from
 * @param {number} content.to
 * @param {number} content.now
 * @param {(x: number) => [number, number]} content.of
 */
function curves(svg, { base, title, xs, from, to, now, of }) {
  const found = xs.map((value) => ({ value, pair: of(value) }));
  const top = Math.max(...found.flatMap(({ pair }) => pair));
  const [first, last] = [Math.min(...xs), Math.max(...xs)];
  /** @param {number} value */
  const x = (value) => from + ((to - from) * (value - first)) / (last - first);
  /** @param {number} share */
  const y = (share) => base - (80 * share) / top;
  svg.append(thin(from, base, to, base), thin(x(now), base, x(now), y(top)));
  for (const { about, dashes } of PARAMETERS) {
    svg.append(
      line(
        found.map(({ value, pair }) => [x(value), y(pair[about])]),
        { "stroke-width": 2, "stroke-dasharray": dashes },
      ),
      shape("circle", { cx: x(now), cy: y(of(now)[about]), r: 4, fill: "currentColor" }),
    );
  }
  for (let value = Math.ceil(first); value <= last + 1e-9; value += 1)
    svg.append(word(x(value), base + 16, `${value}`));
  svg.append(word(0, base - 92, `${title}, up to ${percent(top)}`, { "text-anchor": "start" }));
}

/** @type {(x1: number, y1: number, x2: number, y2: number) => SVGElement} */
const thin = (x1, y1, x2, y2) => shape("line", { x1, y1, x2, y2, stroke: "currentColor", "stroke-opacity": 0.4 });

/** @type {(svg: SVGElement, place: number, width: number, epsilon: number) => string} */
function draw(svg, place, width, epsilon) {
  /** @param {number} value */
  const x = (value) => 240 + 60 * value;
  const [low, high] = [Math.max(place - width / 2, -4), Math.min(place + width / 2, 4)];
  svg.append(
    shape("rect", { x: x(low), width: x(high) - x(low), y: 8, height: 92, fill: "currentColor", "fill-opacity": 0.2 }),
    line(steps(-4, 4, 120).map((value) => [x(value), 100 - 200 * density(value)])),
    thin(0, 100, 480, 100),
    word(0, 16, "the people, and the interval", { "text-anchor": "start" }),
  );
  curves(svg, {
    base: 222,
    title: "what is told if the interval moves",
    xs: steps(-FARTHEST, FARTHEST, 120),
    from: x(-FARTHEST),
    to: x(FARTHEST),
    now: place,
    of: (value) => shares(value, width, epsilon),
  });
  curves(svg, {
    base: 352,
    title: "what is told if it is wider",
    xs: steps(NARROWEST, WIDEST, 159),
    from: 20,
    to: 460,
    now: width,
    of: (value) => shares(place, value, epsilon),
  });
  const [mean, spread] = shares(place, width, epsilon);
  return (
    `An answer tells ${percent(mean)} of what the value itself would tell about the mean (the solid line), ` +
    `and ${percent(spread)} of what it would tell about the spread (dashed). ` +
    `The noise has the scale ${Number((width / epsilon).toPrecision(2))} σ: the interval's width divided by ε.`
  );
}

/** @param {HTMLElement} container */
function show(container) {
  const shown = picture(container, {
    title: "How much an answer tells, by the interval that is asked about",
    height: 376,
    controls: [
      {
        words: "middle of the interval",
        unit: " σ from the mean",
        min: -FARTHEST,
        max: FARTHEST,
        step: 0.05,
        value: 0,
      },
      { words: "width", unit: " σ", min: NARROWEST, max: WIDEST, step: 0.05, value: 4 },
      { words: "ε", min: 0.1, max: 10, step: 0.1, value: 1 },
    ],
    draw,
  });
  for (const { about, name } of PARAMETERS) {
    const button = Object.assign(document.createElement("button"), {
      type: "button",
      className: "md-button md-button--primary",
    });
    button.textContent = `Best for the ${name}`;
    button.addEventListener("click", () => shown.set(...best(about, shown.numbers().at(-1) ?? NaN)));
    container.append(button, " ");
  }
}

const container = document.getElementById("information-picture");
if (container) show(container);
