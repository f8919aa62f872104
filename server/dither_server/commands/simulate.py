"""Simulate a collection's respondents: over HTTP, to load a server, or in this process."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import typer
from rich.console import Console

from dither_client.commands._grouped import grouped_options
from dither_client.commands._shared import Json, console, fail, print_json
from dither_estimator.specification.caution import caution
from dither_estimator.specification.specification import Specification
from dither_server.commands._simulate_options import DropOut, DropOutBy, Late, Poison, Retry
from dither_server.commands._simulated_collection import (
    NO_PANEL_OVER_HTTP,
    CollectionOptions,
    new_collection,
    texts_of,
)
from dither_server.commands._simulated_people import Drawing, People, draw_people
from dither_server.commands._simulated_place import Place, refuse_together
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.choices import ChooseBy, check_choosing
from dither_server.simulate.outcome import Outcome
from dither_server.simulate.report import report_json, report_table

__all__ = ["app"]

EXTRA = "loadgen"

app = typer.Typer(add_completion=False)


@app.command()
@grouped_options
def simulate(
    drawing: Drawing,
    options: CollectionOptions,
    place: Place,
    drop_out: DropOut = 0.0,
    drop_out_by: DropOutBy = "chance",
    retry: Retry = 0.0,
    late: Late = 0.0,
    poison: Poison = 0.0,
    as_json: Json = False,
) -> None:
    """Ask a simulated population, and compare the posterior with the truth.

    Values come from a family (--truth) or from a file (--data). With --url each respondent runs the real client's
    protocol, in a new collection (which needs an admin's token) or in --collection. With --in-process only the
    estimator runs. From a file the distribution itself is learnt, whatever its shape, unless --family names a family.
    Shares are from 0 to 1. Ctrl-C ends the simulation early and reports what was done.

    For example: dither simulate --truth mu=50,sigma=3.16 --respondents 1000 --epsilon 1 --in-process --seed 1

    or, to load a server: dither simulate --data wages.csv --column wage --spec wages.json --url http://127.0.0.1:8000
    """
    _check_together(drawing, options, place)
    place.check({"retry": retry, "late": late})
    behaviours = Behaviours(drop_out, drop_out_by, retry, late, poison)
    asked = place.existing(drawing) or new_collection(options, drawing)
    if drawing.categories and place.collection and set(texts_of(drawing.categories)) != set(asked.categories):
        fail("--categories must be those of --collection, or be left out", 2)
    check_choosing(options.choose_by, asked.epsilon_choices)
    if asked.specification is not None:
        _check_specification(asked.specification, place.in_process, drawing.periods)
    seeds = np.random.SeedSequence(drawing.seed).spawn(5)
    people = draw_people(asked, drawing, options.choose_by, (seeds[0], seeds[4]))
    roles = draw_roles(np.random.default_rng(seeds[1]), behaviours, len(people.values))
    outcome = place.simulate(asked, people, roles, (seeds[2], seeds[3]), seeded=drawing.seed is not None)
    _report(people, outcome, options.choose_by, asked.fields, as_json)


def _check_together(drawing: Drawing, options: CollectionOptions, place: Place) -> None:
    """Ends the command for options that cannot go together."""
    given = options.given(drawing)
    refuse_together("--spec", options.spec, {**given, "collection": place.collection, "periods": None})
    refuse_together("--collection", place.collection, {**given, "categories": None}, "the collection has its own")
    others = {name: getattr(drawing, name) for name in ("data", "groups", "categories", "correlation")}
    _check_periods(drawing.periods, drawing.walk, place.in_process, others)


def _check_periods(periods: int | None, walk: str | None, in_process: bool, others: Mapping[str, object]) -> None:
    """Ends the command for options that cannot go with periods, or without them."""
    if periods is not None and not in_process:
        fail(
            "--periods needs --in-process: nobody can tell a server what time it is, so that people who answer over "
            "HTTP all belong to the period in which they do",
            2,
        )
    refuse_together("--periods", periods is not None, others)
    if walk is not None and periods is None:
        fail("--walk needs --periods: it says how the population changes from one to the next", 2)


def _check_specification(specification: Specification, in_process: bool, periods: int | None) -> None:
    """Ends the command for what this kind of collection cannot be simulated with."""
    if warning := caution(specification):
        console.print(f"Warning: {warning}.")
    if not in_process and specification.panel is not None:
        fail(NO_PANEL_OVER_HTTP, 2)
    if in_process and periods is None and specification.period is not None:
        fail("the collection has periods: say with --periods in how many the respondents are asked", 2)


def _report(people: People, outcome: Outcome, choose_by: ChooseBy, words: Mapping[str, Any], as_json: bool) -> None:
    asked = len(people.values)
    if as_json:
        print_json(report_json(asked, people.truth, outcome, choose_by))
    else:
        labels, groups = np.array(people.labels), outcome.posterior.groups or {}
        members = {label: people.values[labels == label] for label in groups}
        table = report_table(asked, people.in_table, outcome, choose_by, words, members)
        Console(highlight=False, markup=False).print(table)
    _fail_unless_whole(outcome)


def _fail_unless_whole(outcome: Outcome) -> None:
    if outcome.interrupted:
        fail("interrupted: the report covers what was done until then")
    if not outcome.sound:
        fail("not every answer was stored exactly once: see the failures and mismatches of the report")
