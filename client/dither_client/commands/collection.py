"""Create, list, show, open, pause, close and delete collections, and invite respondents.

For example: dither collection create wages.json
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from dither_client.addresses import collection_path
from dither_client.admin import Admin
from dither_client.commands import _deletion
from dither_client.commands._shared import (
    AdminToken,
    CollectionId,
    Json,
    OptionalToken,
    Url,
    console,
    fail,
    print_json,
    print_table,
    read_input,
)
from dither_client.errors import Problem
from dither_client.mechanisms.epsilon import epsilon_text
from dither_client.posterior.names import term_text
from dither_client.protocol.messages import parse_terms
from dither_client.tables.file_errors import json_object, unknown_field
from dither_client.transport.json_api import COLLECTIONS_PER_PAGE, Api

__all__ = ["app"]

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)


@app.command()
def create(
    file: Annotated[
        str, typer.Argument(metavar="FILE|-", help="The specification, a JSON object; - reads standard input.")
    ],
    url: Url,
    token: AdminToken = None,
    as_json: Json = False,
) -> None:
    """Create a collection from its specification.

    For example: echo '{"name": "Wages", "family": "normal", "transform": "log", "epsilon": 1}' |
    dither collection create -
    """
    spec, name = read_input(file), "standard input" if file == "-" else file
    fields = json_object(spec, name)
    with Admin(url, token) as admin:
        try:
            terms = admin.create_collection(spec)
        except Problem as error:
            if unknown := [field for field in fields if error.fields and field not in error.fields]:
                fail(f"{name} has {unknown_field(unknown[0], error.fields)}", 2)
            raise
    _print_terms(terms, as_json)


@app.command("list")
def list_(url: Url, token: OptionalToken = None, as_json: Json = False) -> None:
    """List the collections of a server.

    For example: dither collection list --url https://example.org
    """
    with Api(url, token) as api:
        pages = api.pages("/v1/collections", {"limit": COLLECTIONS_PER_PAGE})
        listed = [terms for page in pages for terms in page.get("collections", [])]
    if as_json:
        print_json({"collections": listed})
        return
    rows = [
        (
            c.id,
            c.name,
            c.state,
            c.family,
            c.transform,
            epsilon_text(c.epsilon),
            c.rho and epsilon_text(c.rho),
            "" if c.answers is None else c.answers,
        )
        for c in map(parse_terms, listed)
    ]
    print_table(("ID", "NAME", "STATE", "FAMILY", "TRANSFORM", "ε", "ρ", "ANSWERS"), rows)


@app.command()
def show(collection: CollectionId, url: Url, token: OptionalToken = None, as_json: Json = False) -> None:
    """Show a collection's terms.

    For example: dither collection show k3xw8c2nqa --json
    """
    with Api(url, token) as api:
        _print_terms(api.get(collection_path(collection)), as_json)


@app.command("open")
def open_(collection: CollectionId, url: Url, token: AdminToken = None, as_json: Json = False) -> None:
    """Open a collection: tickets are issued and answers are accepted.

    For example: dither collection open k3xw8c2nqa
    """
    _set_state(collection, "open", url, token, as_json)


@app.command()
def pause(collection: CollectionId, url: Url, token: AdminToken = None, as_json: Json = False) -> None:
    """Pause a collection: no tickets are issued; answers to earlier tickets are still accepted.

    For example: dither collection pause k3xw8c2nqa
    """
    _set_state(collection, "paused", url, token, as_json)


@app.command()
def close(collection: CollectionId, url: Url, token: AdminToken = None, as_json: Json = False) -> None:
    """Close a collection permanently.

    For example: dither collection close k3xw8c2nqa
    """
    _set_state(collection, "closed", url, token, as_json)


@app.command()
def invite(
    collection: CollectionId,
    count: Annotated[int, typer.Option(min=1, help="The number of invitations to create.")],
    url: Url,
    out: Annotated[
        Path | None,
        typer.Option(help="A new file for the codes, which only you may read; by default standard output."),
    ] = None,
    links: Annotated[
        bool, typer.Option("--links", help="Links to the page for respondents with the codes, instead of the codes.")
    ] = False,
    token: AdminToken = None,
    as_json: Json = False,
) -> None:
    """Create invitations and print their codes or links, one per line.

    Each code gets one ticket. They are shown only now; the server keeps only hashes.

    For example: dither collection invite k3xw8c2nqa --count 500 --out codes.txt
    """
    with Admin(url, token) as admin:
        codes = admin.invite(collection, count)
        if links:
            codes = (f"{_answer_page(url, collection)}#{code}" for code in codes)
        if out is not None:
            if out.exists():
                fail(f"{out} already exists: name a new file", 2)
            _write_codes(codes, out)
        elif as_json:
            print_json({"invitations": list(codes)})
        else:
            for code in codes:
                typer.echo(code)
    if out is not None:
        if as_json:
            print_json({"file": str(out), "made": count})
        else:
            console.print(f"{count:,} {'links' if links else 'codes'} are in {out}.")


@app.command()
def invitations(collection: CollectionId, url: Url, token: AdminToken = None, as_json: Json = False) -> None:
    """Count the invitations that were created, and those that were redeemed.

    For example: dither collection invitations k3xw8c2nqa
    """
    with Admin(url, token) as admin:
        data = admin.invitations(collection)
    if as_json:
        print_json(data)
    else:
        print_table(("MADE", "REDEEMED"), [(data.get("made"), data.get("redeemed"))])


_deletion.add_commands(app)


def _answer_page(url: str, collection: str) -> str:
    """Where people answer. Browsers send nobody what follows a #, and the page takes a code from there."""
    return f"{url.rstrip('/')}/collections/{quote(collection, safe='')}/answer"


def _write_codes(codes: Iterator[str], out: Path) -> None:
    """Writes codes to a new file as they arrive. The file is opened first, since unwritten codes are lost."""
    with os.fdopen(os.open(out, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        try:
            file.writelines(f"{code}\n" for code in codes)
        finally:
            written = file.tell()
            if not written:
                out.unlink()


def _set_state(collection: str, state: str, url: str, token: str | None, as_json: bool) -> None:
    with Admin(url, token) as admin:
        _print_terms(admin.set_state(collection, state), as_json)


def _print_terms(terms: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(terms)
    else:
        print_table(("TERM", "VALUE"), [(name, term_text(term)) for name, term in terms.items() if term is not None])
