"""Tokens with their roles and collections, and the check of a request's token."""

import asyncio
import hashlib
import json
import secrets
from collections.abc import Collection as SizedIterable
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from pydantic import SecretStr
from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.engine import Engine

from dither_server.answers.writer import Writer
from dither_server.clock import Clock, iso_time, milliseconds
from dither_server.database.refreshed import Refreshed
from dither_server.database.schema import tokens
from dither_server.errors import Forbidden, InvalidBody, NotFound, Unauthorized

__all__ = ["Access", "Role", "Token", "draw_token", "insert_token"]

Role = Literal["admin", "analyst", "gateway"]

_GRANTS: Mapping[Role, frozenset[Role]] = {
    "admin": frozenset(get_args(Role)),
    "analyst": frozenset({"analyst"}),
    "gateway": frozenset({"gateway"}),
}
"""The roles that a token of each role may act as."""

_GATEWAYS_ONLY = (
    "This collection issues tickets to gateways only, such as an app's own server: send a gateway's token in the "
    "header Authorization: Bearer TOKEN."
)
_DAY = 24 * 3600 * 1000
_ENVIRONMENT = "environment"
"""The id of the token in DITHER_ADMIN_TOKEN, which is not in the database."""


@dataclass(frozen=True)
class Token:
    """A token without its secret."""

    id: str
    role: Role
    name: str
    created_at: int
    collections: frozenset[str] | None = None
    """The ids of the collections that it is valid for; None for all, including later ones."""
    expires_at: int | None = None
    """When it expires (milliseconds); None for never."""

    def to_json(self) -> dict[str, Any]:
        """The token as an object of the wire format."""
        return {
            "id": self.id,
            "role": self.role,
            "name": self.name,
            "created_at": iso_time(self.created_at),
            "expires_at": None if self.expires_at is None else iso_time(self.expires_at),
            "collections": None if self.collections is None else sorted(self.collections),
        }

    def check(self, role: Role, collection_id: str | None) -> None:
        """Raises `Forbidden` unless the token may act as `role`, and in this collection if one is given."""
        if not self._may(role):
            raise Forbidden(f"This call needs a token of the role {role} or admin.")
        if not self._for(collection_id):
            raise Forbidden("The token is not valid for this collection: ask an admin for one that is.")

    def acts_as(self, role: Role, collection_id: str) -> bool:
        """Whether `check` would pass."""
        return self._may(role) and self._for(collection_id)

    def _may(self, role: Role) -> bool:
        return role in _GRANTS[self.role]

    def _for(self, collection_id: str | None) -> bool:
        return self.collections is None or collection_id in self.collections


class Access:
    """The valid tokens by their hashes. The server does not keep their secrets, so it cannot leak them."""

    def __init__(self, engine: Engine, writer: Writer, clock: Clock, admin_token: SecretStr | None) -> None:
        self._engine = engine
        self._writer = writer
        self._clock = clock
        self._tokens: dict[bytes, Token] = {}
        self._refreshed = Refreshed(self._read)
        self.refresh()
        self._environment: dict[bytes, Token] = {}
        if admin_token is not None:
            admin = Token(_ENVIRONMENT, "admin", "DITHER_ADMIN_TOKEN", milliseconds(clock()))
            self._environment[_hash(admin_token.get_secret_value())] = admin

    def refresh(self) -> None:
        """Reads the tokens from the database."""
        self._refreshed.refresh()

    def check(self, authorization: str | None, role: Role, collection_id: str | None = None) -> Token:
        """The token in the header `Authorization`, if it may act as `role`, and in this collection if one is given.

        Raises `Unauthorized` or `Forbidden`. It reads the database if this process does not know the token, so do not
        call it on the event loop.
        """
        try:
            token = self.identify(authorization)
        except Unauthorized:
            raise Unauthorized(_GATEWAYS_ONLY if role == "gateway" else None) from None
        token.check(role, collection_id)
        return token

    def identify(self, authorization: str | None) -> Token:
        """The token in the header `Authorization`, whatever its role.

        Raises `Unauthorized`. It reads the database if this process does not know the token, so do not call it on the
        event loop.
        """
        token = self._token(authorization)
        # Another process may have just created it. Made-up tokens must not cause all tokens to be read.
        if token is None and authorization is not None and _is_stored(self._engine, _digest(authorization)):
            self.refresh()
            token = self._token(authorization)
        if token is None:
            raise Unauthorized
        return token

    def with_id(self, token_id: str) -> tuple[bytes, Token] | None:
        """The valid token with this id and the hash of its secret; None if there is none."""
        known = {**self._tokens, **self._environment}
        return next(
            ((digest, token) for digest, token in known.items() if token.id == token_id and self._valid(token)), None
        )

    async def check_soon(self, authorization: str | None, role: Role, collection_id: str | None = None) -> Token:
        """Does what `check` does, and may be called on the event loop."""
        if self._token(authorization) is None:
            return await asyncio.to_thread(self.check, authorization, role, collection_id)
        return self.check(authorization, role, collection_id)

    async def create(
        self, role: Role, name: str, collections: SizedIterable[str] | None = None, days: int | None = None
    ) -> tuple[str, Token]:
        """Creates a token for these collections or for all, and returns its secret, which is not kept, and the token.

        It expires after `days` days, if given. Raises `InvalidBody` for an admin's token that is not for all.
        """
        if role == "admin" and collections is not None:
            raise InvalidBody("collections: An admin's token is valid for every collection; leave the field out.")
        secret, digest, token = draw_token(
            self._clock, role, name, None if collections is None else frozenset(collections), days
        )
        await self._writer.run(lambda connection: insert_token(connection, digest, token))
        await asyncio.to_thread(self.refresh)
        return secret, token

    def list(self) -> list[Token]:
        """Every token that can be revoked, oldest first."""
        return sorted(self._tokens.values(), key=lambda token: (token.created_at, token.id))

    async def revoke(self, token_id: str) -> None:
        """Makes a token invalid. Raises `NotFound`."""
        revoked = delete(tokens).where(tokens.c.id == token_id)
        if not await self._writer.run(lambda connection: connection.execute(revoked).rowcount):
            raise NotFound("There is no token with this id: see the list of tokens.")
        await asyncio.to_thread(self.refresh)

    def _token(self, authorization: str | None) -> Token | None:
        digest = _digest(authorization or "")
        # The lookup is by hash, so its duration does not reveal how close a guess is to a token.
        token = self._environment.get(digest) or self._tokens.get(digest)
        return token if _is_bearer(authorization) and token is not None and self._valid(token) else None

    def _valid(self, token: Token) -> bool:
        return token.expires_at is None or milliseconds(self._clock()) < token.expires_at

    def _read(self) -> None:
        self._tokens = _read(self._engine)


def draw_token(
    clock: Clock, role: Role, name: str, collections: frozenset[str] | None = None, days: int | None = None
) -> tuple[str, bytes, Token]:
    """A new random token: its secret, the hash of that, and the token. It is not stored yet."""
    secret, now = f"dither_{role}_{secrets.token_urlsafe(32)}", milliseconds(clock())
    expires_at = None if days is None else now + days * _DAY
    return secret, _hash(secret), Token(secrets.token_hex(5), role, name, now, collections, expires_at)


def _read(engine: Engine) -> dict[bytes, Token]:
    """Every stored token by its hash."""
    with engine.connect() as connection:
        return {
            row.hash: Token(
                row.id,
                row.role,
                row.name,
                row.created_at,
                None if row.collections is None else frozenset(json.loads(row.collections)),
                row.expires_at,
            )
            for row in connection.execute(select(tokens))
        }


def _is_bearer(authorization: str | None) -> bool:
    return (authorization or "").partition(" ")[0].lower() == "bearer"


def _is_stored(engine: Engine, digest: bytes) -> bool:
    with engine.connect() as connection:
        return connection.execute(select(tokens.c.id).where(tokens.c.hash == digest)).first() is not None


def _digest(authorization: str) -> bytes:
    """The hash of the token in an `Authorization` header."""
    return _hash(authorization.partition(" ")[2].strip())


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def insert_token(connection: Connection, digest: bytes, token: Token) -> None:
    """Stores a token under the hash of its secret."""
    collections = None if token.collections is None else json.dumps(sorted(token.collections))
    connection.execute(insert(tokens), {**asdict(token), "hash": digest, "collections": collections})
