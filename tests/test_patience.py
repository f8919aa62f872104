"""No test's outcome depends on how busy the machine is: none holds what has passed of the time to a bound."""

import ast

import pytest

from testing.repository import TESTS

CLOCKS = {"monotonic", "perf_counter", "time", "monotonic_ns", "perf_counter_ns"}


def bounds(source: str) -> list[int]:
    """The lines on which a time that a clock of the machine told has to be below something."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        for small, operator, large in zip(sides, node.ops, sides[1:], strict=False):
            below = small if isinstance(operator, ast.Lt | ast.LtE) else large
            if isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE) and any(map(_is_clock, ast.walk(below))):
                found.append(node.lineno)
    return found


def _is_clock(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in CLOCKS
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "time"
    )


@pytest.mark.parametrize(
    ("line", "bounded"),
    [
        ("assert time.monotonic() - began < 10", True),
        ("while time.monotonic() < deadline: pass", True),
        ("assert 9 < time.perf_counter() - began < 20", True),
        ("assert 10 > time.time() - began", True),
        ("assert time.monotonic() - began >= 1", False),
        ("assert seconds <= time.monotonic() - began", False),
    ],
)
def test_a_bound_is_seen(line: str, bounded: bool) -> None:
    assert bool(bounds(line)) is bounded


def test_no_test_holds_time_to_a_bound() -> None:
    found = {
        str(file.relative_to(TESTS)): lines
        for file in TESTS.rglob("*.py")
        if file.name != "patience.py" and (lines := bounds(file.read_text()))
    }
    assert found == {}
