// Counts and times as all pages write them.

/** @param {number} x */
export const count = (x) => Intl.NumberFormat("en").format(x);

/** @type {(number: number) => string} */
export const answersText = (number) => `${count(number)} ${number === 1 ? "answer" : "answers"}`;

/** @type {(time: Date, seconds?: boolean) => string} */
export const moment = (time, seconds = false) => {
  const written = time.toISOString();
  return `${written.slice(0, 10)} ${written.slice(11, seconds ? 19 : 16)} UTC`;
};
