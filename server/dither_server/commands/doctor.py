"""Check an installation, and say what to fix."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from dither_client.commands._shared import Json, fail, print_json
from dither_client.errors import InvalidAddress
from dither_server.doctor.database import examine_database, examine_secret
from dither_server.doctor.findings import Finding, mend
from dither_server.doctor.machine import examine_ledger, examine_packages, examine_python, examine_threads
from dither_server.doctor.network import examine_port, examine_server
from dither_server.errors import StartRefused
from dither_server.settings import Settings, load_settings

__all__ = ["app"]

EXTRA = "server"

app = typer.Typer(add_completion=False)

_STYLES = {"ok": "green", "mend": "bold red", "unknown": "yellow"}


@app.command()
def run(
    host: Annotated[str | None, typer.Option(help="The address to listen on, as for dither serve.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="The port to listen on, as for dither serve.")
    ] = None,
    database: Annotated[str | None, typer.Option(help="The database's URL, as for dither serve.")] = None,
    url: Annotated[
        str | None, typer.Option(help="The URL of a running server, as respondents reach it.", show_default="none")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="A respondent's ledger.", show_default="in your user data folder")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check an installation, and say what to fix. It changes nothing: no migration, no file, no answer.

    Checks Python and packages, the settings (the same variables as for dither serve), the secret, the database and its
    schema, clocks, disk latency, the port, BLAS threads, the ledger's folder and, with --url, a running server. The
    exit status is 0 if everything is well, and 1 if there is something to fix.

    For example: dither doctor --database sqlite:///survey.sqlite

    For example: dither doctor --url https://survey.example.org --json
    """
    try:
        findings = list(_examination(host, port, database, url, ledger))
    except InvalidAddress as error:
        fail(str(error), 2)
    sick = [finding for finding in findings if finding.state == "mend"]
    if as_json:
        print_json({"ok": not sick, "findings": [finding.to_json() for finding in findings]})
    else:
        _print(findings, len(sick))
    raise typer.Exit(1 if sick else 0)


def _examination(
    host: str | None, port: int | None, database: str | None, url: str | None, ledger: Path | None
) -> Iterator[Finding]:
    yield from examine_python()
    yield from examine_packages()
    yield from examine_threads()
    yield from examine_ledger(ledger)
    try:
        settings: Settings | None = load_settings(host=host, port=port, database=database)
    except StartRefused as error:
        settings = None
        yield mend("settings", "refused", str(error))
    if settings is not None:
        yield from examine_database(settings.database, settings.secret)
        yield from examine_secret(settings)
        yield from examine_port(settings.host, settings.port)
    if url is not None:
        yield from examine_server(url)


def _print(findings: list[Finding], sick: int) -> None:
    table = Table("CHECK", "", "FOUND", "WHAT TO DO", box=None, pad_edge=False)
    for finding in findings:
        state = f"[{_STYLES[finding.state]}]{finding.state}[/]"
        table.add_row(finding.check, state, _plain(finding.found), _plain(finding.advice or ""))
    out = Console(highlight=False)
    out.print(table)
    out.print(f"\n{sick} thing{'' if sick == 1 else 's'} to fix." if sick else "\nEverything is well.")


def _plain(text: str) -> str:
    return text.replace("[", r"\[")
