/** The words of questions and answers in each language that there is. */

/** @import { Phrases } from "./dither.d.ts" */

const ENORMOUS = { enormous: "an enormous number", enormousNegative: "an enormous negative number" };

/** @type {Phrases} */
const ENGLISH = {
  marks: [".", ","],
  threshold: (above) => `Is your value ${above}?`,
  interval: (low, high) => `Where between ${low} and ${high} does your value lie?`,
  groups: (count, listed) => `In which of these ${count} groups is what you chose${listed}?`,
  groupsOfRanges: (count, listed) => `In which of these ${count} groups of ranges does your value lie${listed}?`,
  ranges: (count, listed) => `In which of these ${count} ranges does your value lie${listed}?`,
  yes: "yes",
  no: "no",
  above: (number) => `above ${number}`,
  atLeast: (number) => `at least ${number}`,
  upTo: (number) => `up to ${number}`,
  below: (number) => `below ${number}`,
  exactly: (number) => `exactly ${number}`,
  about: (number) => `about ${number}`,
  orBelow: (number) => `${number} or below`,
  orAbove: (number) => `${number} or above`,
  quoted: (text) => `“${text}”`,
  category: (number) => `category ${number}`,
  component: (number) => `number ${number}`,
  statement: (name, above) => `${name} is ${above}`,
  sameSide: (listed) => `Are these both true, or both false: ${listed}?`,
  oddOneOut: (listed) => `Which of these is true while the other two are false, or the other way round: ${listed}?`,
  noneOfThem: "none of them",
  combinations: (listed) => `In which combination of these ranges do your numbers lie: ${listed}?`,
  and: " and ",
  or: " or ",
  anything: "anything",
  nearlyZero: "nearly 0",
  beside: ENORMOUS,
  alone: ENORMOUS,
};

/** @type {Phrases} */
const GERMAN = {
  marks: [",", "."],
  threshold: (above) => `Liegt Ihr Wert ${above}?`,
  interval: (low, high) => `Wo zwischen ${low} und ${high} liegt Ihr Wert?`,
  groups: (count, listed) => `In welcher dieser ${count} Gruppen ist Ihre Auswahl${listed}?`,
  groupsOfRanges: (count, listed) => `In welcher dieser ${count} Gruppen von Bereichen liegt Ihr Wert${listed}?`,
  ranges: (count, listed) => `In welchem dieser ${count} Bereiche liegt Ihr Wert${listed}?`,
  yes: "ja",
  no: "nein",
  above: (number) => `über ${number}`,
  atLeast: (number) => `bei mindestens ${number}`,
  upTo: (number) => `bis zu ${number}`,
  below: (number) => `unter ${number}`,
  exactly: (number) => `genau ${number}`,
  about: (number) => `etwa ${number}`,
  orBelow: (number) => `${number} oder darunter`,
  orAbove: (number) => `${number} oder darüber`,
  quoted: (text) => `„${text}“`,
  category: (number) => `Kategorie ${number}`,
  component: (number) => `Zahl ${number}`,
  statement: (name, above) => `${name} liegt ${above}`,
  sameSide: (listed) => `Sind diese beiden Aussagen beide wahr oder beide falsch: ${listed}?`,
  oddOneOut: (listed) =>
    `Welche dieser Aussagen ist wahr, während die beiden anderen falsch sind, oder umgekehrt: ${listed}?`,
  noneOfThem: "keine davon",
  combinations: (listed) => `In welcher Kombination dieser Bereiche liegen Ihre Zahlen: ${listed}?`,
  and: " und ",
  or: " oder ",
  anything: "irgendwo",
  nearlyZero: "fast 0",
  beside: { enormous: "einer riesigen Zahl", enormousNegative: "einer riesigen negativen Zahl" },
  alone: { enormous: "eine riesige Zahl", enormousNegative: "eine riesige negative Zahl" },
};

/** @type {Record<string, Phrases>} */
const PHRASES = { en: ENGLISH, de: GERMAN };

/**
 * The phrases of a language, or else those of English.
 *
 * @param {string} language
 */
export function phrasesOf(language) {
  return (Object.hasOwn(PHRASES, language) ? PHRASES[language] : null) ?? ENGLISH;
}
