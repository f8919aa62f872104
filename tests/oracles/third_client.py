"""A client's arithmetic written from `docs/protocol.md` alone: nothing here is of Dither's own packages.

It is the proof that the page says enough, and an independent source of what the test vectors hold. Slow and plain.
"""

import json
import math
import re
import time
from collections.abc import Callable
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

__all__ = [
    "Refused",
    "cell",
    "channel",
    "check",
    "check_price",
    "check_raised",
    "least_epsilon",
    "micro",
    "read",
    "read_terms",
    "read_ticket",
    "sample",
    "uniform",
]

Uniform = Callable[[int], int]

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
_NAME = re.compile("[A-Za-z0-9_-]{1,64}")


class Refused(Exception):
    """What the protocol refuses: `BadResponse`, `InvalidQuery`, `InvalidEpsilon` or `OverCap`."""


# Reading what the server says.


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


_NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")


def read_terms(body: str | bytes) -> dict[str, Any]:
    """What a respondent is told, with everything that is required of it."""
    terms = read(body)
    texts = ("name", "family", "transform", "mechanism", "state", "admission", "visibility")
    nullable = ("opens_at", "closes_at", "advice", "notice")
    if not isinstance(terms, dict) or not all(isinstance(terms.get(name), str) for name in texts):
        raise Refused("BadResponse")
    identity, counts = terms.get("id"), [terms.get("answers") or 0, terms.get("max_answers") or 0]
    proper = isinstance(identity, str) and 0 < len(identity) <= 65_536 and all(" " <= c <= "~" for c in identity)
    if not proper or not all(isinstance(terms.get(name), str | None) for name in nullable):
        raise Refused("BadResponse")
    if not all(type(count) is int and count >= 0 for count in counts):
        raise Refused("BadResponse")
    choices = terms.get("epsilon_choices")
    if not isinstance(choices, list | None):
        raise Refused("BadResponse")
    categories = terms.get("categories")
    if categories is not None:
        proper = isinstance(categories, list) and all(
            isinstance(text, str) and text.isprintable() for text in categories
        )
        if not proper or not 2 <= len(categories) == len(set(categories)) <= 64:
            raise Refused("BadResponse")
    _check_survey(terms)
    _check_labels(terms.get("groups"))
    _check_panel(terms)
    _check_components(terms.get("components"))
    try:
        for amount in (terms.get("epsilon"), *(choices or []), *([] if terms.get("rho") is None else [terms["rho"]])):
            micro(amount)
    except Refused:
        raise Refused("BadResponse") from None
    return terms


def _check_labels(groups: Any) -> None:
    """The public groups, if there are any."""
    if groups is None:
        return
    labels: Any = groups.get("labels") if isinstance(groups, dict) and isinstance(groups.get("name"), str) else None
    proper = isinstance(labels, list) and all(isinstance(label, str) and label.isprintable() for label in labels)
    if not proper or not 2 <= len(labels) == len(set(labels)) <= 500:
        raise Refused("BadResponse")


def _check_panel(terms: dict[str, Any]) -> None:
    """In which periods each respondent answers, if it answers in several."""
    panel = terms.get("panel")
    if panel is None:
        return
    counts: list[Any] = [panel.get("answers"), panel.get("periods")] if isinstance(panel, dict) else [None]
    if not all(type(count) is int for count in counts) or not 1 <= counts[0] <= counts[1] or not 2 <= counts[1] <= 1500:
        raise Refused("BadResponse")
    if not isinstance(terms.get("period"), str) or terms["period"] not in ("day", "week", "month"):
        raise Refused("BadResponse")


def period_number(period: str, seconds: float) -> int:
    """The number of the calendar period of a time, in UTC."""
    moment = time.gmtime(seconds)
    days = int(seconds // 86_400)
    if period == "month":
        return (moment.tm_year - 1970) * 12 + moment.tm_mon
    return (days + 3) // 7 + 1 if period == "week" else days + 1


def draw_turns(panel: dict[str, Any], joined: int, below: "Uniform") -> list[int]:
    """The periods in which a respondent answers who joins in the period with this number."""
    left = list(range(joined, joined + panel["periods"]))
    return sorted(left.pop(below(len(left))) for _ in range(panel["answers"]))


def _check_components(components: Any) -> None:
    """The numbers that each respondent has, if there are several."""
    if components is None:
        return
    if not isinstance(components, list) or not all(isinstance(each, dict) for each in components):
        raise Refused("BadResponse")
    names = [each.get("name") for each in components]
    proper = all(isinstance(name, str) and _NAME.fullmatch(name) for name in names)
    if not proper or not 2 <= len(names) == len(set(names)) <= 8:
        raise Refused("BadResponse")
    for each in components:
        if each.get("transform") not in ("identity", "log"):
            raise Refused("BadResponse")
        told = ("question", "unit", "period_of_value", "minimum", "maximum", "decimals")
        _check_survey({name: each.get(name) for name in told})


def _check_survey(terms: dict[str, Any]) -> None:
    """What is said to the respondent beside ε: every part may be left out."""
    words = ("question", "unit", "period_of_value", "organisation", "contact", "thank_you")
    bounds: list[Any] = [terms[name] for name in ("minimum", "maximum") if terms.get(name) is not None]
    decimals, address = terms.get("decimals"), terms.get("privacy_url")
    sound = (
        all(isinstance(terms.get(name), str | None) for name in words),
        all(type(bound) in (int, Decimal) for bound in bounds) and bounds == sorted(set(bounds)),
        decimals is None or (type(decimals) is int and 0 <= decimals <= 6),
        address is None or (isinstance(address, str) and re.fullmatch("https://[!-~]{1,492}", address)),
    )
    if not all(sound):
        raise Refused("BadResponse")


def read(body: str | bytes) -> Any:
    """Strict JSON; numbers with a point or an exponent are decimals."""

    def number(text: str) -> Decimal | int:
        parts = _NUMBER.fullmatch(text) if len(text) <= 64 else None
        if parts is None or math.isinf(float(text)):
            raise ValueError
        if parts[3] or parts[4]:
            return Decimal(text)
        if abs(int(text)) >= 2**128:
            raise ValueError
        return int(text)

    def no_constant(text: str) -> None:
        raise ValueError

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError
        for name, _ in pairs:
            name.encode()
        return dict(pairs)

    def walk(value: Any, depth: int) -> None:
        if isinstance(value, str):
            value.encode()
        elif isinstance(value, list | dict):
            if depth == 32:
                raise ValueError
            for part in value.values() if isinstance(value, dict) else value:
                walk(part, depth + 1)

    try:
        text = body.decode() if isinstance(body, bytes) else body
        decoder = json.JSONDecoder(
            parse_float=number, parse_int=number, parse_constant=no_constant, object_pairs_hook=members
        )
        value = decoder.decode(text)
        walk(value, 0)
    except (ValueError, RecursionError):
        raise Refused("BadResponse") from None
    return value


def micro(value: Any) -> int:
    """Micro-ε of a decimal of at most six places."""
    if type(value) not in (int, Decimal, str):
        raise Refused("InvalidQuery")
    if isinstance(value, str) and (len(value) > 64 or not _NUMBER.fullmatch(value) or math.isinf(float(value))):
        raise Refused("InvalidQuery")
    exact = Fraction(Decimal(value))
    if exact <= 0 or (exact * 1_000_000).denominator != 1:
        raise Refused("InvalidQuery")
    return int(exact * 1_000_000)


# What a client must check.


def require(*conditions: bool) -> None:
    if not all(conditions):
        raise Refused("InvalidQuery")


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


# What the terms say.


def check_price(terms: dict[str, Any], query: dict[str, Any], chosen: int | None) -> None:
    """The terms are the price of a question that was checked; ε that was chosen is in millionths."""
    said = micro(terms["epsilon"])
    choices = [micro(choice) for choice in terms.get("epsilon_choices") or []]
    if chosen is not None and chosen not in (choices or [said]):
        raise Refused("InvalidEpsilon")
    if query["epsilon"] > (said if chosen is None else chosen):
        raise Refused("OverCap")
    require(chosen is None or not choices or query["epsilon"] == chosen)
    components = terms.get("components") or []
    require(bool(components) == ("about" in query))
    if components:
        require(query["about"][-1] < len(components))
        transforms = [components[number]["transform"] for number in query["about"]]
        if query["mechanism"] == "component":
            _check_kind(terms, query["query"], transforms[0])
        else:
            require(query["transforms"] == transforms)
    else:
        _check_kind(terms, query, terms["transform"])


def _check_kind(terms: dict[str, Any], query: dict[str, Any], transform: str) -> None:
    require(query["transform"] == transform)
    edges, own, asked = len(query["edges"]), terms["mechanism"], query["mechanism"]
    require(
        asked == own
        or (own == "staircase" and asked == "randomized_response")
        or (own in ("staircase", "randomized_response") and asked == "laplace" and edges == 1)
    )
    if "rho" in query:
        require(terms.get("rho") is not None and query["rho"] <= micro(terms["rho"]))
    require(not terms.get("categories") or edges + 1 == len(terms["categories"]))
    require(terms.get("levels") is None or edges <= terms["levels"])


def check_raised(told: dict[str, Any], now: dict[str, Any]) -> None:
    """A server's terms never say a higher ε than before, nor other categories, bounds, groups or components."""
    limits = ("name", "transform", "minimum", "maximum")
    before, after = (
        [[each.get(name) for name in limits] for each in terms.get("components") or []] for terms in (told, now)
    )
    if before != after:
        raise Refused("BadResponse")
    panels = [
        each and (each["answers"], each["periods"], terms["period"])
        for terms in (told, now)
        for each in [terms.get("panel")]
    ]
    if panels[0] not in (None, panels[1]):
        raise Refused("BadResponse")
    groups = [(each["name"], each["labels"]) if (each := terms.get("groups")) else None for terms in (told, now)]
    if groups[0] not in (None, groups[1]):
        raise Refused("BadResponse")
    kept, says = ((terms.get("minimum"), terms.get("maximum")) for terms in (told, now))
    if kept not in ((None, None), says):
        raise Refused("BadResponse")
    if (told.get("categories") or []) != (now.get("categories") or []):
        raise Refused("BadResponse")
    for most in (False, True):
        promised, asked = (
            max(micro(e) for e in [terms["epsilon"], *((terms.get("epsilon_choices") or []) if most else [])])
            for terms in (told, now)
        )
        if asked > promised:
            raise Refused("BadResponse")


# Cells and channels.


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


# Exact sampling.


def uniform(take: Callable[[int], bytes]) -> Uniform:
    """Whole numbers from 0 to n - 1, of the bytes that `take` gives."""

    def below(n: int) -> int:
        bits = n.bit_length()
        size = -(-bits // 8)
        while True:
            drawn = int.from_bytes(take(size), "big") >> (8 * size - bits)
            if drawn < n:
                return drawn

    return below


def sample(query: dict[str, Any], k: int, uniform: Uniform) -> int:
    """An answer for whoever is in cell `k`."""
    if "about" in query:
        return sample(query.get("query") or query["channel"], k, uniform)
    epsilon = Fraction(query["epsilon"], 1_000_000)
    p, q = epsilon.numerator, epsilon.denominator
    mechanism, last = query["mechanism"], len(query["edges"])
    if mechanism == "laplace":
        return min(max(k + discrete_laplace(p, q * last, uniform), 0), last)
    if mechanism == "gaussian":
        rho = Fraction(query["rho"], 1_000_000)
        return min(max(k + discrete_gaussian(last**2 * rho.denominator, 2 * rho.numerator, uniform), 0), last)
    while True:
        if mechanism == "randomized_response":
            y = uniform(last + 1)
            own = y == k
        elif mechanism == "grouped_randomized_response":
            y = uniform(len(query["groups"]))
            own = k in query["groups"][y]
        else:
            point = uniform(sum(query["weights"]))
            y = next(y for y, so_far in enumerate(accumulate(query["weights"])) if so_far > point)
            own = k in query["sets"][y]
        if bernoulli_exp(p, q, uniform) or own:
            return y


def bernoulli_exp(a: int, b: int, uniform: Uniform) -> bool:
    while a > b:
        if not unit(1, 1, uniform):
            return False
        a -= b
    return unit(a, b, uniform)


def unit(a: int, b: int, uniform: Uniform) -> bool:
    k = 1
    while uniform(b * k) < a:
        k += 1
    return k % 2 == 1


def discrete_laplace(a: int, b: int, uniform: Uniform) -> int:
    while True:
        u = uniform(b)
        if not unit(u, b, uniform):
            continue
        v = 0
        while unit(1, 1, uniform):
            v += 1
        m = (u + b * v) // a
        negative = uniform(2) == 1
        if not (negative and m == 0):
            return -m if negative else m


def discrete_gaussian(a: int, b: int, uniform: Uniform) -> int:
    t = math.isqrt(a // b) + 1
    while True:
        y = discrete_laplace(1, t, uniform)
        if bernoulli_exp((abs(y) * b * t - a) ** 2, 2 * a * b * t**2, uniform):
            return y
