"""A random number that people have: the fields of its specification, and its distribution in one or more groups."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil, floor, inf, log10
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks.random_collections.truths import Member, Truth, with_atoms
from dither_estimator.families import Family, FloatArray, find_family

__all__ = ["Number", "draw_number", "farthest"]

_FAMILIES = (
    "normal", "laplace", "logistic", "gumbel", "student_t:4", "student_t", "exponential", "gamma", "weibull", "beta",
    "bernoulli", "poisson", "negative_binomial",
)  # fmt: skip
_SHAPES = ("normal", "lognormal", "gamma", "student", "two groups", "uniform", "beta")
"""Distributions of those whose specification names no family."""

_ORDINARY: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"shape": (0.7, 8), "a": (0.6, 8), "b": (0.6, 8), "df": (3, 15), "rate": (0.5, 300), "mean": (0.5, 300),
     "size": (0.5, 15)}
)  # fmt: skip
"""Between what parameters that have no unit are drawn, uniformly in their logarithms."""
_SIGMA_OF_LOGARITHMS = 0.15, 1.0
_FARTHEST_BOUND = 1e-5
_OF_FAMILIES_ALONE = ("beta", "bernoulli", "poisson", "negative_binomial")
"""Families whose values have no unit."""
_Vary = Callable[[np.random.Generator, float], Truth]


@dataclass(frozen=True)
class Number:
    """`fields`: of the specification. `settings`: what was chosen, in words."""

    fields: dict[str, Any]
    settings: dict[str, str]
    truth: Truth
    vary: _Vary = field(repr=False)
    """Another group of people, as far from these as so many standard deviations."""


def draw_number(rng: np.random.Generator, *, levels: bool = True, shared: bool = True) -> Number:
    """A number with or without a family; `levels` and what collections share with others are for a single number."""
    drawn = _without_family(rng) if rng.random() < 0.35 else _with_family(rng)
    _add_range(rng, drawn)
    _add_goal(rng, drawn)
    most = _most_levels(drawn)
    if levels and most and rng.random() < 0.5:
        count = int(rng.choice([k for k in (2, 3, 8, 16, 32, 63, 128, 256) if k <= most]))
        drawn.fields["levels"] = count
        drawn.settings["levels"] = str(count)
    if shared and "family" in drawn.fields and rng.random() < 0.2:
        drawn.fields["policy"] = drawn.settings["policy"] = "thompson"
    digits = ceil(2 - log10(drawn.truth.spread))
    if 0 <= digits <= 6 and rng.random() < 0.3:
        drawn.fields["decimals"] = digits
        drawn.settings["decimals"] = "given"
    return drawn


def _most_levels(drawn: Number) -> int:
    """The most levels that the specification may have; 0 if none can be given."""
    name, mechanism = drawn.fields.get("family"), drawn.settings["mechanism"]
    if mechanism == "staircase" or name == "bernoulli":
        return 0
    if name is not None and find_family(name).discrete:
        return 3
    return {"randomized_response": 63, "gaussian": 128}.get(mechanism, 256) if name else 63


def _settings(rng: np.random.Generator, family: str) -> dict[str, str]:
    mechanisms = ["laplace", "randomized_response", "staircase", "gaussian"]
    mechanism = str(rng.choice(mechanisms, p=[0.35, 0.3, 0.2, 0.15]))
    plain = ("transform", "levels", "goal", "range", "bounds", "atoms", "decimals")
    return {"family": family, "mechanism": mechanism, "policy": "adaptive", **dict.fromkeys(plain, "none")}


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _unit(rng: np.random.Generator, settings: dict[str, str]) -> tuple[float, float]:
    """A standard deviation of the values, and how many of them 0 is away."""
    power = int(rng.choice([-6, -3, 0, 0, 1, 3, 6]))
    away = float(rng.choice([0, 1, 5, 30, 1000])) * float(rng.choice([-1, 1]))
    settings["unit"], settings["offset"] = f"1e{power}", f"{abs(away):g}"
    return 10.0**power * _log_uniform(rng, 0.5, 2), away


def _with_family(rng: np.random.Generator) -> Number:
    name = str(rng.choice(_FAMILIES))
    family, settings = find_family(name), _settings(rng, name)
    transform = "log" if "log" in family.transforms and rng.random() < 0.35 else "identity"
    settings["transform"] = transform
    unit, away = (1.0, 0.0) if name in _OF_FAMILIES_ALONE else _unit(rng, settings)
    if transform == "log":
        settings["offset"] = "0"
        sigma = _log_uniform(rng, *_SIGMA_OF_LOGARITHMS) * (0.5 if name in ("laplace", "logistic") else 1.0)
        location = {"mu": np.log(unit), "sigma": sigma}
    else:
        location = {"mu": away * unit, "sigma": unit}
    scale = {"scale": unit, "p": rng.uniform(0.05, 0.95)}
    known = {**{each: _log_uniform(rng, *ends) for each, ends in _ORDINARY.items()}, **location, **scale}
    if "scale" in family.names:
        settings["offset"] = "0"
    theta = tuple(float(known[each]) for each in family.names)
    member = Member(family, theta, transform)  # type: ignore[arg-type]
    low, high = farthest(member)
    bounds = (-inf, inf)
    fields: dict[str, Any] = {"family": name, "transform": transform}
    if not family.discrete and name != "beta" and rng.random() < 0.3:
        bounds = (float(rng.choice([low, -inf])), float(rng.choice([high, inf])))
        _add_bounds(fields, settings, bounds)

    def vary(rng: np.random.Generator, amount: float) -> Truth:
        return Truth((_moved(rng, member, amount),), (1.0,), bounds=bounds)

    number = Number({**fields, "mechanism": settings["mechanism"]}, settings, vary(rng, 0.0), vary)
    if rng.random() < 0.25:
        number.fields["prior"] = _prior(rng, family, theta)
        settings["range"] = "prior"
    return number


def farthest(member: Member) -> tuple[float, float]:
    """Between what all people lie, but for those that hardly count."""
    low, high = member.quantiles(np.array([_FARTHEST_BOUND, 1 - _FARTHEST_BOUND])).tolist()
    return low, high


def _moved(rng: np.random.Generator, member: Member, amount: float) -> Member:
    """Another member, whose parameters differ by about so many standard deviations of the people."""
    family = member.family
    here = family.unconstrain(np.array([member.theta]))
    steps = [member.theta[1] if each.support == "real" else 0.4 for each in family.parameters]
    there = family.constrain(here + amount * np.array(steps) * rng.standard_normal(len(steps)))[0]
    return Member(family, tuple(there.tolist()), member.transform, member.shift, member.factor)


def _prior(rng: np.random.Generator, family: Family, theta: tuple[float, ...]) -> dict[str, Any]:
    """A prior from which the truth may have been drawn."""
    found: dict[str, Any] = {}
    for each, value in zip(family.parameters, theta, strict=True):
        if each.support == "real":
            wide = theta[1] * _log_uniform(rng, 0.5, 30)
            found[each.name] = {"dist": "norm", "loc": value + wide * rng.standard_normal(), "scale": wide}
        elif each.support == "positive":
            found[each.name] = {"dist": "lognorm", "s": 0.8, "scale": value * np.exp(0.8 * rng.standard_normal())}
        else:
            found[each.name] = {"dist": "beta", "a": 1, "b": 1}
    return found


def _add_bounds(fields: dict[str, Any], settings: dict[str, str], bounds: tuple[float, float]) -> None:
    given = {name: bound for name, bound in zip(("minimum", "maximum"), bounds, strict=True) if abs(bound) < inf}
    fields |= given
    settings["bounds"] = " and ".join(given) or "none"


def _without_family(rng: np.random.Generator) -> Number:
    shape = str(rng.choice(_SHAPES))
    settings = _settings(rng, "none")
    settings["shape"] = shape
    unit, away = _unit(rng, settings)
    members, bounds = _smooth(rng, shape, unit, away)
    fields: dict[str, Any] = {"mechanism": settings["mechanism"]}
    _add_bounds(fields, settings, bounds)
    if bounds[0] == 0 and rng.random() < 0.3:
        fields["transform"] = settings["transform"] = "log"
    truth = Truth(members, tuple(np.full(len(members), 1 / len(members))), bounds=bounds)
    places: list[float] = []
    if rng.random() < 0.4:
        low, high = max(bounds[0], truth.quantile(0.02)), min(bounds[1], truth.quantile(0.98))
        usual = [bound for bound in bounds if abs(bound) < inf and fields.get("transform") != "log"]
        choices = [*usual, low + (high - low) * 0.5, low + (high - low) * 0.2]
        chosen = rng.choice(choices, int(rng.integers(1, 3)))
        places = sorted({each if each in usual else _rounded(each, truth.spread) for each in chosen.tolist()})
        fields["atoms"] = places
        settings["atoms"] = str(len(places)) + (" at a bound" if set(places) & set(usual) else "")
    shares = [float(rng.uniform(0.05, 0.9 / len(places))) for _ in places]

    def vary(rng: np.random.Generator, amount: float) -> Truth:
        moved = tuple(_shifted(rng, each, amount, bounds) for each in members)
        others = [min(share * np.exp(amount * rng.standard_normal()), 0.9 / len(places)) for share in shares]
        return with_atoms(Truth(moved, truth.shares, bounds=bounds), places, others)

    return Number(fields, settings, vary(rng, 0.0), vary)


def _rounded(place: float, spread: float) -> float:
    """The number with two digits of the spread, as people have it."""
    return round(place, 1 - floor(log10(spread))) + 0.0  # no -0.0


def _shifted(rng: np.random.Generator, member: Member, amount: float, bounds: tuple[float, float]) -> Member:
    if bounds != (-inf, inf):
        return _moved(rng, member, amount)
    step = amount * rng.standard_normal() * member.factor
    return Member(member.family, member.theta, member.transform, member.shift + step, member.factor)


def _smooth(
    rng: np.random.Generator, shape: str, unit: float, away: float
) -> tuple[tuple[Member, ...], tuple[float, float]]:
    """Members of families on their scales, and the bounds of their values."""
    normal = find_family("normal")
    place = away * unit
    if shape in ("lognormal", "gamma"):
        least = float(rng.choice([0.0, 0.0, place]))
        family, theta = (normal, (0.0, rng.uniform(0.3, 1.2))) if shape == "lognormal" else (find_family(shape), (2, 1))
        member = Member(family, theta, "log" if shape == "lognormal" else "identity", least, unit)
        return (member,), (least, inf)
    if shape in ("beta", "uniform"):
        theta = (1.0, 1.0) if shape == "uniform" else (rng.uniform(0.7, 6), rng.uniform(0.7, 6))
        member = Member(find_family("beta"), theta, "identity", place, 4 * unit)
        return (member,), (place, place + 4 * unit)
    if shape == "two groups":
        apart = rng.uniform(2, 5)
        each = [Member(normal, (0.0, 1.0), "identity", place + sign * apart / 2 * unit, unit) for sign in (-1, 1)]
        return tuple(each), (-inf, inf)
    family = find_family("student_t:4") if shape == "student" else normal
    return (Member(family, (0.0, 1.0), "identity", place, unit),), (-inf, inf)


def _add_range(rng: np.random.Generator, drawn: Number) -> None:
    """A range that is right, ten times too wide, or beside the people by up to its width; or none."""
    family = drawn.fields.get("family")
    kind = str(rng.choice(["right", "wide", "off", "none"], p=[0.25, 0.2, 0.15, 0.4]))
    if kind == "none" or family == "bernoulli" or "prior" in drawn.fields:
        return
    ends = np.array([drawn.truth.quantile(0.03), drawn.truth.quantile(0.97)])
    logarithms = drawn.fields.get("transform") == "log" and family is not None
    found = _guess(rng, kind, np.log(ends) if logarithms else ends)
    low, high = (np.exp(found) if logarithms else found).tolist()
    floor, ceiling = drawn.truth.bounds if family is None else find_family(family).support
    low, high = max(low, floor), min(high, ceiling)
    if low < high:
        drawn.fields["range"] = [low, high]
        drawn.settings["range"] = kind


def _guess(rng: np.random.Generator, kind: str, ends: FloatArray) -> FloatArray:
    middle, half = ends.mean(), max((ends[1] - ends[0]) / 2, 1e-9)
    if kind == "wide":
        half *= 10
    if kind == "off":
        middle += float(rng.choice([-1, 1])) * rng.uniform(0.5, 2) * half
    return np.array([middle - half, middle + half])


def _add_goal(rng: np.random.Generator, drawn: Number) -> None:
    yes_no = drawn.fields.get("family") == "bernoulli"
    names = () if "family" not in drawn.fields else find_family(drawn.fields["family"]).names
    kind = str(rng.choice(["none", "parameter", "quantile", "quantiles", "above", "distribution"]))
    if kind == "none" or yes_no or (kind == "parameter" and not names):
        return
    if kind == "above":
        value = drawn.truth.quantile(float(rng.uniform(0.1, 0.9)))
        low, high = drawn.truth.bounds
        if not low <= value < high:
            return
        goal: Any = {"above": [value]}
    elif kind == "parameter":
        goal = str(rng.choice(names))
    elif kind == "distribution":
        goal = kind
    else:
        goal = {"quantiles": [0.5] if kind == "quantile" else [0.1, 0.9]}
    drawn.fields["goal"] = goal
    drawn.settings["goal"] = kind
