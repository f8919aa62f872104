"""A client's arithmetic written from `docs/protocol.md` alone: nothing here is of Dither's own packages.

Here are questions, cells and channels; `third_reading`, `third_terms` and `third_sampling` have the rest. It is the
proof that the page says enough, and an independent source of what the test vectors hold. Slow and plain.
"""

import math
from decimal import ROUND_CEILING, Decimal, localcontext
from itertools import accumulate, pairwise
from typing import Any

from third_reading import Refused, micro, read, require
from third_sampling import Uniform, sample, uniform
from third_terms import check_price, check_raised, draw_turns, period_number, read_terms

__all__ = [
    "Refused",
    "Uniform",
    "cell",
    "channel",
    "check",
    "check_price",
    "check_raised",
    "draw_turns",
    "least_epsilon",
    "micro",
    "period_number",
    "read",
    "read_terms",
    "read_ticket",
    "sample",
    "uniform",
]

_FIELDS = {
    "laplace": {"low", "high", "levels"},
    "gaussian": {"low", "high", "levels", "rho"},
    "randomized_response": {"cuts"},
    "staircase": {"cuts", "sets", "weights"},
    "grouped_randomized_response": {"groups"},
    "component": {"component", "query"},
    "joint": {"components", "states", "cuts", "transforms", "channel"},
}
_OF_NUMBERS = ("laplace", "gaussian", "randomized_response", "staircase")


def read_ticket(body: str | bytes) -> dict[str, Any]:
    """The question in a reply to a request for a ticket."""
    data = read(body)
    if not isinstance(data, dict):
        raise Refused("BadResponse")
    ticket = data.get("ticket")
    proper = isinstance(ticket, str) and 0 < len(ticket) <= 65_536 and all(" " <= c <= "~" for c in ticket)
    if not proper or not isinstance(data.get("expires_at"), str):
        raise Refused("BadResponse")
    query = data.get("query")
    if not isinstance(query, dict):
        raise Refused("InvalidQuery")
    return check(query)


def check(query: dict[str, Any]) -> dict[str, Any]:
    """The question with its edges, and ε and ρ in millionths."""
    query = {"transform": "identity", **query}
    mechanism = query.get("mechanism")
    require(isinstance(mechanism, str) and mechanism in _FIELDS)
    require(query.keys() == _FIELDS[str(mechanism)] | {"mechanism", "transform", "epsilon"})
    require(query["transform"] in ("identity", "log"))
    query["epsilon"] = micro(query["epsilon"])
    require(query["epsilon"] <= 50_000_000)
    if mechanism == "component":
        _check_component(query)
    elif mechanism == "joint":
        _check_joint(query)
    elif "levels" in query:
        _check_interval(query)
    elif "groups" in query:
        _check_groups(query)
    else:
        _check_cuts(query, 63 if mechanism == "staircase" else 1_023)
    if mechanism == "gaussian":
        query["rho"] = micro(query["rho"])
        require(query["rho"] <= 50_000_000)
        require(query["epsilon"] >= least_epsilon(query["levels"], query["rho"]))
    if mechanism == "staircase":
        _check_sets(query["sets"], query["weights"], len(query["edges"]) + 1)
    return query


def _coordinate(value: Any) -> float:
    require(type(value) in (int, Decimal))
    try:
        return float(value) + 0.0
    except OverflowError:
        raise Refused("InvalidQuery") from None


def _check_interval(query: dict[str, Any]) -> None:
    levels = query["levels"]
    require(type(levels) is int and 1 <= levels <= 1_024)
    low, high = _coordinate(query["low"]), _coordinate(query["high"])
    require(low < high, math.isfinite(high - low))
    edges = [low + (high - low) * ((2 * k - 1) / (2 * levels)) for k in range(1, levels + 1)]
    require(all(a < b for a, b in pairwise([low, *edges, high])))
    query["edges"] = edges


def _check_cuts(query: dict[str, Any], most: int) -> None:
    require(isinstance(query["cuts"], list) and 1 <= len(query["cuts"]) <= most)
    query["edges"] = [_coordinate(cut) for cut in query["cuts"]]
    require(all(a < b for a, b in pairwise(query["edges"])))


def _check_sets(sets: Any, weights: Any, cells: int) -> None:
    require(isinstance(sets, list) and 2 <= len(sets) <= 64)
    for some in sets:
        require(isinstance(some, list) and 0 < len(some) < cells)
        require(all(type(k) is int and 0 <= k < cells for k in some))
        require(all(a < b for a, b in pairwise(some)))
    require(all(a < b for a, b in pairwise(sets)))
    require(isinstance(weights, list) and len(weights) == len(sets))
    require(all(type(v) is int and 1 <= v <= 1_000_000 for v in weights))
    require(math.gcd(*weights) == 1, len({_coverage(sets, weights, k) for k in range(cells)}) == 1)


def _check_groups(query: dict[str, Any]) -> None:
    groups = query["groups"]
    require(query["transform"] == "identity", isinstance(groups, list) and 2 <= len(groups) <= 64)
    require(all(isinstance(group, list) and group and all(type(k) is int for k in group) for group in groups))
    require(all(a < b for group in groups for a, b in pairwise(group)), all(a[0] < b[0] for a, b in pairwise(groups)))
    numbers = sorted(k for group in groups for k in group)
    require(numbers == list(range(len(numbers))), len(numbers) <= 64)
    query["edges"] = [k + 0.5 for k in numbers[:-1]]


def _check_inner(query: Any) -> dict[str, Any]:
    require(isinstance(query, dict) and query.get("mechanism") in _OF_NUMBERS)
    return check(query)


def _check_component(query: dict[str, Any]) -> None:
    inner = query["query"] = _check_inner(query["query"])
    require(type(query["component"]) is int and 0 <= query["component"] <= 7)
    require(query["epsilon"] == inner["epsilon"], query["transform"] == inner["transform"])
    query["edges"], query["about"] = inner["edges"], [query["component"]]


def _check_joint(query: dict[str, Any]) -> None:
    states, about, cuts, transforms = (query[name] for name in ("states", "components", "cuts", "transforms"))
    require(states in ("same_side", "odd_one_out", "cells"))
    many = 3 if states == "odd_one_out" else 2
    require(all(isinstance(given, list) and len(given) == many for given in (about, cuts, transforms)))
    require(all(type(number) is int and 0 <= number <= 7 for number in about))
    require(all(a < b for a, b in pairwise(about)), all(each in ("identity", "log") for each in transforms))
    require(query["transform"] == "identity", all(isinstance(each, list) and each for each in cuts))
    query["cuts"] = [[_coordinate(cut) for cut in each] for each in cuts]
    require(all(a < b for each in query["cuts"] for a, b in pairwise(each)))
    require(states == "cells" or all(len(each) == 1 for each in cuts))
    channel = query["channel"] = _check_inner(query["channel"])
    require(channel["mechanism"] in ("randomized_response", "staircase"), channel["transform"] == "identity")
    count = {"same_side": 2, "odd_one_out": 4, "cells": math.prod(len(each) + 1 for each in cuts)}[states]
    require(len(channel["edges"]) + 1 == count, query["epsilon"] == channel["epsilon"])
    query["edges"], query["about"] = channel["edges"], about


def _coverage(sets: list[list[int]], weights: list[int], k: int) -> int:
    return sum(v for some, v in zip(sets, weights, strict=True) if k in some)


def _tails(levels: int, rho: int) -> tuple[list[Decimal], Decimal]:
    """`T(0), …, T(levels)` and `S`, to 60 digits."""
    a = Decimal(rho) / 1_000_000 / levels**2
    if a > 1:
        total = 1 + 2 * sum(((-a * z * z).exp() for z in range(1, 60)), Decimal(0))
    else:
        pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
        total = (pi / a).sqrt() * (1 + 2 * sum(((-pi * pi * k * k / a).exp() for k in range(1, 8)), Decimal(0)))
    weights = [(-a * z * z).exp() for z in range(levels)]
    return list(accumulate(weights, lambda tail, weight: tail - weight, initial=(1 + total) / 2)), total


def least_epsilon(levels: int, rho: int) -> int:
    """The pure ε of a gaussian question, in micro-ε rounded up."""
    with localcontext(prec=60):
        tails, _ = _tails(levels, rho)
        return int(((tails[0] / tails[-1]).ln() * 1_000_000).to_integral_value(ROUND_CEILING))


def cell(query: dict[str, Any], value: float | list[float]) -> int:
    """The number of edges strictly below the value; of several numbers, the state that they are in."""
    if isinstance(value, list):
        if query["mechanism"] == "component":
            return cell(query["query"], value[query["component"]])
        asked = zip(query["components"], query["cuts"], query["transforms"], strict=True)
        cells = [cell({"edges": cuts, "transform": scale}, value[number]) for number, cuts, scale in asked]
        if query["states"] == "cells":
            return cells[0] * (len(query["cuts"][1]) + 1) + cells[1]
        if query["states"] == "same_side":
            return 1 if cells[0] == cells[1] else 0
        return next((number for number, own in enumerate(cells, 1) if cells.count(own) == 1), 0)
    x = value
    if query["transform"] == "log":
        x = math.log(value) if value > 0 else -math.inf
    return sum(edge < x for edge in query["edges"])


def channel(query: dict[str, Any]) -> list[list[float]]:
    """`Q[k][s]`."""
    if "about" in query:
        return channel(query.get("query") or query["channel"])
    cells = range(len(query["edges"]) + 1)
    epsilon = query["epsilon"] / 1_000_000
    match query["mechanism"]:
        case "randomized_response":
            total = math.exp(epsilon) + len(cells) - 1
            return [[(math.exp(epsilon) if s == k else 1.0) / total for s in cells] for k in cells]
        case "grouped_randomized_response":
            total = math.exp(epsilon) + len(query["groups"]) - 1
            return [[(math.exp(epsilon) if k in group else 1.0) / total for group in query["groups"]] for k in cells]
        case "staircase":
            sets, weights = query["sets"], query["weights"]
            total = sum(weights) + math.expm1(epsilon) * _coverage(sets, weights, 0)
            pairs = list(zip(sets, weights, strict=True))
            return [[v * (math.exp(epsilon) if k in some else 1.0) / total for some, v in pairs] for k in cells]
        case "gaussian":
            with localcontext(prec=60):
                tails, total_weight = _tails(query["levels"], query["rho"])
                end = [float(tail / total_weight) for tail in tails]
                inner = [float((t - u) / total_weight) for t, u in pairwise(tails)]
        case _:
            rate = epsilon / query["levels"]
            end = [math.exp(-rate * d) / (1 + math.exp(-rate)) for d in cells]
            inner = [math.exp(-rate * d) * math.tanh(rate / 2) for d in cells]
    last = cells[-1]
    return [[end[k], *(inner[abs(k - s)] for s in range(1, last)), end[last - k]] for k in cells]
