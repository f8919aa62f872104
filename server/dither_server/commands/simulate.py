"""Simulate a collection's respondents: over HTTP, to load a server, or in this process.

The command's function has a parameter for each option, since Typer reads the options from its signature.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console
from threadpoolctl import threadpool_limits

from dither_client import Admin, Transform
from dither_client.addresses import collection_path
from dither_client.commands._shared import Json, Token, console, fail, print_json
from dither_client.mechanisms.bounds import ANYTHING, Bounds
from dither_client.protocol.messages import parse_terms
from dither_client.transport.json_api import Api
from dither_estimator.learning.checked_learner import CheckedLearner
from dither_estimator.learning.grouped_learner import GroupedLearner
from dither_estimator.learning.learners import new_learner
from dither_estimator.specification.fields import CATEGORICAL, NONPARAMETRIC, read_family
from dither_estimator.specification.specification import Specification
from dither_server.commands import _simulate_options as options
from dither_server.commands._progress import progress_of
from dither_server.simulate.behaviours import Behaviours, Roles, draw_roles
from dither_server.simulate.by_group import draw_groups, simulate_groups
from dither_server.simulate.choices import ChooseBy, check_choosing, draw_choices
from dither_server.simulate.in_process import simulate_in_process
from dither_server.simulate.outcome import Outcome
from dither_server.simulate.over_http import simulate_over_http
from dither_server.simulate.population import (
    Population,
    check_bounds,
    described,
    draw_categories,
    draw_population,
    parse_shares,
    parse_truth,
    quantiles_of,
    read_population,
)
from dither_server.simulate.report import report_json, report_table
from dither_server.simulate.scenario import read_prior, read_spec, spec_from_options

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
        "transform": transform, "groups": groups,
    }  # fmt: skip
    _refuse_together("--spec", spec, {**fields, "collection": collection})
    _refuse_together("--collection", collection, {**fields, "categories": None})
    if in_process:
        over_http = {"collection": collection, "concurrency": concurrency, "retry": retry, "late": late}
        _refuse_together("--in-process", in_process, over_http)
    elif outstanding is not None:
        fail("--outstanding needs --in-process: over HTTP, --concurrency sets how many answer at the same time", 2)
    elif url is None:
        fail("name the server with --url, or simulate with --in-process", 2)
    behaviours = Behaviours(drop_out, drop_out_by, retry, late, poison)
    seeds = np.random.SeedSequence(seed).spawn(5)
    usual = "normal" if data is None else NONPARAMETRIC.name
    asked = (
        _new(spec, family, usual, fields) if collection is None or url is None else _existing(url, token, collection)
    )
    if categories and collection and set(_texts(categories)) != set(asked.categories):
        fail("--categories must be those of --collection, or be left out", 2)
    if asked.specification is not None and (caution := asked.specification.caution):
        console.print(f"Warning: {caution}.")
    check_choosing(choose_by, asked.epsilon_choices)
    if asked.specification is not None and asked.specification.groups is not None:
        _by_group(asked.specification, in_process, family, truth, respondents, seeds, as_json)
        return
    people = _population(np.random.default_rng(seeds[0]), asked, family, truth, data, column, respondents)
    check_bounds(people, asked.bounds)
    roles = draw_roles(np.random.default_rng(seeds[1]), behaviours, len(people.values))
    chosen = draw_choices(np.random.default_rng(seeds[4]), people.values, asked.epsilon_choices, choose_by)
    crowd = _Crowd(people, roles, chosen)
    if url is None or in_process:
        outcome = _in_process(asked, crowd, seeds[2], seeds[3], outstanding or 1)
    else:
        noise = None if seed is None else int(seeds[2].generate_state(1)[0])
        asked_at = collection or _create(url, token, asked.fields)
        outcome = _over_http(url, token, asked_at, crowd, concurrency or _CONCURRENCY, noise)
    _report(people, outcome, choose_by, as_json)


@dataclass(frozen=True)
class _Asked:
    """The collection to simulate. `fields` create a new one; for an existing one, `specification` is None."""

    family: str
    transform: Transform
    epsilon_choices: tuple[Fraction, ...]
    fields: Mapping[str, Any]
    specification: Specification | None
    categories: tuple[str, ...] = ()
    bounds: Bounds = ANYTHING


def _new(spec: str | None, family: str | None, usual: str, options: Mapping[str, Any]) -> _Asked:
    """The collection that a file or options describe, of the `usual` family unless they name one."""
    if spec is not None:
        fields, specification = read_spec(spec)
    else:
        given = dict(options)
        prior, choices = given.pop("prior"), given.pop("epsilon-choices")
        listed, labels = given.pop("categories"), given.pop("groups")
        given["groups"] = {"name": "group", "labels": _texts(labels)} if labels else None
        given["categories"] = _texts(listed) if listed else None
        given["family"] = family or (CATEGORICAL.name if listed else usual)
        given["prior"] = read_prior(prior) if prior else None
        given["epsilon_choices"] = [choice.strip() for choice in choices.split(",")] if choices else None
        default = (given["epsilon_choices"] or ["1"])[0]
        given["epsilon"] = options["epsilon"] or (None if options["rho"] and not choices else default)
        fields, specification = spec_from_options(given)
    name, choices = specification.family.name, specification.epsilon_choices
    bounds = Bounds(specification.support.minimum, specification.support.maximum)
    return _Asked(name, specification.transform, choices, fields, specification, specification.categories, bounds)


def _by_group(
    specification: Specification,
    in_process: bool,
    family: str | None,
    truth: str | None,
    respondents: int | None,
    seeds: Sequence[np.random.SeedSequence],
    as_json: bool,
) -> None:
    """Simulates a collection with groups, in this process."""
    found = read_family(family or specification.family.name)
    if not in_process or truth is None or respondents is None or not found.parameters:
        fail("groups need --in-process, a family, --truth and --respondents", 2)
    assert specification.groups is not None
    labels, transform = specification.groups.labels, specification.transform
    people = draw_groups(np.random.default_rng(seeds[0]), found, truth, labels, transform, respondents)
    learner, rng = GroupedLearner(specification, seeds[3]), np.random.default_rng(seeds[2])
    with progress_of(respondents) as progress, threadpool_limits(1, user_api="blas"):
        outcome = simulate_groups(learner, people, rng, progress)
    if as_json:
        print_json(report_json(respondents, people.truth, outcome))
    else:
        Console(highlight=False, markup=False).print(report_table(respondents, {}, outcome))
    if outcome.interrupted:
        fail("interrupted: the report covers what was done until then")


def _texts(listed: str) -> list[str]:
    return [text.strip() for text in listed.split(",")]


def _existing(url: str, token: str | None, collection: str) -> _Asked:
    with Api(url, token) as api:
        terms = parse_terms(api.get(collection_path(collection), exact=True))
    transform: Transform = "log" if terms.transform == "log" else "identity"
    return _Asked(terms.family, transform, terms.epsilon_choices, {}, None, terms.categories, terms.price.bounds)


def _create(url: str, token: str | None, fields: Mapping[str, Any]) -> str:
    if token is None:
        fail("a new collection needs an admin's token: give it with --token or DITHER_TOKEN", 2)
    with Admin(url, token) as admin:
        return str(admin.create_collection(fields)["id"])


def _population(
    rng: np.random.Generator,
    asked: _Asked,
    family: str | None,
    truth: str | None,
    data: Path | None,
    column: str | None,
    respondents: int | None,
) -> Population:
    if asked.categories:
        return _people_of_categories(rng, asked.categories, truth, data, respondents)
    found = read_family(family or asked.family)
    if (truth is None) == (data is None):
        fail("give the population with either --truth or --data", 2)
    if data is not None:
        return read_population(rng, data, column, found, asked.transform, respondents)
    if respondents is None:
        fail("give the number of respondents with --respondents", 2)
    if not found.parameters:
        fail("draw the population from a family that --family names, or take it from a file with --data", 2)
    people = draw_population(rng, found, parse_truth(truth or "", found), asked.transform, respondents)
    return replace(people, truth=quantiles_of(people.values)) if asked.family == NONPARAMETRIC.name else people


def _people_of_categories(
    rng: np.random.Generator, categories: tuple[str, ...], truth: str | None, data: Path | None, respondents: int | None
) -> Population:
    if data is not None:
        fail("give the shares of the categories with --truth: a file of texts is not read", 2)
    if respondents is None:
        fail("give the number of respondents with --respondents", 2)
    return draw_categories(rng, categories, parse_shares(truth, categories), respondents)


@dataclass(frozen=True)
class _Crowd:
    """The respondents: their values, their roles, and the ε that each has chosen, or None without a choice."""

    people: Population
    roles: Roles
    chosen: Sequence[Fraction] | None


def _in_process(
    asked: _Asked, crowd: _Crowd, noise: np.random.SeedSequence, learning: np.random.SeedSequence, outstanding: int
) -> Outcome:
    assert asked.specification is not None
    make = new_learner if asked.specification.misfit_check is None else CheckedLearner
    learner = make(asked.specification, learning, outstanding=outstanding)
    rng = np.random.default_rng(noise)
    with progress_of(len(crowd.people.values)) as progress, threadpool_limits(1, user_api="blas"):
        return simulate_in_process(learner, crowd.people.values, crowd.roles, rng, progress, crowd.chosen, outstanding)


def _over_http(
    url: str, token: str | None, collection: str, crowd: _Crowd, concurrency: int, noise: int | None
) -> Outcome:
    values, roles = crowd.people.values, crowd.roles
    with progress_of(len(values)) as progress:
        return simulate_over_http(
            url, token, collection, values, roles, concurrency, noise, progress, choices=crowd.chosen
        )


def _refuse_together(name: str, given: object, others: Mapping[str, object]) -> None:
    """Ends the command if the option `name` is given together with any of `others`."""
    clash = [other for other, value in others.items() if value]
    if given and clash:
        fail(f"{name} cannot go with {', '.join(f'--{other}' for other in clash)}", 2)


def _report(people: Population, outcome: Outcome, choose_by: ChooseBy, as_json: bool) -> None:
    asked = len(people.values)
    if as_json:
        print_json(report_json(asked, people.truth, outcome, choose_by))
    else:
        truth = {**people.truth, **({} if outcome.posterior.categories else described(people.values))}
        Console(highlight=False, markup=False).print(report_table(asked, truth, outcome, choose_by))
    if outcome.interrupted:
        fail("interrupted: the report covers what was done until then")
    if not outcome.sound:
        fail("not every answer was stored exactly once: see the failures and mismatches of the report")
