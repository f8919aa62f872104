// How likely each answer of `laplace` is, for a value and an ε that the reader moves.

import { chances } from "./channel.js";
import { picture, shape, word } from "./drawing.js";

const BASE = 160;

/** @type {(svg: SVGElement, value: number, epsilon: number, levels: number) => string} */
function draw(svg, value, epsilon, levels) {
  const own = Math.ceil((value / 100) * levels - 0.5); // ties go down
  const found = chances(own, levels, epsilon);
  const step = 480 / found.length;
  for (const [s, chance] of found.entries()) {
    const [top, middle] = [BASE - 140 * chance, (s + 0.5) * step];
    const bar = { x: s * step + 4, width: step - 8, y: top, height: 140 * chance };
    svg.append(
      shape("rect", { ...bar, fill: "currentColor", "fill-opacity": s === own ? 0.9 : 0.4 }),
      word(middle, top - 4, `${(100 * chance).toFixed(1)}%`, { "font-size": 12 }),
      word(middle, BASE + 18, String(s)),
    );
  }
  return (
    `The nearest point is ${own}, and another one is answered with probability ${(100 * (1 - (found[own] ?? NaN))).toFixed(1)}%. ` +
    `No answer is more than ${Math.exp(epsilon).toPrecision(3)} times as likely for this value as for any other.`
  );
}

const place = document.getElementById("answers-picture");
if (place) {
  picture(place, {
    title: "How likely each answer is",
    height: 200,
    controls: [
      { words: "value", min: 0, max: 100, value: 70 },
      { words: "ε", min: 0.1, max: 8, step: 0.1, value: 1 },
      { words: "levels", min: 1, max: 6, value: 1 },
    ],
    draw,
  });
}
