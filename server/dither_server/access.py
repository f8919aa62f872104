"""Who may do what: tokens, their roles, and the check of a request's."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from pydantic import SecretStr
from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.engine import Engine

from dither_server.clock import Clock, iso_time, milliseconds
from dither_server.errors import Forbidden, NotFound, Unauthorized
from dither_server.schema import tokens
from dither_server.writer import Writer

__all__ = ["Access", "Role", "Token"]

Role = Literal["admin", "analyst", "gateway"]

_GRANTS: Mapping[Role, frozenset[Role]] = {
    "admin": frozenset(get_args(Role)),
    "analyst": frozenset({"analyst"}),
    "gateway": frozenset({"gateway"}),
}
"""The roles that each role may act in."""

_ENVIRONMENT = "environment"
"""The id of the admin that DITHER_ADMIN_TOKEN makes; it is in no table."""


@dataclass(frozen=True)
class Token:
    """A token without its secret."""

    id: str
    role: Role
    name: str
    created_at: int

    def to_json(self) -> dict[str, str]:
        """The object of the wire format."""
        return {"id": self.id, "role": self.role, "name": self.name, "created_at": iso_time(self.created_at)}


class Access:
    """The tokens that are valid, by their hashes: secrets are not kept, so they cannot be told or stolen."""

    def __init__(self, engine: Engine, writer: Writer, clock: Clock, admin_token: SecretStr | None) -> None:
        self._writer = writer
        self._clock = clock
        with engine.connect() as connection:
            columns = (tokens.c.hash, tokens.c.id, tokens.c.role, tokens.c.name, tokens.c.created_at)
            rows = connection.execute(select(*columns))
            self._tokens: dict[bytes, Token] = {digest: Token(*row) for digest, *row in rows}
        self._environment: dict[bytes, Token] = {}
        if admin_token is not None:
            admin = Token(_ENVIRONMENT, "admin", "DITHER_ADMIN_TOKEN", milliseconds(clock()))
            self._environment[_hash(admin_token.get_secret_value())] = admin

    def first_token(self) -> str | None:
        """A new admin's token if there is no admin at all, else None; to be shown once, at start."""
        if any(token.role == "admin" for token in [*self._tokens.values(), *self._environment.values()]):
            return None
        secret, digest, token = self._draw("admin", "first admin")
        self._writer.submit(lambda connection: _insert(connection, digest, token)).result()
        self._tokens[digest] = token
        return secret

    def check(self, authorization: str | None, role: Role) -> None:
        """Raises `Unauthorized` or `Forbidden` unless the header `Authorization` brings a token that acts as `role`."""
        scheme, _, secret = (authorization or "").partition(" ")
        digest = _hash(secret.strip())
        # What is looked up is a hash, so the time it takes says nothing about how near a guess is to a token.
        token = self._environment.get(digest) or self._tokens.get(digest)
        if scheme.lower() != "bearer" or token is None:
            raise Unauthorized
        if role not in _GRANTS[token.role]:
            raise Forbidden(f"This call needs a token of the role {role} or admin.")

    def allows(self, authorization: str | None, role: Role) -> bool:
        """Whether `check` would pass."""
        try:
            self.check(authorization, role)
        except (Unauthorized, Forbidden):
            return False
        return True

    async def create(self, role: Role, name: str) -> tuple[str, Token]:
        """A new token: its secret, which is never shown again, and what is known of it."""
        secret, digest, token = self._draw(role, name)
        await self._writer.run(lambda connection: _insert(connection, digest, token))
        self._tokens[digest] = token
        return secret, token

    def list(self) -> list[Token]:
        """Every token that can be revoked, the oldest first."""
        return sorted(self._tokens.values(), key=lambda token: (token.created_at, token.id))

    async def revoke(self, token_id: str) -> None:
        """Makes a token invalid. Raises `NotFound`."""
        digest = next((digest for digest, token in self._tokens.items() if token.id == token_id), None)
        if digest is None:
            raise NotFound("There is no such token.")
        await self._writer.run(lambda connection: connection.execute(delete(tokens).where(tokens.c.id == token_id)))
        self._tokens.pop(digest, None)

    def _draw(self, role: Role, name: str) -> tuple[str, bytes, Token]:
        secret = f"dither_{role}_{secrets.token_urlsafe(32)}"
        return secret, _hash(secret), Token(secrets.token_hex(5), role, name, milliseconds(self._clock()))


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _insert(connection: Connection, digest: bytes, token: Token) -> None:
    row = {"id": token.id, "hash": digest, "role": token.role, "name": token.name, "created_at": token.created_at}
    connection.execute(insert(tokens), row)
