// The picture of how-it-works.md: how likely each answer of `laplace` is, for a value and an ε that the reader moves.

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, BASE] = [480, 200, 160];

/** Chances of the answers 0..levels of the cell `k`: the clipped two-sided geometric law of `laplace`. */
export function chances(k, levels, epsilon) {
  const alpha = Math.exp(-epsilon / levels);
  const inner = (s) => ((1 - alpha) / (1 + alpha)) * alpha ** Math.abs(k - s);
  return Array.from({ length: levels + 1 }, (_, s) =>
    s === 0 ? alpha ** k / (1 + alpha) : s === levels ? alpha ** (levels - k) / (1 + alpha) : inner(s),
  );
}

function slider(place, words, settings) {
  const label = document.createElement("label");
  const input = Object.assign(document.createElement("input"), { type: "range", ...settings });
  const shown = document.createElement("output");
  label.append(`${words} `, input, " ", shown);
  label.style.display = "block";
  place.append(label);
  return { input, shown };
}

function shape(name, attributes, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

function draw(svg, found, own) {
  const step = WIDTH / found.length;
  const parts = found.flatMap((chance, s) => [
    shape("rect", {
      x: s * step + 4,
      width: step - 8,
      y: BASE - 140 * chance,
      height: 140 * chance,
      fill: "currentColor",
      "fill-opacity": s === own ? 0.9 : 0.4,
    }),
    shape(
      "text",
      {
        x: (s + 0.5) * step,
        y: BASE - 140 * chance - 4,
        "text-anchor": "middle",
        "font-size": 12,
        fill: "currentColor",
      },
      `${(100 * chance).toFixed(1)}%`,
    ),
    shape(
      "text",
      { x: (s + 0.5) * step, y: BASE + 18, "text-anchor": "middle", "font-size": 13, fill: "currentColor" },
      String(s),
    ),
  ]);
  svg.replaceChildren(...parts);
}

function show(place) {
  place.replaceChildren();
  const value = slider(place, "value", { min: 0, max: 100, value: 70 });
  const epsilon = slider(place, "ε", { min: 0.1, max: 8, step: 0.1, value: 1 });
  const levels = slider(place, "levels", { min: 1, max: 6, value: 1 });
  const svg = shape("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    role: "img",
    "aria-label": "how likely each answer is",
  });
  const words = document.createElement("p");
  words.setAttribute("aria-live", "polite");
  place.append(svg, words);
  const update = () => {
    const [x, e, most] = [value, epsilon, levels].map(({ input }) => Number(input.value));
    const own = Math.ceil((x / 100) * most - 0.5); // ties go down
    const found = chances(own, most, e);
    value.shown.value = x;
    epsilon.shown.value = e;
    levels.shown.value = most;
    draw(svg, found, own);
    words.textContent =
      `The nearest point is ${own}, and another one is answered with probability ${(100 * (1 - found[own])).toFixed(1)}%. ` +
      `No answer is more than ${Math.exp(e).toPrecision(3)} times as likely for this value as for any other.`;
  };
  for (const { input } of [value, epsilon, levels]) input.addEventListener("input", update);
  update();
}

const place = document.getElementById("answers-picture");
if (place) show(place);
