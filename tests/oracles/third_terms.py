"""What `docs/protocol.md` says of a collection's terms and its panel, for `third_client`."""

import re
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from third_reading import Refused, micro, read, require

__all__ = ["check_price", "check_raised", "draw_turns", "period_number", "read_terms"]

_NAME = re.compile("[A-Za-z0-9_-]{1,64}")


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


def period_number(period: str, seconds: float) -> int:
    """The number of the calendar period of a time, in UTC."""
    moment = time.gmtime(seconds)
    days = int(seconds // 86_400)
    if period == "month":
        return (moment.tm_year - 1970) * 12 + moment.tm_mon
    return (days + 3) // 7 + 1 if period == "week" else days + 1


def draw_turns(panel: dict[str, Any], joined: int, below: Callable[[int], int]) -> list[int]:
    """The periods in which a respondent answers who joins in the period with this number."""
    left = list(range(joined, joined + panel["periods"]))
    return sorted(left.pop(below(len(left))) for _ in range(panel["answers"]))
