// Charts in the page's own colours. One function makes each kind; `draw` shows it or gives it new numbers.
"use strict";

// oxlint-disable-next-line no-unused-vars -- collection.js draws with it
const Plots = (() => {
  const HEIGHT = 240;
  const shown = new Map();

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  const short = (x) => {
    if (x === null || x === undefined) return "";
    const size = Math.abs(x);
    if (size >= 1e4) return Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 }).format(x);
    return String(Number(x.toPrecision(6)));
  };

  const axis = (more) => ({
    stroke: colour("faint"),
    font: "12px system-ui, sans-serif",
    grid: { stroke: colour("line"), width: 1 },
    ticks: { stroke: colour("line"), width: 1 },
    values: (_, ticks) => ticks.map(short),
    ...more,
  });

  const frame = (more) => ({
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    axes: [axis(), axis({ size: 58 })],
    padding: [10, 14, 0, 0],
    ...more,
  });

  const hidden = { stroke: null, width: 0, points: { show: false } };

  const bands = (alone) => ({
    series: [
      {},
      { ...hidden },
      { ...hidden },
      { stroke: colour("accent"), width: 2, points: { show: alone ?? false, size: 8 } },
      { ...hidden },
      { ...hidden },
    ],
    bands: [
      { series: [5, 1], fill: colour("most") },
      { series: [4, 2], fill: colour("half") },
    ],
  });

  const between = (low, high) => {
    const room = 0.06 * (high - low) || Math.abs(low) || 1;
    return [low - room, high + room];
  };

  // Ticks are multiples of where the axis begins, so that is one digit.
  const floor = (x) => {
    const unit = 10 ** Math.floor(Math.log10(x) + 1e-9);
    return Math.floor(x / unit) * unit;
  };

  // Whether a number of answers is worth a label: 1, 2 and 5 of a decade, of many decades 1 alone.
  const round = (x, all) => {
    const digit = Math.round(x / 10 ** Math.floor(Math.log10(x) + 1e-9));
    return all.at(-1) / all[0] > 200 ? digit === 1 : [1, 2, 5].includes(digit);
  };

  // By answers, on a logarithmic scale. What the first few answers left open would flatten all that follows.
  const growing = (from, data, range) =>
    frame({
      scales: {
        x: { time: false, distr: 3, range: () => [floor(data()[0][0]), Math.max(data()[0].at(-1), data()[0][0] + 1)] },
        y: { range },
      },
      axes: [
        axis({
          filter: (_, ticks) => ticks,
          values: (_, ticks) => ticks.map((x) => (round(x, data()[0]) ? short(x) : "")),
        }),
        axis({ size: 58 }),
      ],
      ...from,
    });

  // Whole numbers: of each a dash for the median, on bands as the others have.
  function whiskers(plot) {
    const pen = plot.ctx;
    const unit = uPlot.pxRatio;
    const place = (value) => plot.valToPos(value, "y", true);
    const [x, ...levels] = plot.data;
    x.forEach((value, i) => {
      const left = plot.valToPos(value, "x", true);
      for (const [low, high, width, name] of [
        [0, 4, 8, "most"],
        [1, 3, 8, "half"],
      ]) {
        pen.fillStyle = colour(name);
        const top = place(levels[high][i]);
        pen.fillRect(left - (width * unit) / 2, top, width * unit, Math.max(unit, place(levels[low][i]) - top));
      }
      pen.fillStyle = colour("accent");
      pen.fillRect(left - 6 * unit, place(levels[2][i]) - unit, 12 * unit, 2 * unit);
    });
  }

  const kinds = {
    trajectory: (data) =>
      growing(bands(data()[0].length === 1), data, () => {
        const last = data()[0].at(-1);
        const late = data()[0].map((n) => n >= last / 50);
        return between(
          Math.min(...data()[1].filter((_, i) => late[i])),
          Math.max(...data()[5].filter((_, i) => late[i])),
        );
      }),
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
        () => {
          const first = Math.min(10, data()[0].at(-1) / 10);
          const edges = data()
            .slice(1)
            .flatMap((line) => line.filter((x, i) => x !== null && data()[0][i] >= first));
          return between(Math.min(...edges), Math.max(...edges));
        },
      ),
    population: () => frame({ scales: { x: { time: false } }, ...bands() }),
    whole: () =>
      frame({
        scales: {
          x: { time: false, range: (_, low, high) => [low - 0.5, high + 0.5] },
          y: { range: (plot) => [0, 1.05 * Math.max(...plot.data[5])] },
        },
        axes: [axis({ incrs: [1, 2, 5, 10, 20, 50, 100] }), axis({ size: 58 })],
        series: [{}, ...Array(5).fill(hidden)],
        hooks: { draw: [whiskers] },
      }),
    density: () =>
      frame({
        scales: { x: { time: false } },
        series: [{}, { stroke: colour("accent"), width: 2, fill: colour("most"), points: { show: false } }],
      }),
    pace: () =>
      frame({
        scales: { y: { range: (_, __, high) => [0, 1.1 * high || 1] } },
        axes: [axis({ values: undefined }), axis({ size: 58 })],
        series: [
          {},
          {
            stroke: colour("accent"),
            width: 2,
            fill: colour("most"),
            points: { show: false },
            paths: uPlot.paths.stepped({ align: -1 }),
          },
        ],
      }),
  };

  // A chart of this kind in the element `id`, labelled, with the words that `Reading` tells.
  function draw(id, { kind, numbers, label, words, begin }) {
    const place = document.getElementById(id);
    place.setAttribute("aria-label", label);
    const known = shown.get(id);
    const reading = known?.reading ?? new Reading(place);
    reading.tell(words, begin);
    const same = known && known.numbers.length === numbers.length && known.numbers[0].length > 1;
    if (same) {
      known.numbers = numbers;
      known.plot.setData(numbers);
      return;
    }
    if (known) known.plot.destroy();
    const entry = { kind, numbers, reading };
    shown.set(id, entry);
    make(id, entry);
  }

  function make(id, entry) {
    const place = document.getElementById(id);
    const options = kinds[entry.kind](() => entry.numbers);
    const hooks = { draw: [...(options.hooks?.draw ?? []), () => entry.reading.show()] };
    entry.plot = new uPlot({ ...options, hooks, width: place.clientWidth }, entry.numbers, place);
    entry.reading.follow(entry.plot);
  }

  function redraw() {
    for (const [id, entry] of shown) {
      entry.plot.destroy();
      make(id, entry);
    }
  }

  function fit() {
    for (const [id, { plot }] of shown) {
      const width = document.getElementById(id).clientWidth;
      if (width && width !== plot.width) plot.setSize({ width, height: HEIGHT });
    }
  }

  // All charts in one picture, two in a row, each under its title.
  function picture(heading) {
    const scale = devicePixelRatio || 1;
    const cell = { width: 560, height: HEIGHT + 40 };
    const rows = Math.ceil(shown.size / 2);
    const canvas = document.createElement("canvas");
    canvas.width = 2 * cell.width * scale;
    canvas.height = (rows * cell.height + 50) * scale;
    const pen = canvas.getContext("2d");
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
      pen.fillText(document.getElementById(`${id}-title`).textContent, left + 8, top + 18);
      const from = plot.ctx.canvas;
      const shrink = Math.min(1, (cell.width - 16) / (from.width / scale));
      pen.drawImage(from, left, top + 26, (from.width / scale) * shrink, (from.height / scale) * shrink);
    });
    return canvas;
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("resize", fit);
  return { draw, picture, short };
})();
