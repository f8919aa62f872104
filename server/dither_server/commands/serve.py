"""Serve collections over HTTP, from an SQLite file or PostgreSQL."""

import sys
from typing import Annotated

import typer

from dither_client.commands._shared import Json, fail, print_json
from dither_server.errors import StartRefused
from dither_server.serving import serve
from dither_server.settings import load_settings

__all__ = ["app"]

EXTRA = "server"

app = typer.Typer(add_completion=False)


@app.command()
def run(
    host: Annotated[str | None, typer.Option(help="The address to listen on; 127.0.0.1 unless set.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="The port to listen on; 8000 unless set, 0 takes a free one.")
    ] = None,
    database: Annotated[
        str | None, typer.Option(help="The database's URL; the SQLite file dither.sqlite in this folder unless set.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Serve collections over HTTP. The first start creates the database, and writes an admin's token to a file.

    Every setting is an environment variable; the options here take precedence. The ones most often needed are
    DITHER_SECRET, DITHER_ADMIN_TOKEN, DITHER_PUBLIC_URL (the address that people use) and DITHER_TRUSTED_PROXIES. The
    page for operators lists all of them, with their defaults; unknown DITHER_ variables are refused.

    With --json it prints {"url": …} once it accepts requests. The log goes to standard error.

    For example: dither serve --port 8080 --database sqlite:///survey.sqlite
    """
    try:
        serve(load_settings(host=host, port=port, database=database), _print_url if as_json else None)
    except StartRefused as error:
        fail(str(error), 2)


def _print_url(url: str) -> None:
    print_json({"url": url})
    sys.stdout.flush()
