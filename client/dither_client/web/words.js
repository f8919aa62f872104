/** A question and its answers in words, to be shown after the answer was sent. Numbers are on the value's own scale. */

/** The question, as a sentence. */
export function questionText(query) {
  if (isThreshold(query)) {
    return `Is your value above ${edge(query, 0)}?`;
  }
  if (query.levels) {
    return `Where between ${number(query, query.low)} and ${number(query, query.high)} does your value lie?`;
  }
  const kinds = query.sets ?? Array.from({ length: query.nCells }, (_, cell) => [cell]);
  const listed = kinds.length > 8 ? "" : `: ${kinds.map((cells) => cellsText(query, cells)).join("; ")}`;
  return `In which of these ${kinds.length} ${query.sets ? "groups of ranges" : "ranges"} does your value lie${listed}?`;
}

/** What one of its answers says. */
export function answerText(query, answer) {
  if (isThreshold(query)) {
    return answer === 1 ? "yes" : "no";
  }
  if (query.levels) {
    const point = query.low + ((query.high - query.low) * answer) / query.levels;
    const text = number(query, point);
    return answer === 0 ? `${text} or below` : answer === query.levels ? `${text} or above` : `about ${text}`;
  }
  return cellsText(query, query.sets ? query.sets[answer] : [answer]);
}

/**
 * Who would most likely, and who would least likely, have sent this answer: `{who, probability}` of each. The ratio is
 * at most `exp(ε)`, and neither depends on the value of whoever sent it.
 */
export function odds(query, answer) {
  const column = Array.from({ length: query.nCells }, (_, cell) => query.probability(cell, answer));
  return [Math.max(...column), Math.min(...column)].map((probability) => {
    const cells = column.flatMap((p, cell) => (Math.abs(p - probability) <= 1e-12 ? [cell] : []));
    return { who: cellsText(query, cells), probability };
  });
}

function isThreshold(query) {
  return query.levels === 1;
}

/** The cells as ranges, those that touch as one. */
function cellsText(query, cells) {
  const ranges = [];
  for (const cell of cells) {
    const last = ranges.at(-1);
    if (last?.[1] === cell - 1) {
      last[1] = cell;
    } else {
      ranges.push([cell, cell]);
    }
  }
  return ranges.map(([first, last]) => rangeText(query, first, last)).join(" or ");
}

function rangeText(query, first, last) {
  const above = first > 0 && `above ${edge(query, first - 1)}`;
  const upTo = last < query.nCells - 1 && `up to ${edge(query, last)}`;
  return [above, upTo].filter(Boolean).join(" and ") || "anything";
}

function edge(query, i) {
  return number(query, query.edges[i]);
}

function number(query, coordinate) {
  const value = query.transform === "log" ? Math.exp(coordinate) : coordinate;
  return String(Number(value.toPrecision(5))).replace("-", "−");
}
