"""What a random collection may have besides: rival families, a check of the fit, institutions, a fixed question, ρ,
shares of groups, and a panel."""

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.random_collections.collection import RandomCollection
from dither_estimator.families import families, find_family

__all__ = ["add"]

_CHANCE = 0.4
_RHOS = ("0.005", "0.05", "0.3", "1")
_FAR, _NEAR = 1.0, 0.2
"""How far the ends of a fixed interval may lie from two quantiles of the people, in their standard deviations."""


def add(rng: np.random.Generator, collection: RandomCollection) -> RandomCollection:
    """The collection with none, one or several of them, each of which is named in `settings`."""
    fields = dict(collection.fields)
    structure, named = collection.settings["structure"], "family" in fields and not collection.shares
    found = replace(collection, fields=fields, settings=dict(collection.settings))

    def chosen(name: str, possible: bool) -> bool:
        taken = possible and rng.random() < _CHANCE
        if taken:
            found.settings[name] = "yes"
        return taken

    if chosen("rho", fields.get("mechanism") == "gaussian" and structure in ("plain", "groups", "periods")):
        fields.pop("epsilon_choices", None)
        del fields["epsilon"]
        fields["rho"] = found.settings["ε"] = str(rng.choice(_RHOS))
    if structure == "plain":
        yes_no = fields.get("family") == "bernoulli"
        if chosen("fixed", fields["mechanism"] != "staircase" and not yes_no):
            _fix(rng, found)
        if chosen("check", named and not yes_no):
            _check(rng, found)
        if chosen("institutions", named and "rho" not in fields):
            found = _ask_institutions(rng, found)
        if chosen("families", named and not yes_no):
            found = _compare(rng, found)
    if chosen("known shares", structure == "groups"):
        found = _know_shares(rng, found)
    if chosen("panel", structure == "periods" and "epsilon_choices" not in fields):
        count = len(found.truths)
        fields["panel"] = {"answers": int(rng.integers(1, min(count, 4) + 1)), "periods": count}
    return found


def _scale(collection: RandomCollection, values: Any) -> Any:
    """Values in their own units on the scale of the questions."""
    logarithms = "family" in collection.fields and collection.fields.get("transform") == "log"
    return np.log(values) if logarithms else values


def _fix(rng: np.random.Generator, collection: RandomCollection) -> None:
    """One question on an interval that people may be in or beside."""
    truth = collection.truths[""]
    ends = _scale(collection, truth.values_at(np.array([rng.uniform(0.02, 0.3), rng.uniform(0.7, 0.98)])))
    far = _FAR if rng.random() < 0.3 else _NEAR
    low, high = ends + far * max(ends[1] - ends[0], 1e-9) * rng.uniform(-0.5, 0.5, 2)
    if not low < high:
        low, high = ends[0], ends[0] + max(ends[1] - ends[0], 1.0)
    collection.fields["policy"] = f"fixed:{float(low)!r}:{float(high)!r}"
    collection.settings["policy"] = "fixed"


def _check(rng: np.random.Generator, collection: RandomCollection) -> None:
    """A check of the fit, with looks that few answers reach."""
    collection.fields["misfit_check"] = True if rng.random() < 0.5 else float(rng.choice([0.1, 0.5]))
    collection.fields["misfit_looks"] = [20, 60, 200]


def _ask_institutions(rng: np.random.Generator, collection: RandomCollection) -> RandomCollection:
    """Institutions that count their members at up to five values, before everybody answers or afterwards."""
    truth = collection.truths[""]
    levels = np.sort(rng.uniform(0.05, 0.95, int(rng.integers(1, 6))))
    cuts = truth.values_at(levels)
    if truth.stepwise:
        cuts = np.unique(cuts) + 0.5
    spread = truth.spread
    cuts = cuts[np.concatenate([[True], np.diff(cuts) > 1e-6 * spread])]
    collection.fields["member_cuts"] = cuts.tolist()
    sizes = tuple(int(size) for size in np.exp(rng.uniform(np.log(20), np.log(2_000), int(rng.integers(1, 4)))))
    return replace(collection, institutions=sizes, institutions_first=bool(rng.random() < 0.5))


def _rivals(family: str, transform: str) -> list[tuple[str, str]]:
    """The families that may have the same values, on each of their scales."""
    here = find_family(family)
    if here.discrete:
        return [(name, "identity") for name in ("poisson", "negative_binomial") if name != family]
    found = [
        (name, "identity") for name, each in families.items() if not each.discrete and each.support == (-np.inf, np.inf)
    ]
    if family == "beta" or transform == "log" or here.support[0] == 0:
        found += [(name, "log") for name, each in families.items() if not each.discrete and "log" in each.transforms]
        found += [
            (name, "identity") for name, each in families.items() if not each.discrete and each.support == (0, np.inf)
        ]
    if family == "beta":
        found.append(("beta", "identity"))
    return [each for each in found if each != (family, transform)]


def _compare(rng: np.random.Generator, collection: RandomCollection) -> RandomCollection:
    """Up to three rivals of the family that holds, one of which may be named first in its place."""
    fields, settings = collection.fields, collection.settings
    own = {name: fields.pop(name) for name in ("family", "transform", "prior") if name in fields}
    possible = _rivals(own["family"], own["transform"])
    some = rng.choice(len(possible), min(len(possible), int(rng.integers(1, 4))), replace=False)
    others: list[dict[str, Any]] = [dict(zip(("family", "transform"), possible[i], strict=True)) for i in some]
    wrong = bool(rng.random() < 0.3) and "prior" not in own and settings["policy"] != "fixed"
    if wrong and settings["goal"] == "parameter":
        del fields["goal"]
    listed = [others[0], own, *others[1:]] if wrong else [own, *others]
    if wrong and find_family(others[0]["family"]).support[0] == 0:
        fields.pop("minimum", None)
    fields["families"] = listed
    settings["families"] = "the first is wrong" if wrong else "the first holds"
    return replace(collection, misspecified=wrong)


def _know_shares(rng: np.random.Generator, collection: RandomCollection) -> RandomCollection:
    """Known shares of the groups, whose people answer at other rates."""
    labels = collection.fields["groups"]["labels"]
    shares = rng.dirichlet(np.full(len(labels), 2.0)) + 1e-3
    known = {label: float(f"{100 * share:.3g}") for label, share in zip(labels, shares, strict=True)}
    rates = rng.dirichlet(np.full(len(labels), float(rng.choice([0.5, 3.0]))))
    collection.fields["groups"] = {**collection.fields["groups"], "shares": known}
    return replace(collection, rates=tuple(rates.tolist()))
