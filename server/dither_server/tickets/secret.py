"""The server's secret, and the keys derived from it."""

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path

from sqlalchemy import URL, make_url

from dither_server.errors import StartRefused
from dither_server.settings import Settings

__all__ = ["Keys", "load_secret", "secret_file"]


class Keys:
    """Keys, 32 bytes each, by HMAC-SHA256 of the secret with a label for each use.

    So nothing made for one use can be shown for another.
    """

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self.receipt = self._key("receipt")
        self.session = self._key("session")
        self.fingerprint = self._key("fingerprint").hex()[:8]
        """The same for processes that have the same secret."""

    def ticket(self, number: int) -> bytes:
        """The key of that number that tickets are signed with. The database knows numbers and times, but no key."""
        return self._key(f"ticket {number}" if number else "ticket")  # the first is older than the numbers

    def _key(self, label: str) -> bytes:
        return hmac.digest(self._secret, f"dither {label}".encode(), hashlib.sha256)


def load_secret(settings: Settings) -> str:
    """`DITHER_SECRET`, or the secret in the file beside an SQLite database, which is made when it is not there.

    Raises `StartRefused` when there is no place for such a file, or it cannot be read.
    """
    if settings.secret is not None:
        return settings.secret.get_secret_value()
    file = secret_file(make_url(settings.database))
    if file is None:
        raise StartRefused("DITHER_SECRET must be set: only with an SQLite file can the server keep one by itself.")
    try:
        _create(file)
        if stat.S_IMODE(file.stat().st_mode) & 0o077:
            raise StartRefused(f"Others can read {file}: make it yours alone with chmod 600 {file}.")
        secret = file.read_text().strip()
    except OSError as error:
        raise StartRefused(f"The secret in {file} cannot be used: {error.strerror}.") from None
    if not secret:
        raise StartRefused(f"{file} is empty: put back the secret it had, or remove it and tickets in use are lost.")
    return secret


def secret_file(url: URL) -> Path | None:
    """Where the secret of an SQLite database lies: beside it, with `.secret` after its name."""
    if url.get_backend_name() != "sqlite" or not url.database:
        return None
    return Path(f"{url.database}.secret")


def _create(file: Path) -> None:
    """Makes the file with a new secret unless it exists; whole or not at all, also when two processes start at once."""
    if file.exists():
        return
    draft = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as stream:
            stream.write(secrets.token_urlsafe(32) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        os.link(draft, file)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
