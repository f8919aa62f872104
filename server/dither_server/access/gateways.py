"""The gateways' numbers: short enough for a ticket, and permanent, even after the gateway's token is revoked."""

from sqlalchemy import Connection, Engine, select

from dither_server.access.tokens import Token
from dither_server.answers.writer import Writer
from dither_server.database.engine import insert_missing
from dither_server.database.schema import gateways

__all__ = ["MAX_GATEWAY", "Gateways"]

MAX_GATEWAY = 65_535
"""The largest number that fits into a ticket's two bytes; tickets of further gateways count as tickets of none."""


class Gateways:
    """Gives each gateway's token a number when it first requests tickets."""

    def __init__(self, engine: Engine, writer: Writer) -> None:
        self._writer = writer
        with engine.connect() as connection:
            rows = connection.execute(select(gateways.c.token, gateways.c.number))
            self._numbers: dict[str, int] = {row.token: row.number for row in rows}

    async def number(self, token: Token) -> int:
        """The token's number; 0 if there are too many. Raises what the writer raises."""
        found = self._numbers.get(token.id)
        if found is None:
            found = self._numbers[token.id] = await self._writer.run(lambda connection: _number(connection, token))
        return found if found <= MAX_GATEWAY else 0


def _number(connection: Connection, token: Token) -> int:
    insert_missing(connection, gateways, {"token": token.id, "name": token.name}, "token")
    found = select(gateways.c.number).where(gateways.c.token == token.id)
    return int(connection.execute(found).scalar_one())
