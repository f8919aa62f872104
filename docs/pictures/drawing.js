// What the pictures share: shapes, sliders, and words that a screen reader hears when they change.

/**
 * @typedef {Record<string, string | number>} Attributes
 * @typedef {{ words: string, unit?: string, min: number, max: number, step?: number, value: number }} Range
 * @typedef {Range & { said?: (number: number) => string }} Slider
 * @typedef {{ words: string, options: string[] }} Choice
 * @typedef {{ inputs: HTMLInputElement[], number: () => number, move: (number: number) => void, show: () => void }} Control
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
 * `controls`: of a slider its words, the unit that follows its number or what is `said` in place of it, and the attributes
 * of its input; of a choice its words and options, of which the number is the place. `draw(svg, ...numbers)` draws, and
 * returns the sentence below the picture. The picture's `set(...numbers)` moves the controls.
 *
 * @param {HTMLElement} place
 * @param {object} content
 * @param {string} content.title
 * @param {number} content.height
 * @param {(Slider | Choice)[]} content.controls
 * @param {(svg: SVGElement, ...numbers: number[]) => string} content.draw
 */
export function picture(place, { title, height, controls, draw }) {
  place.replaceChildren();
  place.setAttribute("role", "group");
  place.setAttribute("aria-label", title);
  const moved = controls.map((each) => ("options" in each ? choice(place, each) : slider(place, each)));
  const svg = shape("svg", { viewBox: `0 0 480 ${height}`, role: "img", "aria-label": title });
  const words = document.createElement("p");
  words.setAttribute("aria-live", "polite");
  place.append(svg, words);
  const numbers = () => moved.map(({ number }) => number());
  const update = () => {
    for (const { show } of moved) show();
    svg.replaceChildren();
    words.textContent = draw(svg, ...numbers());
  };
  /** @param {number[]} to */
  const set = (...to) => {
    for (const [i, { number, move }] of moved.entries()) move(to[i] ?? number());
    update();
  };
  for (const input of moved.flatMap(({ inputs }) => inputs)) input.addEventListener("input", update);
  update();
  return { set, numbers };
}

/** @type {(place: HTMLElement, slider: Slider) => Control} */
function slider(place, { words, unit = "", said, ...settings }) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  Object.assign(input, { type: "range", ...settings });
  const shown = document.createElement("span");
  shown.setAttribute("aria-hidden", "true"); // the input says it
  label.append(`${words} `, input, " ", shown);
  label.style.display = "block";
  place.append(label);
  const number = () => Number(input.value);
  const show = () => {
    shown.textContent = said?.(number()) ?? `${input.value}${unit}`;
    input.setAttribute("aria-valuetext", shown.textContent);
  };
  /** @param {number} to */
  const move = (to) => {
    input.value = String(to);
  };
  return { inputs: [input], number, move, show };
}

/** @type {(place: HTMLElement, choice: Choice) => Control} */
function choice(place, { words, options }) {
  const group = document.createElement("div");
  group.setAttribute("role", "radiogroup");
  group.setAttribute("aria-label", words);
  group.append(`${words} `);
  const inputs = options.map((option, i) => {
    const label = document.createElement("label");
    const input = document.createElement("input");
    Object.assign(input, { type: "radio", name: `${place.id}-${words}`, checked: i === 0 });
    label.append(input, ` ${option} `);
    label.style.whiteSpace = "nowrap";
    group.append(label, " ");
    return input;
  });
  place.append(group);
  const number = () => inputs.findIndex(({ checked }) => checked);
  /** @param {number} to */
  const move = (to) => {
    for (const [i, input] of inputs.entries()) input.checked = i === to;
  };
  return { inputs, number, move, show: () => undefined };
}
