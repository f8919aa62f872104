"""The server's secret and the keys that are derived from it."""

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
    """Keys of 32 bytes each: HMAC-SHA256 of a label under the secret.

    Each use has its own label, so a signature for one use is not valid for another.
    """

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self.receipt = self._key("receipt")
        self.session = self._key("session")
        self.deletion = self._key("deletion receipt")
        self.fingerprint = self._key("fingerprint").hex()[:8]
        """Eight hexadecimal digits, equal for processes that have the same secret."""

    def ticket(self, number: int) -> bytes:
        """The key with this number, which signs tickets. The database holds only its number and times."""
        return self._key(f"ticket {number}" if number else "ticket")  # the first key is older than numbers are

    def oblivious(self, number: int) -> bytes:
        """The key beside the tickets' key with this number, to which requests through a relay are encapsulated."""
        return self._key(f"oblivious {number}")

    def _key(self, label: str) -> bytes:
        return hmac.digest(self._secret, f"dither {label}".encode(), hashlib.sha256)


def load_secret(settings: Settings) -> str:
    """`DITHER_SECRET`, or else the secret in the file beside an SQLite database, which is created if it is missing.

    Raises `StartRefused` for PostgreSQL without `DITHER_SECRET`, and for a file that cannot be used.
    """
    if settings.secret is not None:
        return settings.secret.get_secret_value()
    file = secret_file(make_url(settings.database))
    if file is None:
        raise StartRefused(
            "DITHER_SECRET must be set, such as to what `openssl rand -hex 32` prints: the server keeps its own only "
            "beside an SQLite file."
        )
    try:
        _create(file)
        if stat.S_IMODE(file.stat().st_mode) & 0o077:
            raise StartRefused(f"Other users can read {file}: make it private with chmod 600 {file}.")
        secret = file.read_text().strip()
    except OSError as error:
        raise StartRefused(f"The secret in {file} cannot be used: {error.strerror}.") from None
    if not secret:
        raise StartRefused(f"{file} is empty: restore its secret, or remove the file and lose the tickets in use.")
    return secret


def secret_file(url: URL) -> Path | None:
    """The file of an SQLite database's secret: beside the database, with `.secret` after its name."""
    if url.get_backend_name() != "sqlite" or not url.database:
        return None
    return Path(f"{url.database}.secret")


def _create(file: Path) -> None:
    """Creates the file with a new secret unless it exists: atomically, also when two processes start at once."""
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
