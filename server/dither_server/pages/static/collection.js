// Updates a collection's sentences and charts as posteriors come in over the stream.

/** @import { Kind } from "./plots.js" */
/** @import { Distribution, Known, Level } from "./population.js" */

import { Asking } from "./asking.js";
import { Following, speak } from "./following.js";
import { control, part } from "./page.js";
import { ENORMOUS, TINY, draw, fit, isWide, picture, settled, short } from "./plots.js";
import { LEVELS, written } from "./population.js";
import { answersText, count, moment } from "./words.js";

/**
 * @typedef {{ x: number[] } & Record<Level, number[]>} Population
 * @typedef {{ answers: number[], mean: (number | null)[] } & Record<Level, number[]>} Trajectory
 *
 * @typedef {object} Charts the data of the charts, from `charts.json`
 * @property {number} answers
 * @property {string} updated_at
 * @property {Record<string, Trajectory>} parameters
 * @property {{ answers: number[], edges: (number | null)[][] }} questions
 * @property {{ time: number[], per_minute: number[], said: string[], unit: string, minutes: number }} pace
 * @property {Record<string, { x: number[], density: number[] }>} densities
 * @property {Distribution | null} distribution the share of the people at or below each value
 * @property {Known["quantiles"]} quantiles
 * @property {Known["above"]} above
 * @property {Population | null} population
 * @property {boolean} logarithmic whether the population is on a logarithmic axis
 * @property {{ x: number, share: number }[]} atoms the values that many people have exactly
 * @property {boolean} discrete
 * @property {Periods | null} periods
 * @property {number | null} minutes_left until the period ends that the precision is about, where there is drift
 * @property {Record<string, Regression> | null} regressions one of several numbers by another, by their names
 *
 * @typedef {Record<Level, (number | null)[]>} OverTime
 * @typedef {{ labels: string[], starts: string[], answers: number[], middle: OverTime, people: OverTime | null }} Periods
 * @typedef {{ x: number[], low: number[], high: number[], said: string } & Record<Level, number[]>} Regression
 * @typedef {Record<string, { sd: number[], more: number[] }>} Plan how many more answers each precision takes
 */
const LONGEST_REPLY = 120000; // milliseconds after which a reply is not waited for any longer
const NORMAL_90 = 1.645;
const MOST_TOLD = 3; // of so many values that many people have exactly a chart says how many have them
/** @type {Record<string, string>} the places of the findings whose names are those of something inside */
const PLACES = { citation: "cited" };

const { collection: id = "", name: title = "" } = part("live").dataset;
const base = `/collections/${id}`;
const parametric = document.getElementById("parameters-more") !== null;
const asking = document.getElementById("ask") && new Asking();
const several = document.getElementById("number") && control("number", HTMLSelectElement);
/** @type {() => DOMStringMap} how values of the number are written whose distribution is shown: the only one, or the chosen one */
const shown = () => (several?.selectedOptions[0] ?? part("live")).dataset;
/** @param {number} x */
const percent = (x) => `${Math.round(100 * x)}%`;

/** @type {Charts | null} */
let charts = null;
/** @type {Plan | null} */
let plan = null;
let planned = 0;

/** @param {string} path */
async function get(path) {
  const reply = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(LONGEST_REPLY) });
  if (!reply.ok) throw new Error(`${reply.status}`);
  return reply;
}

/** @typedef {{ q05: number, q95: number }} Band the central 90% of a number */
/** @typedef {(x?: number | null, unit?: string, band?: Band) => string} Write writes a number, or what is not known of it */
/** @type {(x: number, band?: Band, decimals?: number) => string} a number to the digits that its band leaves sure, or to four */
function sure(x, band, decimals) {
  const known = decimals === undefined ? x : Number(x.toFixed(decimals));
  if (!band) return short(Number(known.toPrecision(4)));
  const { q05, q95 } = band;
  if (!(q95 > q05 && Math.max(-q05, q95) < TINY)) return written(known, band, decimals);
  const digits = 2 + Math.floor(Math.log10(Math.abs(x))) - Math.floor(Math.log10(q95 - q05));
  return short(Number(known.toPrecision(Math.min(Math.max(digits, 1), 4))));
}
/** @type {Write} `x` is null where floating point cannot hold it */
const told = (x, _, band) => (typeof x === "number" ? sure(x, band) : "unknown");
/** @type {(unit?: string, decimals?: string) => Write} writes values in their unit, unless another is asked for */
const values =
  (of = "", decimals) =>
  (x, unit = of, band = undefined) =>
    typeof x === "number"
      ? `${sure(x, band, decimals === undefined ? undefined : Number(decimals))}${unit && ` ${unit}`}`
      : told(x);
/** @type {() => Write} writes values of the number that is shown */
const value = () => values(shown()["unit"], shown()["decimals"]);
/** @type {(low?: number | null, high?: number | null) => Band | undefined} */
const bandOf = (low, high) =>
  typeof low === "number" && typeof high === "number" ? { q05: low, q95: high } : undefined;
/** @typedef {Record<Level, (number | null)[]>} Lines */
/** @type {(levels: Lines, i: number, write?: Write) => Write} writes numbers to the digits that the band at a point leaves sure */
const within = (levels, i, write = told) => {
  const band = bandOf(levels.q05[i], levels.q95[i]);
  const whole = LEVELS.every((level) => Number.isInteger(levels[level][i]));
  return (x, unit) => write(x, unit, whole && Number.isInteger(x) ? undefined : band);
};
/** @type {(levels: Lines, i: number, write?: Write) => string} */
const bands = (levels, i, write = told) => {
  const known = within(levels, i, write);
  const { q05, q25, q75, q95 } = levels;
  return `(50% sure: ${known(q25[i], "")} to ${known(q75[i])}; 90% sure: ${known(q05[i], "")} to ${known(q95[i])})`;
};

/** @type {(name: string, answers: number, line: Trajectory) => void} */
function drawTrajectory(name, newest, line) {
  const begun = line.answers.findIndex((n) => n > 0);
  if (begun < 0) return;
  /** @type {(each: number[]) => number[]} */
  const since = (each) => each.slice(begun);
  const from = begun + settled([since(line.answers), ...LEVELS.map((level) => since(line[level]))]);
  const ofPeople = name.startsWith("quantile_");
  const write = ofPeople ? value() : told;
  const last = within(line, line.answers.length - 1, write);
  const [low, middle, high] = [last(line.q05.at(-1), ""), last(line.q50.at(-1)), last(line.q95.at(-1))];
  const what = part(`trajectory-${name}-title`).textContent.replace(" as answers come", "");
  if (ofPeople) part(`trajectory-${name}`).dataset["y"] = shown()["value"];
  draw(`trajectory-${name}`, {
    kind: "trajectory",
    lines: [line.answers.slice(from), ...LEVELS.map((level) => line[level].slice(from))],
    label: `${what} after ${answersText(newest)}: median ${middle}, 90% band from ${low} to ${high}`,
    words: (point) => {
      const i = from + point;
      const known = within(line, i, write);
      return (
        `After ${answersText(line.answers[i] ?? NaN)}: ` +
        (typeof line.mean[i] === "number" ? `mean ${known(line.mean[i])}, ` : "") +
        `median ${known(line.q50[i])} ${bands(line, i, write)}.`
      );
    },
  });
}

/** @param {Charts["questions"]} questions */
function drawQuestions(questions) {
  part("questions").closest("figure")?.toggleAttribute("hidden", !questions.answers.length);
  if (!questions.answers.length) return;
  const from = settled([questions.answers]); // the first questions look for the place, at all orders of magnitude
  const answers = questions.answers.slice(from);
  const edges = questions.edges.map((line) => line.slice(from));
  /** @param {number} i */
  const asked = (i) => {
    const cuts = edges
      .flatMap((line) => line.at(i) ?? [])
      .map((x) => (Math.abs(x) < ENORMOUS ? told(x) : `an enormous${x < 0 ? " negative" : ""} number`));
    return [cuts.join(", "), shown()["unit"]].filter(Boolean).join(" ");
  };
  draw("questions", {
    kind: "questions",
    lines: [answers, ...edges],
    label: `Thresholds of the questions, the newest at ${asked(-1)}`,
    words: (i) => `After ${answersText(answers[i] ?? NaN)}: a question about ${asked(i)}.`,
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
    label: `Density of ${name}, highest at ${told(x[top])}`,
    words: (i) => `${name} = ${told(x[i])}: ${percent(share(i))} of the highest density.`,
    begin: top,
  });
}

/** @type {Write} */
const percents = (share, _, band) =>
  typeof share === "number"
    ? `${sure(100 * share, band && { q05: 100 * band.q05, q95: 100 * band.q95 })}%`
    : told(share);

/** @type {() => string} which of several numbers is shown */
const ofNumber = () => (several ? `, “${several.value}”,` : "");
/** @type {(x: number[]) => string} */
const fromTo = (x) => `from ${value()(x[0], "")} to ${value()(x.at(-1))}`;

/** @type {(distribution: Distribution, ends: [number, number], kind: Kind) => void} */
function drawDistribution(distribution, [low, high], kind) {
  const inside = distribution.x.flatMap((x, i) => (x >= low && x <= high ? [i] : []));
  /** @type {(line: number[]) => number[]} */
  const seen = (line) => inside.map((i) => line[i] ?? NaN);
  const [x, ...lines] = [seen(distribution.x), ...LEVELS.map((level) => seen(distribution[level]))];
  const [q05 = [], q25 = [], q50 = [], q75 = [], q95 = []] = lines;
  const shares = { q05, q25, q50, q75, q95 };
  const write = value();
  part("distribution").dataset["x"] = shown()["value"];
  draw("distribution", {
    kind,
    lines: [x, ...lines],
    label: `The share of the people at or below each value${ofNumber()}, with its 50% and 90% bands, ${fromTo(x)}`,
    words: (i) => `${within(shares, i, percents)(q50[i])} have ${write(x[i])} or less ${bands(shares, i, percents)}.`,
    begin: Math.max(
      0,
      q50.findIndex((share) => share >= 0.5),
    ),
  });
}

/** @type {(charts: Charts & { population: Population }) => void} */
function drawPopulation({ population, discrete, logarithmic, atoms }) {
  const { x, q50 } = population;
  const what = logarithmic ? "share per doubling" : "density";
  const [write, { value: across, density, note }] = [value(), shown()];
  Object.assign(part("population").dataset, { x: across, y: logarithmic ? "share per doubling" : density });
  part("population-note").textContent = note ?? "";
  const told = atoms.toSorted((one, other) => other.share - one.share).slice(0, MOST_TOLD);
  const marks = atoms
    .filter(({ x }) => !logarithmic || x > 0)
    .map((atom) => ({
      x: atom.x,
      text: told.includes(atom) ? `${percent(atom.share)} have exactly ${short(atom.x)}` : "",
    }));
  const beside = atoms.map(({ x, share }) => `${percent(share)} have exactly ${short(x)}`);
  draw("population", {
    kind: discrete ? "whole" : logarithmic ? "orders" : "population",
    lines: [x, ...LEVELS.map((level) => population[level])],
    label: [`The population${ofNumber()} with its 50% and 90% bands, ${fromTo(x)}`, ...beside].join("; "),
    marks,
    words: (i) =>
      discrete
        ? `${within(population, i, percents)(q50[i])} have ${write(x[i])} ${bands(population, i, percents)}.`
        : `At ${write(x[i])}: ${what} ${within(population, i)(q50[i])} ${bands(population, i)}.`,
    begin: highest(q50),
  });
}

/** @param {Charts} charts */
function showPopulation(charts) {
  const { population, distribution, quantiles, above, discrete, logarithmic, atoms } = charts;
  for (const [name, found] of Object.entries({ population, distribution: population && distribution })) {
    document.getElementById(name)?.closest("figure")?.toggleAttribute("hidden", !found);
  }
  if (population) drawPopulation({ ...charts, population });
  if (!asking) return;
  part("ask").hidden = !distribution;
  if (!distribution) return;
  /** @type {(x: number[]) => [number, number]} */
  const whole = (x) => [x[0] ?? NaN, x.at(-1) ?? NaN];
  const ends = whole(population?.x ?? distribution.x);
  if (population) drawDistribution(distribution, ends, discrete ? "shareWhole" : logarithmic ? "shareOrders" : "share");
  const { unit = "", decimals } = shown();
  part("above-unit").textContent = unit;
  asking.show({
    name: several?.value ?? "",
    unit,
    decimals: decimals === undefined ? undefined : Number(decimals),
    distribution,
    atoms: atoms.map(({ x }) => x),
    quantiles,
    above,
    discrete,
    logarithmic,
    shown: ends,
  });
}

/** @param {Periods} periods */
function drawPeriods({ labels, starts, answers, middle, people }) {
  const time = starts.map((start) => Date.parse(start) / 1000);
  /** @type {(i: number) => string} */
  const period = (i) =>
    `${labels[i]}${labels[i] === starts[i] ? "" : `, from ${starts[i]}`}, ` + answersText(answers[i] ?? NaN);
  const span = labels.length === 1 ? labels[0] : `${labels[0]} to ${labels.at(-1)}`;
  /** @type {(line: (number | null)[]) => (number | null)[]} */
  const dots = (line) => line.map((y, i) => (answers[i] ? y : null));
  const write = value();
  if (people) {
    draw("fan", {
      kind: "periods",
      lines: [time, ...LEVELS.map((level) => people[level]), dots(people.q50)],
      label: `${part("fan-title").textContent}, ${span}`,
      words: (i) => {
        const known = within(middle, i, write); // of the people's quantiles the median is known best
        return (
          `${period(i)}: median ${known(people.q50[i])}, half of the people from ${known(people.q25[i], "")} to ` +
          `${known(people.q75[i])}, nine in ten from ${known(people.q05[i], "")} to ${known(people.q95[i])}.`
        );
      },
    });
  }
  draw("fan-middle", {
    kind: people ? "periods" : "periodShares",
    lines: [time, ...LEVELS.map((level) => middle[level]), dots(middle.q50)],
    label: `${part("fan-middle-title").textContent}, ${span}`,
    words: (i) =>
      people
        ? `${period(i)}: ${within(middle, i, write)(middle.q50[i])} ${bands(middle, i, write)}.`
        : `${period(i)}: ${within(middle, i, percents)(middle.q50[i])} ${bands(middle, i, percents)}.`,
  });
}

/** @param {Record<string, Regression>} regressions */
function drawRegression(regressions) {
  const pair = control("pair", HTMLSelectElement);
  const [option] = pair.selectedOptions;
  const found = regressions[pair.value];
  part("regression").closest("figure")?.toggleAttribute("hidden", !found?.x.length);
  part("together").textContent = found?.said ?? "Nothing is known yet of these two numbers together.";
  if (!found?.x.length || !option) return;
  const { x, low, high } = found;
  part("regression-title").textContent = option.text;
  Object.assign(part("regression").dataset, { x: option.dataset["x"], y: option.dataset["y"] });
  const [target, given] = pair.value.split(",");
  const { unit, decimals, given: unitOfGiven, givenDecimals } = option.dataset;
  const [of, at] = [values(unit, decimals), values(unitOfGiven, givenDecimals)];
  draw("regression", {
    kind: isWide(x) ? "regressionOrders" : "regression",
    lines: [x, ...LEVELS.map((level) => found[level]), low, high],
    label: `${option.text}: the median and the 50% and 90% bands of the people, for “${given}” from ${at(x[0], "")} to ${at(x.at(-1))}`,
    words: (i) => {
      const band = bandOf(low[i], high[i]);
      /** @type {Write} */
      const known = (y, unit) => of(y, unit, band);
      return (
        `Where “${given}” is ${at(x[i])}, “${target}” is ${known(found.q50[i])} or less for half of the people ` +
        `(90% sure: ${known(low[i], "")} to ${known(high[i])}), ` +
        `and from ${known(found.q05[i], "")} to ${known(found.q95[i])} for nine in ten.`
      );
    },
    begin: x.length >> 1,
  });
}

/** @param {Charts["pace"]} pace */
function drawPace({ time, per_minute: perMinute, said, unit, minutes }) {
  part("pace").closest("figure")?.toggleAttribute("hidden", !time.length);
  if (!time.length) return;
  /** @param {number} i */
  const until = (i) => moment(new Date((time[i] ?? NaN) * 1000), true);
  part("pace-title").textContent = `Answers per ${unit}`;
  part("pace").dataset["y"] = `answers per ${unit}`;
  draw("pace", {
    kind: "pace",
    lines: [time, perMinute.map((pace) => pace * minutes)],
    label: `Pace of answers: ${said.at(-1)} at the end`,
    words: (i) => `Until ${until(i)}: ${said[i]}.`,
  });
}

/** @param {Charts} charts */
function drawAll(charts) {
  const { answers, parameters, questions, densities, pace } = charts;
  for (const place of document.querySelectorAll(".results, .charts")) place.toggleAttribute("hidden", answers === 0);
  for (const name of ["png", "copy"]) part(name).hidden = answers === 0;
  if (answers === 0) return;
  for (const name of ["share", "closed"]) part(name).hidden = true;
  const link = document.querySelector("#share .share-link");
  if (link) part("respond").append(link);
  part("respond").hidden = part("state").textContent !== "open";
  for (const place of document.querySelectorAll('[id^="trajectory-quantile_"].plot')) {
    place.closest("figure")?.toggleAttribute("hidden", !(place.id.replace("trajectory-", "") in parameters));
  }
  for (const [name, line] of Object.entries(parameters)) drawTrajectory(name, answers, line);
  if (document.getElementById("questions")) drawQuestions(questions);
  for (const [name, density] of Object.entries(densities)) drawDensity(name, density);
  showPopulation(charts);
  if (charts.periods) drawPeriods(charts.periods);
  if (charts.regressions) drawRegression(charts.regressions);
  drawPace(pace);
}

/** @param {number} minutes */
function duration(minutes) {
  if (minutes < 90) return `${Math.max(1, Math.round(minutes))} minutes`;
  if (minutes < 2880) return `${Math.round(minutes / 60)} hours`;
  return `${count(Math.round(minutes / 1440))} days`;
}

function sayNeeded() {
  const target = control("target", HTMLInputElement);
  const name = control("target-parameter", HTMLSelectElement).value;
  const step = Number(target.value);
  const [sd, more] = [plan?.[name]?.sd[step], plan?.[name]?.more[step]];
  if (sd === undefined || more === undefined) return;
  const width = `± ${short(Number((NORMAL_90 * sd).toPrecision(3)))}`;
  const needed = Number(more.toPrecision(2));
  const pace = charts?.pace.per_minute.at(-1) ?? 0;
  const lasts = pace > 0 && needed / pace <= (charts?.minutes_left ?? Infinity);
  const time = needed && lasts ? `, ${duration(needed / pace)} at the present pace` : "";
  const few = step ? "takes few more answers" : "is already known";
  const answers = needed ? `takes about ${count(needed)} more answers${time}` : few;
  part("needed").textContent = `${name} to within ${width} (90% sure) ${answers}.`;
  target.setAttribute("aria-valuetext", width);
}

/** @param {number} answers */
async function planMore(answers) {
  if (control("target-parameter", HTMLSelectElement).length === 0) return;
  if (answers >= 1 && answers > 1.1 * planned) {
    planned = answers;
    try {
      plan = await (await get(`${base}/precision.json`)).json();
      part("precision").hidden = false;
    } catch {
      part("precision").hidden = true;
    }
  }
  sayNeeded();
}

/** @returns {Promise<Charts>} */
async function look() {
  const chosen = several?.value;
  const query = chosen === undefined ? "" : `?${new URLSearchParams({ number: chosen })}`;
  const [words, numbers] = await Promise.all([get(`${base}/findings.json`), get(`${base}/charts.json${query}`)]);
  /** @type {Record<string, string>} */
  const findings = await words.json();
  /** @type {Charts} */
  const newest = await numbers.json();
  if (several?.value !== chosen) return look(); // another number was chosen meanwhile
  charts = newest;
  // Rendered by this server, which escapes user input.
  for (const [name, html] of Object.entries(findings)) {
    const place = document.getElementById(PLACES[name] ?? name);
    if (place) place.innerHTML = html;
  }
  drawAll(newest);
  if (parametric) await planMore(newest.answers);
  return newest;
}

const following = new Following(`/v1/collections/${id}/posterior/stream`, look);

if (parametric) {
  for (const name of ["target", "target-parameter"]) part(name).addEventListener("input", sayNeeded);
  part("parameters-more").addEventListener("toggle", fit);
}

several?.addEventListener("input", () => following.lookSoon());

document.getElementById("pair")?.addEventListener("input", () => {
  if (charts?.regressions) drawRegression(charts.regressions);
});

part("copy-link").hidden = false;
part("copy-link").addEventListener("click", () => {
  const link = control("link", HTMLInputElement);
  copy(link.value, "address", () => link.select());
});

/** @type {(text: string, what: string, select: () => void) => Promise<void>} */
async function copy(text, what, select) {
  try {
    await navigator.clipboard.writeText(text);
    speak(`The ${what} is copied.`);
  } catch {
    // The clipboard is unavailable over plain http, or the person has refused.
    select();
    speak(`The ${what} is selected: copy it.`);
  }
}

part("copy").addEventListener("click", () => {
  const cited = part("citation");
  copy(cited.textContent ?? "", "citation", () => getSelection()?.selectAllChildren(cited));
});

part("png").addEventListener("click", () => {
  if (!charts) return;
  const heading = `${title}, ${answersText(charts.answers)}, ${charts.updated_at.slice(0, 10)}`;
  picture(heading).toBlob((content) => {
    if (!content) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(content);
    link.download = `${id}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
});
