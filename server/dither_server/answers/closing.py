"""When a collection is closed and when it is full: one rule, for Python and for SQL.

A deleted collection accepts nothing either, whatever its state is; `accepts_sql` says both.

A collection is closed if an admin has closed it or its closing time has passed. It is full if it has its maximum of
answers: it accepts no more from respondents, but institutions may still share. A paused collection is neither, and
accepts answers to tickets that it issued before.
"""

__all__ = ["accepts_sql", "is_closed", "is_full"]


def is_closed(state: str, closes_at: int | None, at: int) -> bool:
    """Whether a collection with this stored state and closing time is closed at `at`. Times are milliseconds."""
    return state == "closed" or (closes_at is not None and at >= closes_at)


def accepts_sql(at: str) -> str:
    """Neither deleted nor closed, as a condition on a row of `collections`; `at` is an SQL expression."""
    closes = f"(collections.closes_at IS NULL OR {at} < collections.closes_at)"
    return f"(collections.deleted_at IS NULL AND collections.state <> 'closed' AND {closes})"


def is_full(max_answers: int | None, answers: int) -> bool:
    """Whether a collection with this many answers accepts no more."""
    return max_answers is not None and answers >= max_answers
