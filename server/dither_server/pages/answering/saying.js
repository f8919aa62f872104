/** What the page's scripts say, in the page's language. */

/** The part of the page that its scripts change, whose attributes tell what they have to know of the collection. */
export const app = element("app");
export const language = document.documentElement.lang;
export const mark = language === "de" ? "," : "."; // begins the decimals
/** @type {Record<string, string> & { problems: Record<string, string> }} what the scripts say, in the page's language */
export const texts = JSON.parse(app.dataset.texts ?? "{}");

/**
 * The text with this name, with what is given in the places with its names.
 *
 * @type {(name: string, values?: Record<string, string | number>) => string}
 */
export function say(name, values = {}) {
  return (texts[name] ?? name).replace(/\{(\w+)\}/g, (_, place) => String(values[place]));
}

/**
 * A number that is written as in English, as it is written in the page's language.
 *
 * @param {string} text
 */
export function local(text) {
  return mark === "." ? text : text.replace(/[.,]/g, (each) => (each === "." ? "," : "."));
}

/**
 * The element with this id. Throws if the page has none.
 *
 * @param {string} id
 */
export function element(id) {
  const found = document.getElementById(id);
  if (found === null) {
    throw new Error(`the page has no element with the id ${id}`);
  }
  return found;
}
