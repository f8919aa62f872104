"""Simulate a collection's respondents: over HTTP, to load a server, or in this process.

The command's function has a parameter for each option, since Typer reads the options from its signature.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import typer
from rich.console import Console
from threadpoolctl import threadpool_limits

from dither_client.commands._shared import Json, Token, console, fail, print_json
from dither_estimator.learning.any_learner import any_learner
from dither_estimator.learning.checked_learner import CheckedLearner
from dither_estimator.specification.caution import caution
from dither_estimator.specification.fields import NONPARAMETRIC
from dither_estimator.specification.specification import Specification
from dither_server.commands import _simulate_options as options
from dither_server.commands._progress import progress_of
from dither_server.commands._simulated_collection import (
    NO_PANEL_OVER_HTTP,
    create_collection,
    existing_collection,
    new_collection,
    texts_of,
)
from dither_server.commands._simulated_people import Drawing, People, draw_people
from dither_server.simulate.behaviours import Behaviours, Roles, draw_roles
from dither_server.simulate.choices import ChooseBy, check_choosing
from dither_server.simulate.in_process import simulate_in_process
from dither_server.simulate.outcome import Outcome
from dither_server.simulate.over_http import simulate_over_http
from dither_server.simulate.report import report_json, report_table
from dither_server.simulate.respondents import Respondents

__all__ = ["app"]

EXTRA = "loadgen"

app = typer.Typer(add_completion=False)

_CONCURRENCY = 64


@app.command()
def simulate(
    family: options.Family = None,
    transform: options.Transform = None,
    categories: options.Categories = None,
    groups: options.Groups = None,
    truth: options.Truth = None,
    periods: options.Periods = None,
    walk: options.Walk = None,
    correlation: options.Correlation = None,
    data: options.Data = None,
    column: options.Column = None,
    respondents: options.Respondents = None,
    seed: options.Seed = None,
    epsilon: options.Epsilon = None,
    epsilon_choices: options.EpsilonChoices = None,
    choose_by: options.ChooseBy = "chance",
    goal: options.Goal = None,
    policy: options.Policy = None,
    mechanism: options.Mechanism = None,
    rho: options.Rho = None,
    levels: options.Levels = None,
    particles: options.Particles = None,
    prior: options.Prior = None,
    spec: options.Spec = None,
    in_process: options.InProcess = False,
    url: options.LoadedUrl = None,
    token: Token = None,
    collection: options.Collection = None,
    concurrency: options.Concurrency = None,
    scheduler: options.Scheduler = None,
    outstanding: options.Outstanding = None,
    drop_out: options.DropOut = 0.0,
    drop_out_by: options.DropOutBy = "chance",
    retry: options.Retry = 0.0,
    late: options.Late = 0.0,
    poison: options.Poison = 0.0,
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
    fields = {
        "epsilon": epsilon, "epsilon-choices": epsilon_choices, "goal": goal, "policy": policy, "mechanism": mechanism,
        "levels": levels, "particles": particles, "prior": prior, "rho": rho, "categories": categories,
        "transform": transform, "groups": groups, "periods": periods,
    }  # fmt: skip
    _refuse_together("--spec", spec, {**fields, "collection": collection, "periods": None})
    _refuse_together("--collection", collection, {**fields, "categories": None})
    if periods is not None:
        others = {"data": data, "groups": groups, "categories": categories, "correlation": correlation}
        _check_periods(in_process, others)
    if walk is not None and periods is None:
        fail("--walk needs --periods: it says how the population changes from one to the next", 2)
    over_http = {"collection": collection, "concurrency": concurrency, "retry": retry, "late": late}
    _check_place(in_process, url, outstanding, {**over_http, "scheduler": scheduler})
    behaviours = Behaviours(drop_out, drop_out_by, retry, late, poison)
    usual = "normal" if data is None else NONPARAMETRIC.name
    asked = (
        new_collection(spec, family, usual, fields)
        if collection is None or url is None
        else existing_collection(url, token, collection, truth)
    )
    if categories and collection and set(texts_of(categories)) != set(asked.categories):
        fail("--categories must be those of --collection, or be left out", 2)
    check_choosing(choose_by, asked.epsilon_choices)
    if asked.specification is not None:
        _check_specification(asked.specification, in_process, periods)
    drawing = Drawing(family, truth, data, column, respondents, periods, walk, correlation, choose_by)
    seeds = np.random.SeedSequence(seed).spawn(5)
    people = draw_people(asked, drawing, (seeds[0], seeds[4]))
    roles = draw_roles(np.random.default_rng(seeds[1]), behaviours, len(people.values))
    if url is None or in_process:
        assert asked.specification is not None
        outcome = _simulate_in_process(asked.specification, people, roles, outstanding or 1, seeds[2:4])
    else:
        seeded = None if seed is None else int(seeds[2].generate_state(1)[0])
        held = Respondents(people.values, roles, seeded, people.chosen, people.labels)
        identifier = collection or create_collection(url, token, asked.fields)
        with progress_of(len(held)) as progress:
            outcome = simulate_over_http(
                url, token, identifier, held, concurrency or _CONCURRENCY, progress, scheduler=scheduler
            )
    _report(people, outcome, choose_by, asked.fields, as_json)


def _check_periods(in_process: bool, others: Mapping[str, object]) -> None:
    if not in_process:
        fail(
            "--periods needs --in-process: nobody can tell a server what time it is, so that people who answer over "
            "HTTP all belong to the period in which they do",
            2,
        )
    _refuse_together("--periods", True, others)


def _check_place(in_process: bool, url: str | None, outstanding: int | None, over_http: Mapping[str, object]) -> None:
    """Ends the command unless the options say in one way where to simulate."""
    if in_process:
        _refuse_together("--in-process", in_process, over_http)
    elif outstanding is not None:
        fail("--outstanding needs --in-process: over HTTP, --concurrency sets how many answer at the same time", 2)
    elif url is None:
        fail("name the server with --url, or simulate with --in-process", 2)


def _check_specification(specification: Specification, in_process: bool, periods: int | None) -> None:
    """Ends the command for what this kind of collection cannot be simulated with."""
    if warning := caution(specification):
        console.print(f"Warning: {warning}.")
    if not in_process and specification.panel is not None:
        fail(NO_PANEL_OVER_HTTP, 2)
    if in_process and periods is None and specification.period is not None:
        fail("the collection has periods: say with --periods in how many the respondents are asked", 2)


def _simulate_in_process(
    specification: Specification,
    people: People,
    roles: Roles,
    outstanding: int,
    seeds: Sequence[np.random.SeedSequence],
) -> Outcome:
    noise, learning = seeds
    make = any_learner if specification.misfit_check is None else CheckedLearner
    with progress_of(len(people.values)) as progress, threadpool_limits(1, user_api="blas"):
        return simulate_in_process(
            make(specification, learning, outstanding),
            people.values,
            roles,
            np.random.default_rng(noise),
            progress,
            choices=people.chosen,
            labels=people.labels,
            outstanding=outstanding,
        )


def _refuse_together(name: str, given: object, others: Mapping[str, object]) -> None:
    """Ends the command if the option `name` is given together with any of `others`."""
    clash = [other for other, value in others.items() if value]
    if given and clash:
        fail(f"{name} cannot go with {', '.join(f'--{other}' for other in clash)}", 2)


def _report(people: People, outcome: Outcome, choose_by: ChooseBy, words: Mapping[str, Any], as_json: bool) -> None:
    asked = len(people.values)
    if as_json:
        print_json(report_json(asked, people.truth, outcome, choose_by))
    else:
        Console(highlight=False, markup=False).print(report_table(asked, people.in_table, outcome, choose_by, words))
    _fail_unless_whole(outcome)


def _fail_unless_whole(outcome: Outcome) -> None:
    if outcome.interrupted:
        fail("interrupted: the report covers what was done until then")
    if not outcome.sound:
        fail("not every answer was stored exactly once: see the failures and mismatches of the report")
