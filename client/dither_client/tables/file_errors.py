"""Sentences that say what is wrong with a file that the user named, and how to fix it."""

import json
from collections.abc import Sequence
from difflib import get_close_matches
from errno import ENOENT
from os import strerror
from pathlib import Path
from typing import Any

from dither_client.errors import BadResponse
from dither_client.strict_json import decode_json

__all__ = ["check_folder", "file_trouble", "json_object", "unknown_field"]

_LONGEST_NAME = 60
"""The most characters of an unknown field's name that are shown."""

_TROUBLES: dict[type[OSError], str] = {
    FileNotFoundError: "does not exist: check the name and the folder",
    IsADirectoryError: "is a folder: name a file",
    NotADirectoryError: "is not a path: a part of it that should be a folder is a file",
    PermissionError: "cannot be opened: change its permissions, or name another file",
    FileExistsError: "already exists: name a new file",
}


def check_folder(file: Path) -> None:
    """Raises `FileNotFoundError` if the folder of a file is missing; called before the work that the file is for."""
    if not file.parent.exists():
        raise FileNotFoundError(ENOENT, strerror(ENOENT), str(file))


def file_trouble(error: OSError) -> str:
    """A sentence that explains an error of the operating system."""
    if error.filename is None:
        return str(error.strerror or error)
    folder = Path(error.filename).parent
    if isinstance(error, FileNotFoundError) and not folder.exists():
        return f"{error.filename}: the folder {folder} does not exist: make it, or name another"
    trouble = next((words for kind, words in _TROUBLES.items() if isinstance(error, kind)), None)
    return f"{error.filename} {trouble}" if trouble else f"{error.filename} cannot be used: {error.strerror}"


def json_object(content: bytes, name: str) -> dict[str, Any]:
    """Reads a file's content as a JSON object with exact decimals. Raises `ValueError` with `name` and the line."""
    if not content.strip():
        raise ValueError(f"{name} is not a JSON object: it is empty")
    try:
        data = decode_json(content)
    except BadResponse as error:
        raise ValueError(f"{name} is not a JSON object: {_why(error.__context__)}") from None
    if not isinstance(data, dict):
        raise ValueError(f'{name} is not a JSON object, such as {{"name": "Wages", "family": "normal", "epsilon": 1}}')
    return data


def unknown_field(name: str, known: Sequence[str]) -> str:
    """Words that name a field which is none of those `known`, and the nearest of them, or all of them."""
    near = get_close_matches(name, known, 1)
    shown = "".join(letter if letter.isprintable() else " " for letter in name[:_LONGEST_NAME])
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    return f'the unknown field "{shown}"; {hint}'


def _why(error: BaseException | None) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}, {error.msg}"
    return "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
