"""Saves everything about a collection, and checks that it came whole."""

import hashlib
import json
import os
import zipfile
from pathlib import Path

from dither_client.admin import Admin
from dither_client.errors import BadResponse

__all__ = ["save_archive"]

_PIECE = 1 << 20


def save_archive(admin: Admin, collection: str, file: Path) -> int:
    """Saves the archive in a new file, which only its user may read; returns how many files it has.

    Raises `FileExistsError`, and `BadResponse` if it is not whole; then there is no file.
    """
    with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as opened:
        try:
            opened.writelines(admin.archive(collection))
            opened.flush()
            return _checked(file)
        except BaseException:
            file.unlink()
            raise


def _checked(file: Path) -> int:
    """The number of files in the archive. Raises `BadResponse` unless each is as the manifest says."""
    try:
        with zipfile.ZipFile(file) as archive:
            listed = json.loads(archive.read("manifest.json"))["files"]
            found = {name: _digest(archive, name) for name in archive.namelist() if name != "manifest.json"}
    except (zipfile.BadZipFile, KeyError, ValueError):
        raise BadResponse("the archive did not come whole: try again") from None
    if found != {name: one["sha256"] for name, one in listed.items()}:
        raise BadResponse("the archive is not what its manifest says: try again")
    return len(found)


def _digest(archive: zipfile.ZipFile, name: str) -> str:
    digest = hashlib.sha256()
    with archive.open(name) as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
