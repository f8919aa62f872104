"""The people whom `dither simulate` asks, by the kind of the collection."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dither_client import Transform
from dither_client.commands._shared import fail
from dither_client.mechanisms.bounds import ANYTHING, Bounds
from dither_estimator.families import Family, FloatArray
from dither_estimator.specification.fields import NONPARAMETRIC, read_family
from dither_estimator.specification.specification import Specification
from dither_server.commands import _simulate_options as options
from dither_server.simulate.by_component import draw_people_of_components
from dither_server.simulate.by_group import categories_by_group, draw_groups, members_by_group
from dither_server.simulate.by_period import draw_periods, parse_walk
from dither_server.simulate.choices import ChooseBy, draw_choices
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
    shares_of,
)

__all__ = ["Asked", "Drawing", "People", "draw_people"]

_NORMAL = read_family("normal")
_HOW_MANY = "give the number of respondents with --respondents"


@dataclass(frozen=True)
class Asked:
    """The collection to simulate.

    `fields` create a new one, and are the terms of an existing one; of that, `specification` is None unless people have
    several numbers or groups.
    """

    family: str
    transform: Transform
    epsilon_choices: tuple[Fraction, ...]
    fields: Mapping[str, Any]
    specification: Specification | None
    categories: tuple[str, ...] = ()
    bounds: Bounds = ANYTHING


@dataclass(frozen=True)
class Drawing:
    """The options that say who the people are, each as it was given."""

    family: options.Family = None
    transform: options.Transform = None
    categories: options.Categories = None
    groups: options.Groups = None
    truth: options.Truth = None
    periods: options.Periods = None
    walk: options.Walk = None
    correlation: options.Correlation = None
    data: options.Data = None
    column: options.Column = None
    respondents: options.Respondents = None
    seed: options.Seed = None


@dataclass(frozen=True)
class People:
    """People in the order in which they are asked."""

    values: FloatArray = field(repr=False)
    """The value that each one's device holds, or a row of several numbers."""
    truth: Mapping[str, Any]
    """The truth as the report has it."""
    in_table: Mapping[str, float] = field(default_factory=dict)
    """The part of the truth that the report's table sets beside the posterior."""
    labels: Sequence[str] | None = field(default=None, repr=False)
    """The label of each one's group or period."""
    chosen: Sequence[Fraction] | None = field(default=None, repr=False)
    """The ε that each has chosen."""


def draw_people(
    asked: Asked, drawing: Drawing, choose_by: ChooseBy, seeds: tuple[np.random.SeedSequence, ...]
) -> People:
    """The people of a collection, drawn with the first of `seeds`, and what they choose with the second.

    Raises `InvalidPopulation`, and ends the command where an option is missing.
    """
    people = _drawn(np.random.default_rng(seeds[0]), asked, drawing)
    check_bounds(people.values, asked.bounds)
    by = people.values if people.values.ndim == 1 else people.values[:, 0]
    chosen = draw_choices(np.random.default_rng(seeds[1]), by, asked.epsilon_choices, choose_by)
    return replace(people, chosen=chosen)


def _drawn(rng: np.random.Generator, asked: Asked, drawing: Drawing) -> People:
    specification = asked.specification
    if specification is not None:
        if specification.components:
            return _of_components(rng, specification, drawing)
        if drawing.periods is not None:
            return _of_periods(rng, specification, drawing, drawing.periods)
    if drawing.correlation is not None:
        fail(
            "--correlation is of the components of a collection: name one that has some with --spec or --collection", 2
        )
    if specification is not None and specification.groups is not None:
        return _of_groups(rng, specification, drawing)
    people = _population(rng, asked, drawing)
    # From a file on the scale `log`, parameters are those of logarithms, which nobody has asked for.
    given = {} if drawing.truth is None and asked.transform == "log" else people.truth
    return People(people.values, people.truth, {**given, **({} if asked.categories else described(people.values))})


def _of_components(rng: np.random.Generator, specification: Specification, drawing: Drawing) -> People:
    components = specification.components
    names = ", ".join(each.name for each in components)
    free = sum(not each.specification.parametric for each in components)
    truth, respondents = _truth_and_number(drawing, f"the parameters of each of {names}")
    if drawing.family is not None and not free:
        fail(f"each of {names} has a family of its own: leave --family out", 2)
    drawn = _families(drawing.family, NONPARAMETRIC, free, "number that has none")
    held = draw_people_of_components(rng, specification, drawn, truth, drawing.correlation or 0.0, respondents)
    return People(held.values, held.described)


def _of_periods(rng: np.random.Generator, specification: Specification, drawing: Drawing, periods: int) -> People:
    truth, respondents = _truth_and_number(drawing, "one or more sets of parameters")
    [family] = _families(drawing.family, specification.family, 1, "population")
    if specification.period is None:
        fail("--periods needs a collection with a period: the file of --spec has none", 2)
    walk, transform, panel = parse_walk(drawing.walk, family), specification.transform, specification.panel
    people = draw_periods(rng, family, truth, specification.period, periods, walk, transform, respondents, panel)
    # The posterior is that of the newest period with drift, and of all periods as one without.
    newest, labels = max(people.labels), np.array(people.labels)
    there = people.values[labels == newest] if specification.drift else people.values
    same = specification.drift or all(each == people.truth[newest] for each in people.truth.values())
    known = {**(people.truth[newest] if same else {}), **described(there)}
    return People(people.values, people.truth, known, people.labels)


def _of_groups(rng: np.random.Generator, specification: Specification, drawing: Drawing) -> People:
    assert specification.groups is not None
    labels = specification.groups.labels
    if specification.categories:
        respondents = _number_of_categorical(drawing.data, drawing.respondents)
        draws = categories_by_group(rng, specification.categories, drawing.truth, labels)
    else:
        truth, respondents = _truth_and_number(
            drawing, f"the parameters of each of the {len(labels)} groups, or of all"
        )
        families = _families(drawing.family, specification.family, len(labels), "group")
        decimals = specification.support.decimals
        draws = members_by_group(rng, families, truth, labels, specification.transform, decimals)
    people = draw_groups(rng, draws, respondents)
    if specification.groups.shares is not None:  # the whole population is not the people who answer
        known = {}
    elif specification.categories:
        known = shares_of(people.values, specification.categories)
    else:
        known = described(people.values)
    return People(people.values, people.truth, known, people.labels)


def _truth_and_number(drawing: Drawing, needed: str) -> tuple[str, int]:
    """The text of `--truth` and how many people there are; `needed` says what the text has, one after the other."""
    form = f"{needed}, separated by semicolons"
    if drawing.data is not None:
        fail(f"here people are not taken from a file: in place of --data give --truth, with {form}", 2)
    if drawing.truth is None:
        fail(f"give --truth, with {form}", 2)
    if drawing.respondents is None:
        fail(_HOW_MANY, 2)
    return drawing.truth, drawing.respondents


def _families(text: str | None, own: Family, count: int, each: str) -> list[Family]:
    """The families that `count` parts of the people are drawn from: `text` names one for all, or one for `each`.

    Without a text that is the collection's `own`. Raises `SpecificationError`, and ends the command for another number.
    """
    drawn = [_drawable(read_family(part.strip())) for part in text.split(",")] if text else [_drawable(own)]
    if len(drawn) not in (1, count):
        many = f", or {count} separated by commas, one for each {each}" if count > 1 else f", for the {each}"
        fail(f"--family must name one family{many}", 2)
    return drawn * count if len(drawn) == 1 else drawn


def _drawable(family: Family) -> Family:
    """The family to draw numbers from: the normal one where none is assumed. Ends the command for categories."""
    if family is NONPARAMETRIC:
        return _NORMAL
    if not family.parameters:
        fail("--family must name a family of numbers, such as normal or gamma: the collection asks for numbers", 2)
    return family


def _population(rng: np.random.Generator, asked: Asked, drawing: Drawing) -> Population:
    truth, data, respondents = drawing.truth, drawing.data, drawing.respondents
    if asked.categories:
        size = _number_of_categorical(data, respondents)
        return draw_categories(rng, asked.categories, parse_shares(truth, asked.categories), size)
    found = read_family(drawing.family or asked.family)
    if (truth is None) == (data is None):
        fail("give the population with either --truth or --data", 2)
    if data is not None:
        return read_population(rng, data, drawing.column, found, asked.transform, respondents)
    if respondents is None:
        fail(_HOW_MANY, 2)
    drawn = _drawable(found)
    shapeless = asked.family == NONPARAMETRIC.name
    decimals = asked.fields.get("decimals") if shapeless else None
    people = draw_population(rng, drawn, parse_truth(truth or "", drawn), asked.transform, respondents, decimals)
    return replace(people, truth=quantiles_of(people.values)) if shapeless else people


def _number_of_categorical(data: Path | None, respondents: int | None) -> int:
    if data is not None:
        fail("give the shares of the categories with --truth: a file of texts is not read", 2)
    if respondents is None:
        fail(_HOW_MANY, 2)
    return respondents
