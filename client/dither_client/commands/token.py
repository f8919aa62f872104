"""Create, list and revoke the tokens of admins, analysts and gateways.

For example: dither token create analyst --name Ada
"""

from enum import StrEnum
from typing import Annotated

import typer

from dither_client.admin import Admin
from dither_client.commands._shared import AdminToken, Json, Url, console, print_json, print_table
from dither_client.posterior.names import moment

__all__ = ["app"]

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)


class _Role(StrEnum):
    ADMIN = "admin"
    ANALYST = "analyst"
    GATEWAY = "gateway"


@app.command()
def create(
    role: Annotated[
        _Role,
        typer.Argument(
            help="admin: everything. analyst: read results. gateway: get tickets for others, and share members' "
            "counts.",
            show_default=False,
        ),
    ],
    url: Url,
    name: Annotated[str, typer.Option(help="Who the token is for.")] = "",
    collections: Annotated[
        list[str] | None,
        typer.Option(
            "--collection",
            metavar="ID",
            help="A collection that an analyst's or a gateway's token is valid for; may be repeated. By default all.",
            show_default=False,
        ),
    ] = None,
    days: Annotated[
        int | None,
        typer.Option(
            min=1, max=3650, help="Days until it expires; by default it is valid until revoked.", show_default=False
        ),
    ] = None,
    token: AdminToken = None,
    as_json: Json = False,
) -> None:
    """Create a token. It is printed once; the server keeps only its hash.

    For example: dither token create analyst --name Ana --collection k3xw8c2nqa
    """
    with Admin(url, token) as admin:
        created = admin.create_token(role.value, name, collections or (), days)
    if as_json:
        print_json(created)
        return
    until = f", valid until {moment(str(created.get('expires_at')))}" if days else ""
    console.print(f"Token {created.get('id')} for the role {role.value}{until}; keep it, as it is not shown again:")
    typer.echo(created.get("token"))


@app.command("list")
def list_(url: Url, token: AdminToken = None, as_json: Json = False) -> None:
    """List the tokens, without their secrets.

    For example: dither token list --json
    """
    with Admin(url, token) as admin:
        data = admin.tokens()
    if as_json:
        print_json(data)
        return
    columns = ("id", "role", "name", "created_at", "expires_at")
    rows = [
        [*(one.get(column) or "" for column in columns), " ".join(map(str, one.get("collections") or ["every one"]))]
        for one in data.get("tokens", [])
    ]
    print_table([*(column.upper() for column in columns), "COLLECTIONS"], rows)


@app.command()
def revoke(
    token_id: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="The token's id, as dither token list shows it; not its secret.", show_default=False
        ),
    ],
    url: Url,
    token: AdminToken = None,
    as_json: Json = False,
) -> None:
    """Revoke a token.

    For example: dither token revoke 9f3c2a71d0
    """
    with Admin(url, token) as admin:
        admin.revoke_token(token_id)
    if as_json:
        print_json({"id": token_id, "revoked": True})
    else:
        console.print(f"Token {token_id} is revoked.")
