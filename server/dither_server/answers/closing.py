"""When a collection is closed and when it is full: one rule, for Python and for SQL.

A collection is closed if an admin has closed it or its closing time has passed. It is full if it has its maximum of
answers: it accepts no more from respondents, but institutions may still share. A paused collection is neither, and
accepts answers to tickets that it issued before.
"""

__all__ = ["is_closed", "is_full", "not_closed_sql"]


def is_closed(state: str, closes_at: int | None, at: int) -> bool:
    """Whether a collection with this stored state and closing time is closed at `at`. Times are milliseconds."""
    return state == "closed" or (closes_at is not None and at >= closes_at)


def not_closed_sql(at: str) -> str:
    """The opposite of `is_closed` as a condition on a row of `collections`; `at` is an SQL expression."""
    return f"(collections.state <> 'closed' AND (collections.closes_at IS NULL OR {at} < collections.closes_at))"


def is_full(max_answers: int | None, answers: int) -> bool:
    """Whether a collection with this many answers accepts no more."""
    return max_answers is not None and answers >= max_answers
