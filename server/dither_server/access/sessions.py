"""Who is signed in to the pages: a signed cookie that stands for a token and does not contain it.

The cookie is `id "." time "." base64url(signature)`: the id of the token, when it signed in (seconds), and HMAC-SHA256
over both and the token's hash, with a key of its own. Nothing is stored, so every process knows every session; one
ends with its token, after `SESSION_LIFE`, or when the browser drops the cookie.
"""

import hashlib

from itsdangerous import BadSignature, Signer

from dither_server.access.tokens import Access, Token
from dither_server.audit import audit
from dither_server.clock import Clock
from dither_server.errors import Unauthorized
from dither_server.tickets.secret import Keys

__all__ = ["SESSION_LIFE", "Sessions"]

SESSION_LIFE = 12 * 3600
"""Seconds after signing in."""
_LONGEST = 200
_WRONG = "That is no token of an analyst or an admin of this server: copy it whole, as it was shown when it was made."


class Sessions:
    """Makes and reads the cookie's text."""

    def __init__(self, keys: Keys, access: Access, clock: Clock) -> None:
        self._key = keys.session
        self._access = access
        self._clock = clock

    def begin(self, secret: str) -> str:
        """A session of the token `secret`. Raises `Unauthorized` unless it is an analyst's or an admin's.

        Reads the database, so not for the event loop.
        """
        try:
            token = self._access.identify(f"Bearer {secret}")
        except Unauthorized:
            raise Unauthorized(_WRONG) from None
        if token.role == "gateway":
            raise Unauthorized(_WRONG)
        digest, _ = self._access.with_id(token.id) or (b"", token)
        audit("signed in", token.id)
        return self._signer(digest).sign(f"{token.id}.{int(self._clock())}").decode()

    def token(self, text: str | None) -> Token | None:
        """The token that a session stands for; None for a text that is none, or whose session is over."""
        if text is None or not text.isascii() or len(text) > _LONGEST or text.count(".") != 2:
            return None
        found = self._access.with_id(text.partition(".")[0])
        if found is None:
            return None
        digest, token = found
        try:
            began = int(self._signer(digest).unsign(text).partition(b".")[2])
        except BadSignature:
            return None
        return token if began <= self._clock() < began + SESSION_LIFE else None

    def _signer(self, digest: bytes) -> Signer:
        # With the token's hash in the key, a session does not outlive a change of DITHER_ADMIN_TOKEN.
        return Signer(self._key + digest, sep=b".", key_derivation="none", digest_method=hashlib.sha256)
