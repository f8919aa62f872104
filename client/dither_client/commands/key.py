"""List and rotate the keys that a server's tickets are signed with.

For example: dither key list
"""

from typing import Any

import typer

from dither_client.admin import Admin
from dither_client.commands._shared import AdminToken, Json, Url, print_json, print_table

__all__ = ["app"]

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)


@app.command("list")
def list_(url: Url, token: AdminToken = None, as_json: Json = False) -> None:
    """List the keys by number and state; the keys themselves are never shown.

    For example: dither key list
    """
    with Admin(url, token) as admin:
        data = admin.keys()
    _show(data, as_json)


@app.command()
def rotate(url: Url, token: AdminToken = None, as_json: Json = False) -> None:
    """Create the next key now. It signs tickets three minutes later, when every server process knows it.

    For example: dither key rotate
    """
    with Admin(url, token) as admin:
        data = admin.rotate_keys()
    _show(data, as_json)


def _show(data: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(data)
        return
    columns = ("number", "state", "signs_from", "counts_until")
    rows = [[one.get(column) for column in columns] for one in data.get("keys", [])]
    print_table([column.upper().replace("_", " ") for column in columns], rows)
