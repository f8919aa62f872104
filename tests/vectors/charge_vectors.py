"""What a client charges, for `make_vectors`: ε as it is written, the ε of ρ, and ledgers with caps."""

import json
from fractions import Fraction
from typing import Any

from question_vectors import LAPLACE, query_of

from dither_client import DitherError, MemoryLedger, gaussian_epsilon
from dither_client.errors import InvalidEpsilon
from dither_client.mechanisms.epsilon import epsilon_text, micro_epsilon, wire_epsilon
from dither_client.strict_json import decode_json

__all__ = ["charges"]


def charges() -> dict[str, list[Any]]:
    """Every kind of case."""
    return {
        "epsilons": [_epsilon(text) for text in _EPSILONS],
        "gaussian": [_gaussian(levels, rho) for levels, rho in _RHOS],
        "ledgers": [_ledger(*scenario) for scenario in _SCENARIOS],
    }


_EPSILONS = [
    "1", "0.1", "1.5e0", "15E-1", "0.000001", "50", "1.10", '"0.1"', '"2"', "1e-6", "1e-06", "123456.654321",
    "0.5000000000000", "1e+1", "0.1e1", "10000000e-7", "5e-1", '"5e-1"', '"5E-001"', '"1.0"', '"0.50"', "1e3", "1e80",
    "0." + "1" * 6 + "0" * 56, '"0.' + "1" * 6 + "0" * 56 + '"', "1" * 38, "123456" + "0" * 50 + "e-55",
    "0", "-1", "0.0", "-0.5", "1e-7", "0.1000001", "0.30000000000000004", "1e-70", "0e5", '"0"', '"-1"', '"-0"',
    '"x"', '""', '"1_0"', '"١"', '"１"', '" 1"', '"1 "', '"1\\n"', '"1/2"', '"5."', '".5"', '"+1"', '"01"', '"00.5"',
    '"1e"', '"1e0001"', '"1e1000"', '"1e400"', '"0x1"', '"1,5"', '"NaN"', '"Infinity"', '"inf"', '"1e-"', '"--1"',
    '"1e5.0"', '"0.' + "1" * 63 + '"', '"' + "1" * 65 + '"', '"1' + "0" * 63 + '"',
]  # fmt: skip  # fmt: skip


def _epsilon(text: str) -> dict[str, Any]:
    try:
        return {"json": text, "micro": micro_epsilon(wire_epsilon(decode_json(text.encode()))), "reason": None}
    except InvalidEpsilon as error:
        return {"json": text, "micro": None, "reason": str(error)}


_RHOS = [
    *((levels, "0.5") for levels in (1, 2, 3, 8, 64, 1024)),
    *((levels, rho) for levels in (1, 5, 1024) for rho in ("0.000001", "0.062499", "0.0625", "1.5625", "12.5", "49")),
    (4, "1"), (4, "0.999999"), (4, "50"),
]  # fmt: skip  # fmt: skip


def _gaussian(levels: int, rho: str) -> dict[str, Any]:
    return {"levels": levels, "rho": rho, "epsilon": epsilon_text(gaussian_epsilon(levels, Fraction(rho)))}


_Caps = tuple[str | None, str | None, str | None]

_SCENARIOS: list[tuple[_Caps, list[tuple[str, str, str]]]] = [
    (
        ("10", None, None),
        [("a", "1", "4"), ("a", "2", "5"), ("a", "3", "1.000001"), ("a", "3", "1"), ("b", "1", "0.000001")],
    ),
    (
        ("2", "1", None),
        [("a", "1", "0.5"), ("a", "2", "0.6"), ("a", "2", "0.5"), ("b", "1", "1"), ("c", "1", "0.1")],
    ),
    (("1", None, None), [("a", "1", "1"), ("a", "1", "1"), ("a", "2", "0.1")]),
    (("0.3", None, None), [("a", "1", "0.1"), ("a", "2", "0.1"), ("a", "3", "0.1"), ("a", "4", "0.000001")]),
    (("3", None, "0.5"), [("a", "1", "0.500001"), ("a", "1", "0.5"), ("b", "1", "0.6")]),
    (
        (None, None, None),
        [
            ("a", "1", "2.000001"), ("a", "1", "2"), ("a", "2", "2"), ("a", "3", "1.000001"), ("a", "3", "1"),
            ("a", "4", "0.000001"), ("b", "1", "2"), ("b", "2", "2"), ("b", "3", "1.000001"), ("c", "1", "1.000001"),
            ("c", "1", "1"), ("c", "2", "0.000001"),
        ],
    ),
    ((None, "6", None), [("a", "1", "2.000001"), *(("a", str(k), "2") for k in range(3)), ("a", "4", "0.000001")]),
    ((None, None, "3"), [("a", "1", "3"), ("a", "2", "2.000001"), ("b", "1", "3"), ("b", "2", "2.000001")]),
]  # fmt: skip  # fmt: skip


def _ledger(caps: _Caps, charges: list[tuple[str, str, str]]) -> dict[str, Any]:
    """Charges one after the other; the sums of what is spent show which of them cost nothing."""
    ledger = MemoryLedger(*caps)
    steps = []
    for server, collection, epsilon in charges:
        query = query_of(json.dumps(json.loads(LAPLACE) | {"epsilon": epsilon}))
        reason = None
        try:
            ledger.charge(f"https://{server}.example", collection, "t", query)
        except DitherError as error:
            reason = str(error)
        spent = epsilon_text(ledger.spent()) if ledger.entries() else "0"
        step = {"server": f"https://{server}.example", "collection": collection, "epsilon": epsilon}
        steps.append({**step, "refused": reason, "spent": spent})
    names = ("max_epsilon", "max_epsilon_per_server", "max_epsilon_per_answer")
    return {**dict(zip(names, caps, strict=True)), "charges": steps}
