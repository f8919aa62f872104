// What the answers leave possible of a distribution without a family, for a population and a number of answers that the
// reader chooses. The curves are the estimator's: `python -m docs_build.bands` computes them.

import { line, picture, shape, word } from "./drawing.js";

/**
 * @typedef {[number, number][]} Points
 * @typedef {{ mean: number[], low: number[], high: number[], draws: number[][] }} Stage thousandths of the people, by x
 * @typedef {{ name: string, truth: number[], stages: Stage[] }} Population
 * @typedef {{ epsilon: number, answers: number[], x: number[], populations: Population[] }} Curves
 */

const HEIGHT = 368;
const [LEFT, TOP, BASE] = [46, 30, 270];
const [NARROWEST, WIDEST] = [270, 640];
const WHOLE = 1000;
const SHADE = 0.2;
const ATOM = "zeros"; // of this population nobody is below 0, and many are at 0

/** @param {Points} points */
const band = (points) => line(points, { fill: "currentColor", "fill-opacity": SHADE, stroke: "none" });
/** @param {Points} points */
const middle = (points) => line(points, { "stroke-width": 2 });
/** @param {Points} points */
const possible = (points) => line(points, { "stroke-width": 1, "stroke-opacity": 0.55 });
/** @param {Points} points */
const truth = (points) => line(points, { "stroke-width": 2, "stroke-dasharray": "2 4" });
/** @type {(x1: number, y1: number, x2: number, y2: number, opacity?: number) => SVGElement} */
const thin = (x1, y1, x2, y2, opacity = 0.2) =>
  shape("line", { x1, y1, x2, y2, stroke: "currentColor", "stroke-opacity": opacity });

/** @type {{ name: string, key: (points: Points) => SVGElement }[]} */
const LEGEND = [
  { name: "90% band", key: (points) => line(points, { "stroke-width": 14, "stroke-opacity": SHADE }) },
  { name: "mean", key: middle },
  { name: "some draws", key: possible },
  { name: "the truth", key: truth },
];

/** @param {number} thousandths */
const percent = (thousandths) => `${(thousandths / 10).toFixed(1)}%`;
/** @param {number} n */
const told = (n) => (n ? n.toLocaleString("en") : "none");
/** @type {(line: number[], i: number) => number} */
const at = (line, i) => line[i] ?? NaN;

/**
 * Axes with their titles, and the legend.
 *
 * @type {(svg: SVGElement, width: number, x: (value: number) => number, y: (share: number) => number) => void}
 */
function surround(svg, width, x, y) {
  const [from, to] = [x(0), x(100)];
  for (const share of [0, 250, 500, 750, WHOLE]) {
    svg.append(thin(from, y(share), to, y(share)));
    svg.append(word(from - 6, y(share) + 4, `${share / 10}%`, { "text-anchor": "end" }));
  }
  for (const value of [0, 20, 40, 60, 80, 100]) svg.append(word(x(value), BASE + 18, String(value)));
  svg.append(
    word(0, 14, "share of the people at or below a value", { "text-anchor": "start" }),
    word((from + to) / 2, BASE + 38, "value"),
  );
  for (const [i, { name, key }] of LEGEND.entries()) {
    const [left, top] = [from + (i % 2) * 0.5 * (width - LEFT), BASE + 62 + 24 * Math.floor(i / 2)];
    svg.append(
      key([
        [left, top],
        [left + 28, top],
      ]),
      word(left + 36, top + 4, name, { "text-anchor": "start" }),
    );
  }
}

/** @type {(curves: Curves, svg: SVGElement, width: number, which: number, stage: number, value: number) => string} */
function draw({ epsilon, answers, x: values, populations }, svg, width, which, stage, value) {
  const population = populations[which];
  const known = population?.stages[stage];
  if (!population || !known) throw new Error("there is no such curve");
  /** @param {number} v */
  const x = (v) => LEFT + ((width - LEFT - 16) * v) / 100;
  /** @param {number} share */
  const y = (share) => BASE - ((BASE - TOP) * share) / WHOLE;
  /** @type {Points} */
  const before = population.name === ATOM ? [[x(0), y(0)]] : [];
  /** @type {(shares: number[]) => Points} */
  const curve = (shares) => [
    ...before,
    ...shares.map((share, k) => /** @type {[number, number]} */ ([x(at(values, k)), y(share)])),
  ];
  svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  surround(svg, width, x, y);
  svg.append(
    band([...curve(known.low), ...curve(known.high).reverse()]),
    ...known.draws.map((each) => possible(curve(each))),
    middle(curve(known.mean)),
    truth(curve(population.truth)),
    thin(x(value), y(0), x(value), y(WHOLE), 0.7),
  );
  const i = values.indexOf(value);
  const [mean, low, high] = [at(known.mean, i), at(known.low, i), at(known.high, i)];
  svg.append(shape("circle", { cx: x(value), cy: y(mean), r: 4, fill: "currentColor" }));
  const height = known.high.reduce((sum, share, k) => sum + share - at(known.low, k), 0) / values.length;
  return (
    `${stage ? `After ${told(at(answers, stage))} answers at ε = ${epsilon}` : "Before any answer"}, ` +
    `${percent(low)} to ${percent(high)} of the people have ${value} or less, with probability 90%; ` +
    `the mean is ${percent(mean)}, the truth ${percent(at(population.truth, i))}. ` +
    `The band is ${(height / 10).toFixed(1)} percentage points high on average.`
  );
}

/** @type {(container: HTMLElement, curves: Curves) => void} */
function show(container, curves) {
  const { answers, x, populations } = curves;
  const { set } = picture(container, {
    title: "What is known of a distribution",
    height: HEIGHT,
    controls: [
      { words: "population:", options: populations.map(({ name }) => name) },
      { words: "answers", min: 0, max: answers.length - 1, value: 4, said: (i) => told(at(answers, i)) },
      { words: "value", min: 0, max: 100, step: at(x, 1) - at(x, 0), value: 50 },
    ],
    draw: (svg, ...numbers) => {
      const width = Math.min(Math.max(container.clientWidth, NARROWEST), WIDEST);
      const [which = NaN, stage = NaN, value = NaN] = numbers;
      return draw(curves, svg, width, which, stage, value);
    },
  });
  addEventListener("resize", () => set());
}

const container = document.getElementById("bands-picture");
if (container) {
  const reply = await fetch(new URL("bands.json", import.meta.url));
  if (reply.ok) show(container, await reply.json());
}
