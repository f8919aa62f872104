/** What is in the file of a `SqliteLedger`: its tables, and a price as the Python client stores it. */

/** @import { Price } from "./dither.d.ts" */

import { epsilonText, parseMicro } from "./epsilon.js";

export const VERSION = 6; // of the file, as PRAGMA user_version

export const SCHEMA = `
CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    server TEXT NOT NULL,
    collection TEXT NOT NULL,
    -- The number of the period of an answer of a panel, otherwise 0: what a program of an earlier version that still
    -- runs leaves out.
    period INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL,
    micro_epsilon INTEGER NOT NULL,
    micro_rho INTEGER,
    ticket TEXT,
    query TEXT,
    answer INTEGER,
    receipt TEXT,
    retry_key TEXT,
    -- One answer to a collection, or of a panel one in each period, ever.
    CONSTRAINT one_entry_for_a_period_of_a_collection UNIQUE (server, collection, period),
    CONSTRAINT a_charge_is_positive CHECK (micro_epsilon > 0),
    CONSTRAINT a_rho_is_positive CHECK (micro_rho > 0),
    CONSTRAINT all_but_what_is_reserved_has_a_question CHECK (
        (state = 'reserved') = (ticket IS NULL) AND (state = 'reserved') = (query IS NULL)
    ),
    -- What is stored says how far the answer has come.
    CONSTRAINT the_state_is_what_is_stored CHECK (
        CASE state
            WHEN 'reserved' THEN period > 0 AND answer IS NULL AND receipt IS NULL
            WHEN 'charged' THEN answer IS NULL AND receipt IS NULL
            WHEN 'drawn' THEN answer IS NOT NULL AND receipt IS NULL
            WHEN 'sent' THEN answer IS NOT NULL AND receipt IS NOT NULL
            WHEN 'expired' THEN answer IS NOT NULL AND receipt IS NULL
            ELSE 0
        END
    )
);
CREATE TABLE retry_keys (
    server TEXT NOT NULL, collection TEXT NOT NULL, key TEXT NOT NULL,
    CONSTRAINT one_retry_key_for_a_collection UNIQUE (server, collection)
);
CREATE TABLE prices (
    server TEXT NOT NULL, collection TEXT NOT NULL, price TEXT NOT NULL,
    CONSTRAINT one_price_of_a_collection UNIQUE (server, collection)
);
PRAGMA user_version = ${VERSION};
`;

/**
 * The price as the Python client stores it, with ε as text.
 *
 * @param {Price} price
 */
export function storedPrice({ mechanism, transform, microEpsilon, microEpsilonChoices, microRho, levels, ...rest }) {
  const { categories, minimum, maximum, groups, components, panel } = rest;
  return {
    mechanism,
    transform,
    epsilon: epsilonText(microEpsilon),
    choices: microEpsilonChoices.map(epsilonText),
    rho: microRho === null ? null : epsilonText(microRho),
    levels,
    ...(categories.length > 0 ? { categories } : {}),
    ...(minimum === null && maximum === null ? {} : { minimum, maximum }),
    ...(groups === null ? {} : { groups }),
    ...(components.length > 0 ? { components } : {}),
    ...(panel === null ? {} : { panel }),
  };
}

/**
 * @param {any} stored
 * @returns {Price}
 */
export function readPrice({ mechanism, transform, epsilon, choices, rho, levels, ...rest }) {
  const { categories, minimum, maximum, groups, components, panel } = rest;
  /** @param {unknown} amount */
  const micro = (amount) => Number(parseMicro(amount));
  return {
    mechanism,
    transform,
    microEpsilon: micro(epsilon),
    microEpsilonChoices: choices.map(micro),
    microRho: rho === null ? null : micro(rho),
    levels,
    categories: categories ?? [],
    minimum: minimum ?? null,
    maximum: maximum ?? null,
    groups: groups ?? null,
    components: components ?? [],
    panel: panel ?? null,
  };
}
