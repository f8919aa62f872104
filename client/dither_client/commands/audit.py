"""Show who did what on a server, and when."""

from typing import Annotated

import typer

from dither_client.admin import Admin
from dither_client.commands._shared import AdminToken, Json, Url, print_json, print_table

__all__ = ["app"]

app = typer.Typer(add_completion=False)


@app.command()
def audit(
    url: Url,
    collection: Annotated[
        str | None, typer.Option(metavar="ID", help="Only what was done to this collection.", show_default=False)
    ] = None,
    token: AdminToken = None,
    as_json: Json = False,
) -> None:
    """Show every action that a token authorised, oldest first.

    For example: dither audit --collection k3xw8c2nqa
    """
    with Admin(url, token) as admin:
        rows = list(admin.audit(collection))
    if as_json:
        print_json({"audit": rows})
        return
    shown = [
        (one.get("at"), one.get("what"), one.get("by"), one.get("collection"), _text(one.get("facts"))) for one in rows
    ]
    print_table(("AT", "WHAT", "BY", "COLLECTION", "BESIDE"), shown)


def _text(facts: object) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items()) if isinstance(facts, dict) else ""
