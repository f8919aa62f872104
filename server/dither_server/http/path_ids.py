"""Ids in paths: what no id looks like is nowhere to be found, and never reaches the database, which may refuse it."""

import re

from fastapi import Request

from dither_server.errors import NotFound

__all__ = ["check_id", "check_path_ids", "is_id"]

_ID = re.compile("[A-Za-z0-9_-]{1,128}")
_ENDING = "_id"
"""How the names of those parts of a path end that are ids."""


def is_id(text: str) -> bool:
    """Whether there can be a collection or a token with this id."""
    return _ID.fullmatch(text) is not None


def check_id(text: str) -> None:
    """Raises `NotFound` unless `is_id` holds."""
    if not is_id(text):
        raise NotFound("Nothing has such an id: ids have 1 to 128 letters, digits, _ and -.")


async def check_path_ids(request: Request) -> None:
    """Raises `NotFound` if a part of the path that is to be an id cannot be one."""
    for name, text in request.path_params.items():
        if name.endswith(_ENDING):
            check_id(text)
