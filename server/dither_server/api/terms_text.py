"""The terms of a collection as JSON: all of it but its state and its number of answers is written once.

A list of thousands would otherwise keep other requests waiting while it is written.
"""

from typing import Any

from dither_server.api.messages.collections import TermsReply
from dither_server.collections.collection import Collection

__all__ = ["check_told", "terms_text"]

_NAMES = tuple(TermsReply.model_fields)
_BEFORE = frozenset(_NAMES[: _NAMES.index("state")])
_AFTER = frozenset(_NAMES[_NAMES.index("answers") + 1 :])


def check_told(collection: Collection) -> None:
    """Raises what `terms_text` would raise of this collection, and of every list that has it."""
    _write(collection)


def terms_text(collection: Collection, now: int, answers: int) -> str:
    """What `TermsReply` writes of the collection's terms at `now`, with `answers` stored. Any thread may ask."""
    before, after = collection.written.get("terms") or _write(collection)
    return f'{before},"state":"{collection.state(now, answers)}","answers":{answers},{after}'


def _write(collection: Collection) -> tuple[str, str]:
    reply: Any = TermsReply.model_validate(collection.terms(0, 0))
    before, after = (reply.model_dump_json(include=names) for names in (_BEFORE, _AFTER))
    collection.written["terms"] = before.removesuffix("}"), after.removeprefix("{")
    return collection.written["terms"]
