"""Sentences that say what is wrong with a file that the user named, and how to fix it."""

import json
from typing import Any

from dither_client.errors import BadResponse
from dither_client.strict_json import decode_json

__all__ = ["file_trouble", "json_object"]

_TROUBLES: dict[type[OSError], str] = {
    FileNotFoundError: "does not exist: check the name and the folder",
    IsADirectoryError: "is a folder: name a file",
    NotADirectoryError: "is not a path: a part of it that should be a folder is a file",
    PermissionError: "cannot be opened: change its permissions, or name another file",
    FileExistsError: "already exists: name a new file",
}


def file_trouble(error: OSError) -> str:
    """A sentence that explains an error of the operating system."""
    if error.filename is None:
        return str(error.strerror or error)
    trouble = next((words for kind, words in _TROUBLES.items() if isinstance(error, kind)), None)
    return f"{error.filename} {trouble}" if trouble else f"{error.filename} cannot be used: {error.strerror}"


def json_object(content: bytes, name: str) -> dict[str, Any]:
    """Reads a file's content as a JSON object with exact decimals. Raises `ValueError` with `name` and the line."""
    try:
        data = decode_json(content)
    except BadResponse as error:
        raise ValueError(f"{name} is not a JSON object: {_why(error.__context__)}") from None
    if not isinstance(data, dict):
        raise ValueError(f'{name} is not a JSON object, such as {{"name": "Wages", "family": "normal", "epsilon": 1}}')
    return data


def _why(error: BaseException | None) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}, {error.msg}"
    return "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
