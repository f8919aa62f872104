"""Sessions on the pages: a signed cookie that stands for a token and does not contain it.

The cookie is `id "." time "." base64url(signature)`: the token's id, the time of signing in (seconds), and HMAC-SHA256
over both, with a key made from the server's session key and the token's hash. Nothing is stored, so every process knows
every session. A session ends with its token, after `SESSION_LIFE`, or when the browser drops the cookie.
"""

import hashlib

from itsdangerous import BadSignature, Signer

from dither_server.access.audit_trail import AuditTrail
from dither_server.access.tokens import Access, Token
from dither_server.clock import Clock
from dither_server.errors import Unauthorized
from dither_server.tickets.secret import Keys

__all__ = ["SESSION_LIFE", "Sessions"]

SESSION_LIFE = 12 * 3600
"""Seconds from signing in to the end of the session."""
_MAX_COOKIE_LENGTH = 200
_NOT_VALID = "This token is not valid here: copy the whole token of an analyst or an admin, as it was first shown."


class Sessions:
    """Creates and reads the text of the session cookie."""

    def __init__(self, keys: Keys, access: Access, trail: AuditTrail, clock: Clock) -> None:
        self._key = keys.session
        self._access = access
        self._trail = trail
        self._clock = clock

    def begin(self, secret: str) -> str:
        """The text of a new session for the token `secret`. Raises `Unauthorized` unless it is an analyst's or admin's.

        It reads the database, so do not call it on the event loop.
        """
        try:
            token = self._access.identify(f"Bearer {secret}")
        except Unauthorized:
            raise Unauthorized(_NOT_VALID) from None
        if token.role == "gateway":
            raise Unauthorized(_NOT_VALID)
        digest, _ = self._access.with_id(token.id) or (b"", token)
        self._trail.record("signed in", token.id)
        return self._signer(digest).sign(f"{token.id}.{int(self._clock())}").decode()

    def token(self, text: str | None) -> Token | None:
        """The token that a session's text stands for; None if the text is not valid or the session is over."""
        if text is None or not text.isascii() or len(text) > _MAX_COOKIE_LENGTH or text.count(".") != 2:
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
        # The key includes the token's hash, so that a change of DITHER_ADMIN_TOKEN ends its sessions.
        return Signer(self._key + digest, sep=b".", key_derivation="none", digest_method=hashlib.sha256)
