"""Random collections: a specification, who answers, and how many at once."""

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.random_collections.additions import add
from benchmarks.random_collections.collection import RandomCollection
from benchmarks.random_collections.numbers import Number, draw_number, farthest
from benchmarks.random_collections.truths import Truth

__all__ = ["FIRST_WITH_ADDITIONS", "draw_collection"]

FIRST_WITH_ADDITIONS = 10_000
"""The first seed whose collection may have one of `additions` besides."""

_STRUCTURES = ("plain", "groups", "periods", "components", "categories")
_CHANCES = (0.5, 0.22, 0.1, 0.08, 0.1)
_EPSILONS = ("0.3", "0.5", "1", "2", "4", "8")
_CHOICES = (["0.5", "2"], ["1", "4"], ["0.3", "1", "8"])
_RESPONDENTS = (200, 500, 1_000, 2_000, 5_000)
_OUTSTANDING = (1, 4, 16, 64, 256)


def draw_collection(seed: int) -> RandomCollection:
    """The collection with this seed; the same for ever."""
    rng = np.random.default_rng([seed, 77])
    structure = str(rng.choice(_STRUCTURES, p=_CHANCES))
    respondents = int(rng.choice(_RESPONDENTS, p=[0.2, 0.25, 0.25, 0.2, 0.1]))
    outstanding = int(rng.choice(_OUTSTANDING))
    shared: dict[str, Any] = {"epsilon": str(rng.choice(_EPSILONS))}
    settings = {
        "structure": structure,
        "respondents": str(respondents),
        "outstanding": str(outstanding),
        "ε": shared["epsilon"],
    }
    if structure != "components" and rng.random() < 0.2:
        choices = _CHOICES[rng.integers(len(_CHOICES))]
        shared |= {"epsilon": choices[-1], "epsilon_choices": choices}
        settings["ε"] = "chosen from " + ", ".join(choices)
    draw = {"categories": _categories, "components": _components}.get(structure, _one_number)
    fields, more, rest = draw(rng, structure)
    drawn = RandomCollection(seed, {**fields, **shared}, {**settings, **more}, respondents, outstanding, **rest)
    return drawn if seed < FIRST_WITH_ADDITIONS else add(np.random.default_rng([seed, 80]), drawn)


_Drawn = tuple[dict[str, Any], dict[str, str], dict[str, Any]]


def _one_number(rng: np.random.Generator, structure: str) -> _Drawn:
    number = draw_number(rng)
    while structure == "periods" and "family" not in number.fields:
        number = draw_number(rng)
    fields, settings = dict(number.fields), dict(number.settings)
    if structure == "plain":
        return fields, settings, {"truths": {"": number.truth}}
    amount = float(rng.choice([0, 0.1, 0.3, 1]))
    settings["apart"] = f"{amount:g}"
    if structure == "periods":
        fields["period"] = "week"
        count, fields["drift"] = int(rng.integers(2, 9)), bool(rng.random() < 0.6)
        settings["drift"] = str(fields["drift"])
        names = [f"2026-W{week:02d}" for week in range(1, count + 1)]
        amount = amount / 3 if fields["drift"] else 0.0
    else:
        names = [f"group {number}" for number in range(1, int(rng.integers(2, 9)) + 1)]
        fields["groups"] = {"name": "group", "labels": names}
    settings["parts"] = str(len(names))
    truths = {name: number.vary(rng, amount) for name in names}
    if "family" in fields:
        truths = _within_bounds(fields, truths)
    return fields, settings, {"truths": truths}


def _within_bounds(fields: dict[str, Any], truths: dict[str, Truth]) -> dict[str, Truth]:
    """The same people, after the bounds are such that they hold all groups."""
    ends = np.array([farthest(truth.members[0]) for truth in truths.values()])
    found = {"minimum": float(ends[:, 0].min()), "maximum": float(ends[:, 1].max())}
    fields.update({name: end for name, end in found.items() if name in fields})
    bounds = fields.get("minimum", -np.inf), fields.get("maximum", np.inf)
    return {name: replace(truth, bounds=bounds) for name, truth in truths.items()}


def _components(rng: np.random.Generator, structure: str) -> _Drawn:
    count = int(rng.choice([2, 2, 3]))
    numbers: list[Number] = []
    while len(numbers) < count:
        number = draw_number(rng, levels=False, shared=False)
        if number.settings["mechanism"] == "gaussian":
            continue
        if number.fields.get("mechanism") != (numbers or [number])[0].fields["mechanism"]:
            continue
        numbers.append(number)
    names = [f"number{place}" for place in range(1, count + 1)]
    fields = {
        "mechanism": numbers[0].fields["mechanism"],
        "components": [
            {"name": name, **{key: value for key, value in number.fields.items() if key != "mechanism"}}
            for name, number in zip(names, numbers, strict=True)
        ],
    }
    settings = {"parts": str(count), "mechanism": fields["mechanism"]}
    for key in ("family", "range", "bounds", "atoms", "transform"):
        settings[key] = " & ".join(sorted({number.settings[key] for number in numbers}))
    truths = {name: number.truth for name, number in zip(names, numbers, strict=True)}
    return fields, settings, {"truths": truths, "correlation": float(rng.choice([0, 0.3, 0.7]))}


def _categories(rng: np.random.Generator, structure: str) -> _Drawn:
    count = int(rng.choice([2, 3, 5, 10, 30, 64]))
    fields: dict[str, Any] = {"family": "categorical", "categories": [f"c{k}" for k in range(count)]}
    kind = str(rng.choice(["equal", "harmonic", "random"]))
    shares = {
        "equal": np.full(count, 1 / count),
        "harmonic": 1 / np.arange(1.0, count + 1) / (1 / np.arange(1.0, count + 1)).sum(),
        "random": rng.dirichlet(np.full(count, 0.7)),
    }[kind]
    settings = {"family": "categorical", "categories": str(count), "shares": kind}
    labels = [""]
    if rng.random() < 0.4:
        labels = [f"group {number}" for number in range(1, int(rng.integers(2, 9)) + 1)]
        fields["groups"] = {"name": "group", "labels": labels}
        settings["parts"] = str(len(labels))
    amount = float(rng.choice([0, 0.3])) if len(labels) > 1 else 0.0
    found = {}
    for label in labels:
        weights = shares * np.exp(amount * rng.standard_normal(count))
        found[label] = tuple((weights / weights.sum()).tolist())
    return fields, settings, {"truths": {}, "shares": found}
