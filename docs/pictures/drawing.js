// What the pictures share: shapes, sliders, and words that a screen reader hears when they change.

/**
 * @typedef {Record<string, string | number>} Attributes
 * @typedef {{ words: string, unit?: string, min: number, max: number, step?: number, value: number }} Slider
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An SVG element in the colour of the text around it.
 *
 * @param {string} name
 * @param {Attributes} attributes
 */
export function shape(name, attributes, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.textContent = text;
  return element;
}

/**
 * A word in a picture, in the middle of `x` unless `more` says otherwise.
 *
 * @type {(x: number, y: number, text: string, more?: Attributes) => SVGElement}
 */
export function word(x, y, text, more = {}) {
  return shape("text", { x, y, "text-anchor": "middle", "font-size": 13, fill: "currentColor", ...more }, text);
}

/**
 * A line through `points`, pairs of x and y.
 *
 * @type {(points: [number, number][], more?: Attributes) => SVGElement}
 */
export function line(points, more = {}) {
  const places = points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
  return shape("polyline", { points: places, fill: "none", stroke: "currentColor", ...more });
}

/**
 * Puts a picture in the place of the words that the page has for readers without scripts.
 *
 * `sliders`: of each its words, the unit that follows its number, and the attributes of its input. `draw(svg, ...numbers)`
 * draws, and returns the sentence below the picture. The picture's `set(...numbers)` moves the sliders.
 *
 * @param {HTMLElement} place
 * @param {object} content
 * @param {string} content.title
 * @param {number} content.height
 * @param {Slider[]} content.sliders
 * @param {(svg: SVGElement, ...numbers: number[]) => string} content.draw
 */
export function picture(place, { title, height, sliders, draw }) {
  place.replaceChildren();
  place.setAttribute("role", "group");
  place.setAttribute("aria-label", title);
  const moved = sliders.map((settings) => slider(place, settings));
  const svg = shape("svg", { viewBox: `0 0 480 ${height}`, role: "img", "aria-label": title });
  const words = document.createElement("p");
  words.setAttribute("aria-live", "polite");
  place.append(svg, words);
  const update = () => {
    for (const { show } of moved) show();
    svg.replaceChildren();
    words.textContent = draw(svg, ...moved.map(({ input }) => Number(input.value)));
  };
  /** @param {number[]} numbers */
  const set = (...numbers) => {
    for (const [i, { input }] of moved.entries()) input.value = String(numbers[i] ?? input.value);
    update();
  };
  for (const { input } of moved) input.addEventListener("input", update);
  update();
  return { set, numbers: () => moved.map(({ input }) => Number(input.value)) };
}

/**
 * @param {HTMLElement} place
 * @param {Slider} slider
 */
function slider(place, { words, unit = "", ...settings }) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  Object.assign(input, { type: "range", ...settings });
  const shown = document.createElement("span");
  shown.setAttribute("aria-hidden", "true"); // the input says it
  label.append(`${words} `, input, " ", shown);
  label.style.display = "block";
  place.append(label);
  const show = () => {
    shown.textContent = `${input.value}${unit}`;
    input.setAttribute("aria-valuetext", shown.textContent);
  };
  return { input, show };
}
