"""The tables of a ledger's file, and how those of every earlier version become them."""

__all__ = ["FIRST_SCHEMA", "UPGRADES", "VERSION"]

VERSION = 6

FIRST_SCHEMA = """
CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    server TEXT NOT NULL,
    collection TEXT NOT NULL,
    state TEXT NOT NULL,
    micro_epsilon INTEGER NOT NULL,
    ticket TEXT NOT NULL,
    query TEXT NOT NULL,
    answer INTEGER,
    receipt TEXT,
    -- One answer to a collection, ever.
    CONSTRAINT one_entry_for_a_collection UNIQUE (server, collection),
    CONSTRAINT a_charge_is_positive CHECK (micro_epsilon > 0),
    -- What is stored says how far the answer has come.
    CONSTRAINT the_state_is_what_is_stored CHECK (
        CASE state
            WHEN 'charged' THEN answer IS NULL AND receipt IS NULL
            WHEN 'drawn' THEN answer IS NOT NULL AND receipt IS NULL
            WHEN 'sent' THEN answer IS NOT NULL AND receipt IS NOT NULL
            WHEN 'expired' THEN answer IS NOT NULL AND receipt IS NULL
            ELSE 0
        END
    )
)
"""

_ENTRIES = """
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
)
"""

UPGRADES = {
    # The ρ of zero-concentrated differential privacy, where the query's mechanism states one.
    1: ("ALTER TABLE entries ADD COLUMN micro_rho INTEGER CONSTRAINT a_rho_is_positive CHECK (micro_rho > 0)",),
    # The keys for requesting tickets with invitations, stored before they are sent so that a lost reply costs nothing.
    2: (
        "CREATE TABLE retry_keys (server TEXT NOT NULL, collection TEXT NOT NULL, key TEXT NOT NULL, "
        "CONSTRAINT one_retry_key_for_a_collection UNIQUE (server, collection))",
    ),
    # The price in the first terms of each collection: no question may cost more.
    3: (
        "CREATE TABLE prices (server TEXT NOT NULL, collection TEXT NOT NULL, price TEXT NOT NULL, "
        "CONSTRAINT one_price_of_a_collection UNIQUE (server, collection))",
    ),
    # The key that an answer is sent with, every time; answers that wait to be sent get one now.
    4: (
        "ALTER TABLE entries ADD COLUMN retry_key TEXT",
        "UPDATE entries SET retry_key = new_retry_key() WHERE state = 'drawn'",
    ),
    # The period of each answer of a panel, and answers that are paid for but have no question yet.
    5: (
        "ALTER TABLE entries RENAME TO earlier_entries",
        _ENTRIES,
        """
        INSERT INTO entries (
            id, server, collection, period, state, micro_epsilon, micro_rho, ticket, query, answer, receipt, retry_key
        )
        SELECT id, server, collection, 0, state, micro_epsilon, micro_rho, ticket, query, answer, receipt, retry_key
        FROM earlier_entries
        """,
        "DROP TABLE earlier_entries",
    ),
}
"""The statements that upgrade a file from each version to the next; a new file starts at version 1."""
