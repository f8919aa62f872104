// Charts in the page's own colours. There is one function for each kind; `draw` shows a chart or gives it new data.

// @ts-types="./vendor/uPlot.d.ts"
import uPlot from "./vendor/uPlot.js";
import { part } from "./page.js";
import { Reading } from "./reading.js";

/**
 * @typedef {[number[], ...(number | null)[][]]} Lines the x of the points, and the lines over them
 * @typedef {{ x: number, text: string }[]} Marks places on the axis of x, and what is said of each
 * @typedef {Omit<uPlot.Options, "width">} Frame
 * @typedef {"trajectory" | "questions" | "share" | "shareOrders" | "shareWhole" | "population" | "orders" | "whole" | "density" | "pace" | "periods" | "periodShares" | "regression" | "regressionOrders"} Kind
 */

const HEIGHT = 240;
const FONT = "12px system-ui, sans-serif";
const STEEP = 20; // numbers over the answers that differ by more than this factor are on a logarithmic scale
const MOST_ORDERS = 1e6; // with more than this, a logarithmic scale could not be read either
const WIDE = 10;
const FEWER = 50;
const NEARLY_WITHIN = 0.53; // of the width from the middle: a bound is just outside of the values
export const ENORMOUS = 1e12; // from here on numbers have exponents, and so have those that are
export const TINY = 1e-6; // as near to 0 as this
const WHOLE_STEPS = Array.from({ length: 16 }, (_, k) => [1, 2, 5].map((digit) => digit * 10 ** k)).flat();
/** @type {Map<string, Chart>} */
const shown = new Map();

/** @param {string} name */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** @param {number | null | undefined} x */
export function short(x) {
  if (x === null || x === undefined) return "";
  const size = Math.abs(x);
  if (size >= ENORMOUS || (size < TINY && size > 0)) return String(Number(x.toPrecision(3)).toExponential());
  return x.toLocaleString("en", { maximumSignificantDigits: 6 });
}

/** @type {(more?: uPlot.Axis) => uPlot.Axis} */
const axis = (more) => ({
  stroke: colour("faint"),
  font: FONT,
  labelFont: FONT,
  labelSize: 18,
  grid: { stroke: colour("line"), width: 1 },
  ticks: { stroke: colour("line"), width: 1 },
  values: (_, ticks) => ticks.map(short),
  ...more,
});

// So far apart that the longest number fits between two ticks.
/** @type {uPlot.Axis.Space} */
const room = (_, __, low, high) => 20 + 7 * Math.max(...[low, high].map((end) => short(Math.round(end)).length));

// As wide as the numbers beside it, and mostly the same for all charts.
/** @type {(self: uPlot, numbers: string[]) => number} */
const width = (_, numbers) => Math.max(58, ...(numbers ?? []).map((text) => 22 + 7 * text.length));

// Half of a number that stands below the right end of the axis is beyond it.
/** @type {uPlot.PaddingSide} */
const beyond = ({ scales: { x } }) => Math.max(32, x?.time ? 0 : 4 * short(Math.round(x?.max ?? 0)).length);

/** @type {(more: Partial<Frame> & Pick<Frame, "series">) => Frame} */
const frame = (more) => ({
  height: HEIGHT,
  legend: { show: false },
  cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
  axes: [axis({ size: 32 }), axis({ size: width })],
  padding: [10, beyond, 0, 0],
  ...more,
});

// uPlot puts the points of a line on whole pixels unless told otherwise, and a curve then looks like stairs.
const SMOOTH = 0;
const CRISP = 1;

/** @type {uPlot.Series} */
const hidden = { width: 0, pxAlign: SMOOTH, points: { show: false } };

/** @type {(alone?: boolean) => Pick<Frame, "series" | "bands">} */
const bands = (alone = false) => ({
  series: [
    {},
    { ...hidden },
    { ...hidden },
    { stroke: colour("accent"), width: 2, pxAlign: SMOOTH, points: { show: alone, size: 8 } },
    { ...hidden },
    { ...hidden },
  ],
  bands: [
    { series: [5, 1], fill: colour("most") },
    { series: [4, 2], fill: colour("half") },
  ],
});

/** @type {(line: number[]) => [number, number]} the first and the last of a line that is not empty */
const ends = (line) => [line[0] ?? NaN, line.at(-1) ?? NaN];

// The start of the axis, rounded down to one digit: ticks are multiples of it.
/** @type {(x: number) => number} */
const floor = (x) => {
  const unit = 10 ** Math.floor(Math.log10(x) + 1e-9);
  return Math.floor(x / unit) * unit;
};

/** @type {(lines: Lines, from: number) => [number, number]} the least and the largest y of all points whose x is at least `from` */
const extent = ([x, ...lines], from) => {
  const late = lines.flatMap((line) => line.flatMap((y, i) => (y !== null && (x[i] ?? NaN) >= from ? [y] : [])));
  return [Math.min(...late), Math.max(...late)];
};

/** @type {(extent: [number, number]) => boolean} */
const steep = ([low, high]) => low > 0 && high > STEEP * low && high < MOST_ORDERS * low;

/** @type {(extent: [number, number]) => [number, number]} a range with room around it */
const around = ([low, high]) => {
  if (steep([low, high])) return [floor(low), high * (high / low) ** 0.06];
  const room = 0.06 * (high - low) || Math.abs(low) || 1;
  return [low || high ? low - room : 0, high + room];
};

/** @type {(line: number[]) => boolean} whether a line that increases is shown on a logarithmic scale */
export const isWide = (line) => steep(ends(line));

// Whether a number on a logarithmic scale gets a label: 1, 2 and 5 in every decade, or only 1 if there are many decades.
/** @type {(x: number, range: [number, number]) => boolean} */
const round = (x, [first, last]) => {
  const digit = Math.round(x / 10 ** Math.floor(Math.log10(x) + 1e-9));
  return last / first > 200 ? digit === 1 : [1, 2, 5].includes(digit);
};

// The labels of ticks along the axis of x, without those that would touch the one before.
/** @type {(plot: uPlot, ticks: number[], labels: string[]) => string[]} */
const apart = (plot, ticks, labels) => {
  let end = -Infinity;
  return labels.map((label, i) => {
    const half = 4 * label.length;
    const middle = plot.valToPos(ticks[i] ?? NaN, "x");
    if (!label || middle - half < end) return "";
    end = middle + half;
    return label;
  });
};

/** @type {(range: () => [number, number], more: uPlot.Axis) => uPlot.Axis} */
const logarithmic = (range, more) =>
  axis({
    filter: (_, ticks) => ticks,
    values: (plot, ticks, number) => {
      const labels = ticks.map((x) => (round(x, range()) ? short(x) : ""));
      return number === 0 ? apart(plot, ticks, labels) : labels;
    },
    ...more,
  });

// A chart over the number of answers, on a logarithmic scale. The height fits the points `since` so many answers.
/** @type {(from: Pick<Frame, "series" | "bands">, data: () => Lines, since: () => number) => Frame} */
const growing = (from, data, since) => {
  /** @type {() => [number, number]} */
  const answers = () => {
    const [first, last] = ends(data()[0]);
    return [floor(first), Math.max(last, first + 1)];
  };
  const height = () => extent(data(), since());
  const orders = steep(height());
  return frame({
    scales: {
      x: { time: false, distr: 3, range: answers },
      y: { distr: orders ? 3 : 1, range: () => around(height()) },
    },
    axes: [
      logarithmic(() => ends(data()[0]), { size: 32 }),
      orders ? logarithmic(height, { size: width }) : axis({ size: width }),
    ],
    ...from,
  });
};

// For whole numbers: a dash at the median of each, over its 50% and 90% bands.
/** @param {uPlot} plot */
function whiskers(plot) {
  const pen = plot.ctx;
  const unit = uPlot.pxRatio;
  for (const [i, value] of plot.data[0].entries()) {
    const left = plot.valToPos(value, "x", true);
    /** @param {number} line */
    const place = (line) => plot.valToPos(plot.data[line]?.[i] ?? NaN, "y", true);
    for (const { low, high, name } of [
      { low: 1, high: 5, name: "most" },
      { low: 2, high: 4, name: "half" },
    ]) {
      pen.fillStyle = colour(name);
      const top = place(high);
      pen.fillRect(left - 4 * unit, top, 8 * unit, Math.max(unit, place(low) - top));
    }
    pen.fillStyle = colour("accent");
    pen.fillRect(left - 6 * unit, place(3) - unit, 12 * unit, 2 * unit);
  }
}

// A line at each place, with its text beside it, if it has one.
/** @type {(plot: uPlot, marks: Marks) => void} */
function mark(plot, marks) {
  const pen = plot.ctx;
  const unit = uPlot.pxRatio;
  const { left, top, width, height } = plot.bbox;
  pen.save();
  pen.strokeStyle = pen.fillStyle = colour("text");
  pen.lineWidth = unit;
  pen.setLineDash([4 * unit, 4 * unit]);
  pen.font = `${12 * unit}px system-ui, sans-serif`;
  const seen = marks
    .map(({ x, text }) => ({ place: plot.valToPos(x, "x", true), text }))
    .filter(({ place }) => Math.abs(place - left - width / 2) <= NEARLY_WITHIN * width)
    .map(({ place, text }) => ({ place: Math.min(Math.max(place, left), left + width), text }));
  for (const { place } of seen) {
    pen.beginPath();
    pen.moveTo(place, top);
    pen.lineTo(place, top + height);
    pen.stroke();
  }
  for (const [i, { place, text }] of seen.filter((each) => each.text).entries()) {
    const fits = place + 6 * unit + pen.measureText(text).width <= left + width;
    pen.textAlign = fits ? "left" : "right";
    pen.fillText(text, place + (fits ? 6 : -6) * unit, top + (16 + 16 * (i % 8)) * unit);
  }
  pen.restore();
}

// The number of the first point from which on no 90% band is more than ten times as wide as the newest, and no number of
// answers less than a fiftieth of theirs: before, the place was not found, and wide bands would flatten the rest.
/** @type {(lines: Lines) => number} */
export const settled = ([x, ...lines]) => {
  const [low, high] = [lines[0] ?? [], lines.at(-1) ?? []];
  const widths = x.map((_, i) => (high[i] ?? NaN) - (low[i] ?? NaN));
  const newest = widths.at(-1) ?? NaN;
  const wide = newest > 0 ? widths.findLastIndex((width) => width > WIDE * newest) : -1;
  const late = x.findIndex((answers) => answers >= (x.at(-1) ?? NaN) / FEWER);
  return Math.max(wide + 1, late, 0);
};

// The multiples of powers of ten in a range: the ticks of a logarithmic axis that begins anywhere.
/** @type {(low: number, high: number) => number[]} */
const multiples = (low, high) => {
  const first = Math.floor(Math.log10(low));
  const decades = Array.from({ length: Math.floor(Math.log10(high)) - first + 1 }, (_, i) => first + i);
  return decades
    .flatMap((power) => Array.from({ length: 9 }, (_, i) => Number(`${i + 1}e${power}`)))
    .filter((x) => low <= x && x <= high);
};

// A curve of the population with its bands over the whole width, on a logarithmic axis if it has several orders.
/** @type {(data: () => Lines, orders: boolean, more?: { scale: uPlot.Scale, axis: uPlot.Axis, lines?: Pick<Frame, "series" | "bands"> }) => Frame} */
const curve = (data, orders, more) => {
  /** @type {() => [number, number]} */
  const values = () => {
    const [first, last] = ends(data()[0]);
    return first < last ? [first, last] : around([first, last]); // so narrow that all its numbers are rounded to one
  };
  return frame({
    scales: {
      x: { time: false, distr: orders ? 3 : 1, range: values },
      y: { range: (_, __, high) => [0, 1.05 * high || 1], ...more?.scale },
    },
    axes: [
      orders
        ? logarithmic(values, { size: 32, splits: (_, __, low, high) => multiples(low, high) })
        : axis({ size: 32, space: room }),
      axis({ size: width, ...more?.axis }),
    ],
    ...bands(),
    ...more?.lines,
  });
};

// The lines of shares of the people who have at most so many, which jump at each whole number.
/** @type {() => Pick<Frame, "series" | "bands">} */
const steps = () => {
  const { series, ...areas } = bands();
  const paths = uPlot.paths.stepped?.({ align: 1 });
  return { series: series.map((line) => ({ ...line, paths, pxAlign: CRISP })), ...areas };
};

const SHARES = {
  scale: { range: /** @type {[number, number]} */ ([0, 1]) },
  axis: {
    values: (/** @type {uPlot} */ _, /** @type {number[]} */ ticks) => ticks.map((y) => `${short(100 * y)}%`),
  },
};

// Times of the day in UTC, with seconds where they are close; at midnight, and where they are far apart, the date.
/** @type {uPlot.Axis["values"]} */
const times = ({ scales }, ticks, __, ___, apart) =>
  ticks.map((second) => {
    if (second > (scales["x"]?.max ?? Infinity)) return ""; // uPlot may add a tick beyond the end
    const written = new Date(1000 * second).toISOString();
    const midnight = second % 86400 === 0;
    return midnight ? written.slice(0, 10) : written.slice(11, apart < 60 ? 19 : 16);
  });

// One number by another: the people's bands, and two more lines, between which the median is.
/** @type {(data: () => Lines, wide: boolean) => Frame} */
const regression = (data, wide) => {
  const height = () => extent(data(), -Infinity);
  const orders = steep(height());
  const { series, ...areas } = bands();
  const edge = { stroke: colour("accent"), width: 1, dash: [5, 4], pxAlign: SMOOTH, points: { show: false } };
  return curve(data, wide, {
    scale: { distr: orders ? 3 : 1, range: () => around(height()) },
    axis: orders ? logarithmic(height, {}) : {},
    lines: { series: [...series, edge, edge], ...areas },
  });
};

const DATE_WIDTH = 92; // pixels from one date to the next
const MOST_DOTS = 62; // with more periods, dots would touch

// Periods begin at the times `x` (seconds). Beside the five lines, a sixth has the median where there are dots.
/** @type {(data: () => Lines, more?: uPlot.Axis) => Frame} */
const periods = (data, more) => {
  /** @type {() => [number, number]} */
  const height = () => {
    const lines = data();
    const [low = [], high = []] = [lines[1], lines[5]];
    const widths = lines[0].map((_, i) => Number(high[i]) - Number(low[i]));
    const usual = [...widths].sort((a, b) => a - b).at(widths.length >> 1) ?? NaN;
    const within = lines[0].map((_, i) => !((widths[i] ?? NaN) > WIDE * usual)); // others are cut off at the edge
    /** @type {(line: (number | null)[]) => number[]} */
    const seen = (line) => line.flatMap((y, i) => (y !== null && within[i] ? [y] : []));
    return [Math.min(...seen(low)), Math.max(...seen(high))];
  };
  const many = data()[0].length;
  const orders = steep(height());
  const { series, ...areas } = bands();
  return frame({
    tzDate: (second) => uPlot.tzDate(new Date(1000 * second), "Etc/UTC"),
    scales: {
      x: {
        range: () => {
          const [first, last] = ends(data()[0]);
          const room = 0.03 * (last - first) || 86400;
          return [first - room, last + room];
        },
      },
      y: { distr: orders ? 3 : 1, range: () => around(height()) },
    },
    axes: [
      axis({
        size: 32,
        splits: (plot) => {
          const [x] = data();
          const step = Math.ceil((x.length * DATE_WIDTH) / Math.max(plot.width - 90, DATE_WIDTH));
          return x.filter((_, i) => i % step === 0);
        },
        values: (_, ticks) => ticks.map((second) => new Date(1000 * second).toISOString().slice(0, 10)),
      }),
      orders ? logarithmic(height, { size: width }) : axis({ size: width, ...more }),
    ],
    series: [
      ...series,
      {
        paths: () => null,
        points: { show: many <= MOST_DOTS, size: 7, width: 2, stroke: colour("accent"), fill: colour("page") },
      },
    ],
    ...areas,
    hooks: { draw: many === 1 ? [whiskers] : [] },
  });
};

/** @type {Record<Kind, (data: () => Lines) => Frame>} */
const kinds = {
  regression: (data) => regression(data, false),
  regressionOrders: (data) => regression(data, true),
  periods: (data) => periods(data),
  periodShares: (data) => periods(data, SHARES.axis),
  trajectory: (data) => growing(bands(data()[0].length === 1), data, () => ends(data()[0])[0]),
  questions: (data) =>
    growing(
      {
        series: [
          {},
          ...data()
            .slice(1)
            .map(() => ({
              stroke: colour("dot"),
              paths: () => null,
              points: { show: true, size: 6, width: 0, fill: colour("dot") },
            })),
        ],
      },
      data,
      () => Math.min(10, ends(data()[0])[1] / 10),
    ),
  share: (data) => curve(data, false, SHARES),
  shareOrders: (data) => curve(data, true, SHARES),
  shareWhole: (data) => curve(data, false, { ...SHARES, lines: steps() }),
  population: (data) => curve(data, false),
  orders: (data) => curve(data, true),
  whole: (data) =>
    frame({
      scales: {
        x: { time: false, range: (_, low, high) => [low - 0.5, high + 0.5] },
        y: { range: () => [0, 1.05 * Math.max(...(data()[5] ?? []).map(Number))] },
      },
      axes: [axis({ size: 32, space: room, incrs: WHOLE_STEPS }), axis({ size: width, ...SHARES.axis })],
      series: [{}, hidden, hidden, hidden, hidden, hidden],
      hooks: { draw: [whiskers] },
    }),
  density: () =>
    frame({
      scales: { x: { time: false } },
      series: [
        {},
        { stroke: colour("accent"), width: 2, pxAlign: SMOOTH, fill: colour("most"), points: { show: false } },
      ],
    }),
  pace: () =>
    frame({
      tzDate: (second) => uPlot.tzDate(new Date(1000 * second), "Etc/UTC"),
      scales: { y: { range: (_, __, high) => [0, 1.1 * high || 1] } },
      axes: [axis({ size: 32, space: DATE_WIDTH, values: times }), axis({ size: width })],
      series: [
        {},
        {
          stroke: colour("accent"),
          width: 2,
          fill: colour("most"),
          points: { show: false },
          paths: uPlot.paths.stepped?.({ align: -1 }),
        },
      ],
    }),
};

class Chart {
  #place;
  #kind;
  #lines;
  /** @type {uPlot.Scale.Distr | undefined} */
  #distr;
  #marks;
  /** @type {string[]} */
  #titles = [];

  /**
   * @param {HTMLElement} place
   * @param {Kind} kind
   * @param {Lines} lines
   * @param {Reading} reading
   * @param {Marks} marks
   */
  constructor(place, kind, lines, reading, marks) {
    this.#place = place;
    this.#kind = kind;
    this.#lines = lines;
    this.#marks = marks;
    this.reading = reading;
    this.plot = this.#make();
  }

  // The titles of the axes that the place has now.
  #asked() {
    return [this.#place.dataset["x"] ?? "", this.#place.dataset["y"] ?? ""];
  }

  #make() {
    const options = kinds[this.#kind](() => this.#lines);
    /** @type {(plot: uPlot) => void} */
    const marked = (plot) => mark(plot, this.#marks);
    const hooks = { draw: [...(options.hooks?.draw ?? []), marked, () => this.reading.show()] };
    this.#titles = this.#asked();
    const axes = options.axes?.map((each, i) => ({ ...each, label: this.#titles[i] }));
    const plot = new uPlot({ ...options, axes, hooks, width: this.#place.clientWidth }, this.#lines, this.#place);
    this.#distr = options.scales?.["y"]?.distr;
    this.reading.follow(plot);
    return plot;
  }

  /**
   * Whether the chart can take these lines: a single point, another number of lines, another scale or other titles need
   * a new chart.
   *
   * @param {Kind} kind
   * @param {Lines} lines
   */
  takes(kind, lines) {
    if (kind !== this.#kind || this.#titles.join("\n") !== this.#asked().join("\n")) return false;
    const { scales } = kinds[kind](() => lines);
    return this.#lines.length === lines.length && this.#lines[0].length > 1 && this.#distr === scales?.["y"]?.distr;
  }

  /**
   * @param {Lines} lines
   * @param {Marks} marks
   */
  show(lines, marks) {
    this.#lines = lines;
    this.#marks = marks;
    this.plot.setData(lines);
  }

  redraw() {
    this.plot.destroy();
    this.plot = this.#make();
  }

  fit() {
    const width = this.#place.clientWidth;
    if (width && width !== this.plot.width) this.plot.setSize({ width, height: HEIGHT });
  }
}

/**
 * Draws a chart of this kind in the element `id`, with a label, with `words` for `Reading`, and with places that are
 * marked. The element has the titles of the axes.
 *
 * @param {string} id
 * @param {{ kind: Kind, lines: Lines, label: string, words: (i: number) => string, begin?: number, marks?: Marks }} told
 */
export function draw(id, { kind, lines, label, words, begin, marks = [] }) {
  const place = part(id);
  place.setAttribute("aria-label", label);
  const known = shown.get(id);
  const reading = known?.reading ?? new Reading(place);
  reading.tell(words, begin);
  if (known?.takes(kind, lines)) {
    known.show(lines, marks);
    return;
  }
  known?.plot.destroy();
  shown.set(id, new Chart(place, kind, lines, reading, marks));
}

/**
 * Draws all charts in one picture, two in a row, each under its title.
 *
 * @param {string} heading
 */
export function picture(heading) {
  const scale = devicePixelRatio || 1;
  const cell = { width: 560, height: HEIGHT + 40 };
  const rows = Math.ceil(shown.size / 2);
  const canvas = document.createElement("canvas");
  canvas.width = 2 * cell.width * scale;
  canvas.height = (rows * cell.height + 50) * scale;
  const pen = canvas.getContext("2d");
  if (!pen) throw new Error("the browser has no 2D canvas");
  pen.scale(scale, scale);
  pen.fillStyle = colour("page");
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.fillStyle = colour("text");
  pen.font = "600 18px system-ui, sans-serif";
  pen.fillText(heading, 16, 32, 2 * cell.width - 32);
  pen.font = "600 14px system-ui, sans-serif";
  [...shown].forEach(([id, { plot }], i) => {
    const left = (i % 2) * cell.width + 8;
    const top = Math.floor(i / 2) * cell.height + 50;
    pen.fillText(part(`${id}-title`).textContent, left + 8, top + 18);
    const from = plot.ctx.canvas;
    const shrink = Math.min(1, (cell.width - 16) / (from.width / scale));
    pen.drawImage(from, left, top + 26, (from.width / scale) * shrink, (from.height / scale) * shrink);
  });
  return canvas;
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const chart of shown.values()) chart.redraw();
});
/** Fits all charts to their places, which may just have become visible. */
export function fit() {
  for (const chart of shown.values()) chart.fit();
}
addEventListener("resize", fit);
