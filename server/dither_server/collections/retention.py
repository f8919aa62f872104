"""How long answers and collections are kept, and the sentence that says so.

A single answer is dropped `keep_answers_days` after it came; its count stays, so the posterior is the same to the last
digit. Its ticket cannot be used again: a ticket is valid for a day, and answers are kept for two at least. Whoever
sends it again is told that it has expired.
"""

from dither_server.clock import iso_time

__all__ = ["DAY", "MAX_DAYS", "MIN_ANSWER_DAYS", "retention_sentence"]

DAY = 24 * 3600 * 1000
"""A day in milliseconds."""
MIN_ANSWER_DAYS = 2
"""The least days: no answer is dropped while its ticket could still be used, however much machines' clocks differ."""

MAX_DAYS = 36_500
"""The most days, about a hundred years."""


def retention_sentence(keep_answers: bool, answer_days: int | None, ends_at: int | None) -> str | None:
    """What respondents are told of how long answers are kept; None if it is without a limit."""
    sentences = []
    if not keep_answers:
        sentences.append("Answers are only counted, and not kept.")
    elif answer_days is not None:
        sentences.append(f"Answers are kept for {answer_days} days; after that, only their counts are.")
    if ends_at is not None:
        sentences.append(f"Everything is removed after {iso_time(ends_at)[:10]}.")
    return " ".join(sentences) or None
