// Updates a collection's sentences and charts as posteriors come in over the stream.

import { control, part } from "./page.js";
import { ENORMOUS, draw, picture, short } from "./plots.js";

/**
 * @typedef {"q05" | "q25" | "q50" | "q75" | "q95"} Level
 * @typedef {{ x: number[] } & Record<Level, number[]>} Population
 * @typedef {{ answers: number[], mean: number[] } & Record<Level, number[]>} Trajectory
 *
 * @typedef {object} Charts the data of the charts, from `charts.json`
 * @property {number} answers
 * @property {string} updated_at
 * @property {Record<string, Trajectory>} parameters
 * @property {{ answers: number[], edges: (number | null)[][] }} questions
 * @property {{ time: number[], per_minute: number[] }} pace
 * @property {Record<string, { x: number[], density: number[] }>} densities
 * @property {Population | null} population
 * @property {{ x: number, share: number }[]} atoms the values that many people have exactly
 * @property {boolean} discrete
 *
 * @typedef {Record<string, { sd: number[], more: number[] }>} Plan how many more answers each precision takes
 */
const UPDATE_INTERVAL = 1000; // the least number of milliseconds between two updates
const SPEECH_INTERVAL = 20000; // the least number of milliseconds between two announcements to a screen reader
/** @type {Level[]} */
const LEVELS = ["q05", "q25", "q50", "q75", "q95"];
const NORMAL_90 = 1.645;

const { collection: id = "", name: title = "" } = part("live").dataset;
const base = `/collections/${id}`;
const target = control("target", HTMLInputElement);
const parameter = control("target-parameter", HTMLSelectElement);
/** @param {number} x */
const count = (x) => Intl.NumberFormat("en").format(x);
/** @param {number} x */
const percent = (x) => `${Math.round(100 * x)}%`;

/** @type {Charts | null} */
let charts = null;
/** @type {Plan | null} */
let plan = null;
let planned = 0;

/** @param {string} path */
async function get(path) {
  const reply = await fetch(path, { cache: "no-store" });
  if (!reply.ok) throw new Error(`${reply.status}`);
  return reply;
}

/** @param {number | null} [x] null where floating point cannot hold it */
const told = (x) => (typeof x === "number" ? short(Number(x.toPrecision(4))) : "unknown");
/** @type {(levels: Record<Level, number[]>, i: number) => string} */
const bands = ({ q05, q25, q75, q95 }, i) =>
  `50% ${told(q25[i])} to ${told(q75[i])}, 90% ${told(q05[i])} to ${told(q95[i])}`;

/** @type {(name: string, answers: number, line: Trajectory) => void} */
function drawTrajectory(name, newest, line) {
  const from = line.answers.findIndex((n) => n > 0);
  if (from < 0) return;
  const [low, middle, high] = [line.q05, line.q50, line.q95].map((level) => short(level.at(-1)));
  draw(`trajectory-${name}`, {
    kind: "trajectory",
    lines: [line.answers.slice(from), ...LEVELS.map((level) => line[level].slice(from))],
    label: `${name.replace("_", " ")} after ${count(newest)} answers: median ${middle}, 90% band from ${low} to ${high}`,
    words: (point) => {
      const i = from + point;
      return (
        `After ${count(line.answers[i] ?? NaN)} answers: mean ${told(line.mean[i])}, median ${told(line.q50[i])}, ` +
        `${bands(line, i)}.`
      );
    },
  });
}

/** @param {Charts["questions"]} questions */
function drawQuestions({ answers, edges }) {
  if (!answers.length) return;
  /** @param {number} i */
  const asked = (i) =>
    edges
      .flatMap((line) => line.at(i) ?? [])
      .map((x) => (Math.abs(x) < ENORMOUS ? short(x) : `an enormous${x < 0 ? " negative" : ""} number`))
      .join(", ");
  draw("questions", {
    kind: "questions",
    lines: [answers, ...edges],
    label: `Thresholds of the questions, the newest at ${asked(-1)}`,
    words: (i) => `After ${count(answers[i] ?? NaN)} answers: a question with thresholds at ${asked(i)}.`,
  });
}

/** @param {number[]} line */
const highest = (line) => line.indexOf(Math.max(...line));

/** @type {(name: string, density: Charts["densities"][string]) => void} */
function drawDensity(name, { x, density }) {
  const top = highest(density);
  /** @param {number} i */
  const share = (i) => (density[i] ?? NaN) / (density[top] ?? NaN);
  draw(`density-${name}`, {
    kind: "density",
    lines: [x, density],
    label: `Density of ${name}, highest at ${short(x[top])}`,
    words: (i) => `${name} = ${told(x[i])}: ${percent(share(i))} of the highest density.`,
    begin: top,
  });
}

/** @type {(population: Population, discrete: boolean, atoms: Charts["atoms"]) => void} */
function drawPopulation(population, discrete, atoms) {
  const { x, q50 } = population;
  const what = discrete ? "share of the people" : "density";
  const marks = atoms.map(({ x, share }) => ({ x, text: `${percent(share)} have exactly ${short(x)}` }));
  draw("population", {
    kind: discrete ? "whole" : "population",
    lines: [x, ...LEVELS.map((level) => population[level])],
    label: [
      `The population with its 50% and 90% bands, from ${short(x[0])} to ${short(x.at(-1))}`,
      ...marks.map(({ text }) => text),
    ].join("; "),
    marks,
    words: (i) => `At ${told(x[i])}: ${what} ${told(q50[i])}, ${bands(population, i)}.`,
    begin: highest(q50),
  });
}

/** @param {Charts["pace"]} pace */
function drawPace({ time, per_minute: perMinute }) {
  if (!time.length) return;
  /** @param {number} i */
  const until = (i) => new Date((time[i] ?? NaN) * 1000).toLocaleTimeString();
  draw("pace", {
    kind: "pace",
    lines: [time, perMinute],
    label: `Answers per minute, ${short(perMinute.at(-1))} at the end`,
    words: (i) => `Until ${until(i)}: ${told(perMinute[i])} answers per minute.`,
  });
}

/** @param {Charts} charts */
function drawAll({ answers, parameters, questions, densities, population, atoms, discrete, pace }) {
  for (const name of ["charts", "png", "copy"]) part(name).hidden = answers === 0;
  if (answers === 0) return;
  for (const [name, line] of Object.entries(parameters)) drawTrajectory(name, answers, line);
  drawQuestions(questions);
  for (const [name, density] of Object.entries(densities)) drawDensity(name, density);
  part("population").closest("figure")?.toggleAttribute("hidden", !population);
  if (population) drawPopulation(population, discrete, atoms);
  drawPace(pace);
}

/** @param {number} minutes */
function duration(minutes) {
  if (minutes < 90) return `${Math.max(1, Math.round(minutes))} minutes`;
  if (minutes < 2880) return `${Math.round(minutes / 60)} hours`;
  return `${count(Math.round(minutes / 1440))} days`;
}

function sayNeeded() {
  const name = parameter.value;
  const step = Number(target.value);
  const [sd, more] = [plan?.[name]?.sd[step], plan?.[name]?.more[step]];
  if (sd === undefined || more === undefined) return;
  const width = `± ${short(Number((NORMAL_90 * sd).toPrecision(3)))}`;
  const needed = Number(more.toPrecision(2));
  const pace = charts?.pace.per_minute.at(-1) ?? 0;
  const time = needed && pace > 0 ? `, ${duration(needed / pace)} at the present pace` : "";
  const few = step ? "takes few more answers" : "is already known";
  const answers = needed ? `takes about ${count(needed)} more answers${time}` : few;
  part("needed").textContent = `${name} to within ${width} (90% sure) ${answers}.`;
  target.setAttribute("aria-valuetext", width);
}

async function look() {
  const [words, numbers] = await Promise.all([get(`${base}/findings.json`), get(`${base}/charts.json`)]);
  /** @type {Record<string, string>} */
  const findings = await words.json();
  /** @type {Charts} */
  const newest = await numbers.json();
  charts = newest;
  // Rendered by this server, which escapes user input.
  for (const name of ["summary", "details"]) part(name).innerHTML = findings[name] ?? "";
  drawAll(newest);
  if (parameter.length > 0 && newest.answers >= 1 && newest.answers > 1.1 * planned) {
    planned = newest.answers;
    try {
      plan = await (await get(`${base}/precision.json`)).json();
      part("precision").hidden = false;
    } catch {
      part("precision").hidden = true;
    }
  }
  sayNeeded();
  return newest.answers;
}

let spoken = 0;
/** @type {(text: string, atOnce?: boolean) => void} */
function say(text, atOnce = false) {
  part("shown").textContent = text;
  if (!atOnce && Date.now() - spoken < SPEECH_INTERVAL) return;
  spoken = Date.now();
  part("spoken").textContent = text;
}

let over = false;
let looking = false;
let again = false;
async function lookSoon() {
  again = true;
  if (looking) return;
  looking = true;
  while (again) {
    again = false;
    try {
      const answers = count(await look());
      if (over) say(`The collection is closed: these are its final results, from ${answers} answers.`, true);
      else say(`Live: ${answers} answers at ${new Date().toLocaleTimeString()}.`);
    } catch {
      say("The server did not respond: this page shows earlier results.", true);
    }
    await new Promise((done) => setTimeout(done, UPDATE_INTERVAL));
    if (document.hidden) await new Promise((done) => addEventListener("visibilitychange", done, { once: true }));
  }
  looking = false;
}

const stream = new EventSource(`/v1/collections/${id}/posterior/stream`);
stream.addEventListener("posterior", lookSoon);
stream.addEventListener("state", (event) => {
  /** @type {{ state: string }} */
  const { state } = JSON.parse(event.data);
  over = state === "closed"; // the last event, sent once every answer is learnt
  if (over) stream.close();
  const changed = part("state").textContent !== state;
  part("state").textContent = state;
  document.getElementById("respond")?.toggleAttribute("hidden", state !== "open");
  if (over || changed) lookSoon();
});
stream.addEventListener("error", () => {
  const ended = stream.readyState === EventSource.CLOSED;
  say(ended ? "Live updates have ended: reload the page." : "The connection is lost; reconnecting.", true);
});

for (const input of [target, parameter]) input.addEventListener("input", sayNeeded);

part("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(part("citation").textContent ?? "");
    say("The citation is copied.", true);
  } catch {
    // The clipboard is unavailable over plain http, or the person has refused.
    getSelection()?.selectAllChildren(part("citation"));
    say("The citation is selected: copy it.", true);
  }
});

part("png").addEventListener("click", () => {
  if (!charts) return;
  const heading = `${title}, ${count(charts.answers)} answers, ${charts.updated_at.slice(0, 10)}`;
  picture(heading).toBlob((content) => {
    if (!content) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(content);
    link.download = `${id}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
});
