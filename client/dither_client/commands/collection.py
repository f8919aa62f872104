"""Make, list, show, open, pause and close collections."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from dither_client.addresses import collection_path
from dither_client.admin import Admin
from dither_client.api import Api
from dither_client.commands._shared import Json, Token, Url, print_json, print_table, read_input
from dither_client.errors import BadResponse
from dither_client.messages import decode_json, parse_terms

__all__ = ["app"]

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)

_Id = Annotated[str, typer.Argument(metavar="ID", help="The collection.", show_default=False)]


@app.command()
def create(
    file: Annotated[
        str, typer.Argument(metavar="FILE|-", help="The specification, a JSON object; - reads standard input.")
    ],
    url: Url,
    token: Token = None,
    as_json: Json = False,
) -> None:
    """Create a collection from its specification.

    For example: echo '{"name": "Wages", "family": "normal", "transform": "log", "epsilon": 1}' |
    dither collection create -
    """
    spec = read_input(file)
    try:
        proper = isinstance(decode_json(spec), dict)
    except BadResponse:
        proper = False
    if not proper:
        raise ValueError(f"{'standard input' if file == '-' else file} is not a JSON object")
    with Admin(url, token) as admin:
        _print_terms(admin.create_collection(spec), as_json)


@app.command("list")
def list_(url: Url, token: Token = None, as_json: Json = False) -> None:
    """List the collections of a server.

    For example: dither collection list --url https://example.org
    """
    with Api(url, token) as api:
        data = api.get("/v1/collections")
    if as_json:
        print_json(data)
        return
    collections = [parse_terms(terms) for terms in data.get("collections", [])]
    rows = [
        (c.id, c.name, c.state, c.family, c.transform, float(c.epsilon), c.rho and float(c.rho), c.answers)
        for c in collections
    ]
    print_table(("ID", "NAME", "STATE", "FAMILY", "TRANSFORM", "ε", "ρ", "ANSWERS"), rows)


@app.command()
def show(collection: _Id, url: Url, token: Token = None, as_json: Json = False) -> None:
    """Show a collection's terms.

    For example: dither collection show wages --json
    """
    with Api(url, token) as api:
        _print_terms(api.get(collection_path(collection)), as_json)


@app.command("open")
def open_(collection: _Id, url: Url, token: Token = None, as_json: Json = False) -> None:
    """Open a collection: tickets are issued and answers are taken.

    For example: dither collection open wages
    """
    _set_state(collection, "open", url, token, as_json)


@app.command()
def pause(collection: _Id, url: Url, token: Token = None, as_json: Json = False) -> None:
    """Pause a collection: no tickets are issued, answers to earlier tickets are still taken.

    For example: dither collection pause wages
    """
    _set_state(collection, "paused", url, token, as_json)


@app.command()
def close(collection: _Id, url: Url, token: Token = None, as_json: Json = False) -> None:
    """Close a collection for good.

    For example: dither collection close wages
    """
    _set_state(collection, "closed", url, token, as_json)


def _set_state(collection: str, state: str, url: str, token: str | None, as_json: bool) -> None:
    with Admin(url, token) as admin:
        _print_terms(admin.set_state(collection, state), as_json)


def _print_terms(terms: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(terms)
    else:
        print_table(("TERM", "VALUE"), [term for term in terms.items() if term[1] is not None])
