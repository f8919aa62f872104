"""Scenarios about respondents who hold several numbers: what is asked about them, what is told, and what is refused."""

from collections.abc import Mapping
from typing import Any

from dither_client.conformance.device import SECOND_VALUE, VALUE, Device
from dither_client.conformance.expectations import NOISELESS_EPSILON, Scenario, answers, refuses, require
from dither_client.conformance.server import HostileServer, Reply

__all__ = ["COMPONENT_SCENARIOS"]

_TERMS: Mapping[str, Any] = {
    "family": "components",
    "mechanism": "staircase",
    "components": [
        {"name": "wage", "transform": "log", "minimum": 0},
        {"name": "age", "transform": "identity", "minimum": 0, "maximum": 120},
        {"name": "hours-a-week", "transform": "identity"},
    ],
}
_VALUE = f"wage={VALUE}\nage={SECOND_VALUE}\nhours-a-week=-38.5"

_THIRDS = {"mechanism": "randomized_response", "cuts": [2, 4], "epsilon": 1, "transform": "log"}
_TWO_STATES = {"mechanism": "randomized_response", "cuts": [0.5], "epsilon": 1, "transform": "identity"}
_SIX_STATES = {**_TWO_STATES, "cuts": [0.5, 1.5, 2.5, 3.5, 4.5]}
_FOUR_STATES = {
    **_TWO_STATES, "mechanism": "staircase", "cuts": [0.5, 1.5, 2.5], "sets": [[0, 1], [0, 2], [1, 3], [2, 3]],
    "weights": [1, 1, 1, 1],
}  # fmt: skip
_ONE: Mapping[str, Any] = {
    "mechanism": "component", "component": 0, "query": _THIRDS, "epsilon": 1, "transform": "log",
}  # fmt: skip
_PAIR: Mapping[str, Any] = {
    "mechanism": "joint", "components": [0, 1], "states": "same_side", "cuts": [[4], [50]],
    "transforms": ["log", "identity"], "channel": _TWO_STATES, "epsilon": 1, "transform": "identity",
}  # fmt: skip
_PLANE = {**_PAIR, "states": "cells", "cuts": [[4], [30, 50]], "channel": _SIX_STATES}
_TRIPLE = {
    **_PAIR, "components": [0, 1, 2], "states": "odd_one_out", "cuts": [[4], [50], [-40]],
    "transforms": ["log", "identity", "identity"], "channel": {**_TWO_STATES, "cuts": [0.5, 1.5, 2.5]},
}  # fmt: skip

_QUESTIONS: Mapping[str, tuple[Mapping[str, Any], int]] = {
    "the first number": (_ONE, 2),
    "the last number": (
        {
            **_ONE,
            "component": 2,
            "query": {**_THIRDS, "cuts": [-40, 0], "transform": "identity"},
            "transform": "identity",
        },
        1,
    ),
    "the sides of two numbers": (_PAIR, 0),
    "the sides of two others": (
        {**_PAIR, "components": [1, 2], "cuts": [[50], [0]], "transforms": ["identity"] * 2},
        1,
    ),
    "the cells of two numbers": (_PLANE, 4),
    "the odd one out of three": (_TRIPLE, 2),
}
"""What each question is about: the question, and the answer at an ε without noise. ln 83.17 is 4.42."""

_BAD_QUESTIONS: Mapping[str, Mapping[str, Any]] = {
    "a component that the terms do not name": {**_ONE, "component": 3},
    "a component on another scale": {
        **_ONE, "query": {**_THIRDS, "transform": "identity"}, "transform": "identity",
    },
    "a component at a lower ε than its question's": {**_ONE, "epsilon": 0.5},
    "a component inside a component": {**_ONE, "query": {**_ONE}},
    "one value of several": {**_THIRDS, "transform": "identity"},
    "two numbers at another ε than their channel's": {**_PAIR, "channel": {**_TWO_STATES, "epsilon": 2}},
    "two numbers above the terms' ε": {**_PAIR, "channel": {**_TWO_STATES, "epsilon": 2}, "epsilon": 2},
    "the same component twice": {**_PAIR, "components": [1, 1], "transforms": ["identity", "identity"]},
    "two components in the other order": {**_PAIR, "components": [1, 0], "transforms": ["identity", "log"]},
    "two components of which one is not named": {**_PAIR, "components": [0, 3]},
    "two numbers on other scales": {**_PAIR, "transforms": ["identity", "identity"]},
    "more states than its channel has": {**_PLANE, "channel": _FOUR_STATES},
    "states that are none": {**_PAIR, "states": "both_above"},
    "two cuts where one is asked": {**_PAIR, "cuts": [[4], [30, 50]]},
    "cuts that do not increase": {**_PLANE, "cuts": [[4], [50, 50]]},
    "a channel with noise that depends on levels": {
        **_PAIR,
        "channel": {"mechanism": "laplace", "low": 0, "high": 1, "levels": 1, "epsilon": 1, "transform": "identity"},
    },
    "a matrix whose ratio exceeds e^ε": {
        **_PLANE, "cuts": [[4], [50]],
        "channel": {**_FOUR_STATES, "sets": [[0], [0, 1], [2], [3]]},
    },
}  # fmt: skip

_BAD_VALUES: Mapping[str, str] = {
    "one number without a name": VALUE,
    "a number missing": f"wage={VALUE}\nage={SECOND_VALUE}",
    "a name that is no component": f"{_VALUE}\nheight=180",
    "a name twice": f"{_VALUE}\nage={SECOND_VALUE}",
    "a number out of its own bounds": _VALUE.replace(SECOND_VALUE, "121"),
    "a number that is not finite": _VALUE.replace("-38.5", "nan"),
    "a text for a number": _VALUE.replace("-38.5", "many"),
}
"""What is wrong, and what stands on standard input."""


def components(server: HostileServer, device: Device) -> None:
    """Questions about one of several numbers and about which state they are in are answered from the right numbers"""
    server.terms |= {**_TERMS, "epsilon": NOISELESS_EPSILON}
    for number, (what, (question, expected)) in enumerate(_QUESTIONS.items()):
        server.forget()
        inside = next(name for name in ("query", "channel") if name in question)
        loud = {"epsilon": NOISELESS_EPSILON}
        server.question = {**question, inside: {**question[inside], **loud}, **loud}
        answers(server, device, collection=f"c{number}", value=_VALUE, options=["--max-epsilon", "1000"])
        require(list(server.stored.values()) == [expected], f"its answer at ε = 50 about {what} is not its own")


def component_values(server: HostileServer, device: Device) -> None:
    """Where the terms have components, a number for each name within its bounds is needed before a ticket"""
    server.terms |= _TERMS
    server.question = _PAIR
    for what, value in _BAD_VALUES.items():
        require(not device.run(server, value=value), f"it exited with status 0 for {what}")
        require(not server.of("ticket"), f"it asked for a ticket before it refused {what}")


def changed_components(server: HostileServer, device: Device) -> None:
    """Components are those of the first terms that a device saw: a question about one added later is refused"""
    server.terms |= _TERMS
    server.question = {**_PAIR, "components": [1, 3], "cuts": [[50], [4]], "transforms": ["identity", "log"]}
    server.script["ticket"].append(Reply(kill=True))
    device.run(server, value=_VALUE)
    server.terms["components"] = [*_TERMS["components"], {"name": "height", "transform": "log"}]
    refuses(server, device, "its server had added a component", value=f"{_VALUE}\nheight=180")


def unknown_components(server: HostileServer, device: Device) -> None:
    """Where the terms have no components, a question about one of several numbers is refused, and so are names"""
    server.terms["mechanism"] = "staircase"
    server.question = {**_ONE, "query": {**_THIRDS, "transform": "identity"}, "transform": "identity"}
    refuses(server, device, "a question about one of several numbers, of which the terms have none")
    server.forget()
    require(not device.run(server, collection="d", value=_VALUE), "it exited with status 0 for names")
    require(not server.of("ticket"), "it asked for a ticket with several numbers, where one is asked for")


def bad_components(what: str) -> Scenario:
    def scenario(server: HostileServer, device: Device) -> None:
        server.terms |= _TERMS
        server.question = _BAD_QUESTIONS[what]
        capped: dict[str, Any] = {"value": _VALUE, "options": ["--max-epsilon", "1.5"]}
        refuses(server, device, f"a question about {what}", **capped)
        server.question = _PAIR
        require(device.run(server, collection="d", **capped), f"it charged ε for a question about {what}")

    scenario.__doc__ = f"Several numbers, and a question about {what}: it is refused, and nothing is spent"
    return scenario


COMPONENT_SCENARIOS: Mapping[str, Scenario] = {
    "components": components,
    "component-values": component_values,
    "changed-components": changed_components,
    "unknown-components": unknown_components,
    **{f"components: {what}": bad_components(what) for what in _BAD_QUESTIONS},
}
"""Every scenario about several numbers by name."""
