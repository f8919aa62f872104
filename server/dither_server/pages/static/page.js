// Finds the elements that the scripts need.

/**
 * The element with this id. Throws if the page has none.
 *
 * @param {string} id
 */
export function part(id) {
  return control(id, HTMLElement);
}

/**
 * The element with this id. Throws if the page has none of this kind.
 *
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} kind
 */
export function control(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${kind.name} with the id ${id}`);
  return found;
}
