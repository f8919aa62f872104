"""The example of docs/adding-a-mechanism.md: private, drawn as its channel says, on the wire, and learnt from."""

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from random import Random
from types import MappingProxyType
from typing import Any

import pytest
from scipy.stats import chisquare

from dither_client import InvalidQuery, Query, parse_query
from dither_client.mechanisms import registry
from dither_client.mechanisms.sampling import RandBelow
from testing.reader import blocks

MODULE, TRIAL = blocks("docs/adding-a-mechanism.md", "python")


@pytest.fixture
def silence() -> Iterator[Any]:
    """The class, in the table as the page says."""
    defined: dict[str, Any] = {"__name__": "silence"}
    exec(compile(MODULE, "silence.py", "exec"), defined)
    [name] = defined["__all__"]
    kind = defined[name]
    known = registry.QUERY_TYPES
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(registry, "QUERY_TYPES", MappingProxyType({**known, kind.mechanism: kind}))
        yield kind


@pytest.mark.parametrize("epsilon", ["0.1", "1", "5"])
def test_it_is_as_private_as_it_says(silence: Any, epsilon: str) -> None:
    channel = silence(0.0, Fraction(epsilon)).channel()
    for row in channel:
        assert math.fsum(row) == pytest.approx(1, rel=1e-12)
    ratios = [max(column) / min(column) for column in zip(*channel, strict=True)]
    assert max(ratios) == pytest.approx(math.exp(float(epsilon)), rel=1e-12)


def p_value(query: Query, sample: Any, cell: int) -> float:
    rng = Random(5)
    seen = Counter(sample(query, cell, rng.randrange) for _ in range(40_000))
    expected = [40_000 * chance for chance in query.channel()[cell]]
    return float(chisquare([seen[answer] for answer in range(query.n_answers)], expected).pvalue)


@pytest.mark.parametrize("cell", [0, 1])
def test_it_draws_what_its_channel_says(silence: Any, cell: int) -> None:
    """Seeded; of other seeds one in a million would fail. A sampler that is silent a third of the time does."""

    def too_loud(query: Any, cell: int, randbelow: RandBelow) -> int:
        return 2 if randbelow(3) == 0 else query.sample(cell, lambda n: 0 if n == 2 else randbelow(n))

    query = silence(0.0, 1)
    assert p_value(query, silence.sample, cell) > 1e-6
    assert p_value(query, too_loud, cell) < 1e-6


def test_it_goes_over_the_wire(silence: Any) -> None:
    query = silence(6.25, Fraction("0.5"), "log")
    assert parse_query(query.to_json()) == query
    with pytest.raises(InvalidQuery, match="exactly the fields cut, epsilon, transform"):
        parse_query({"mechanism": "silence", "epsilon": 1})


def test_the_estimator_learns_from_it(silence: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """At five standard deviations; the trial draws from the system's generator, so one run in a million fails."""
    names: dict[str, Any] = {"Silence": silence}
    exec(compile(TRIAL, "trial.py", "exec"), names)
    mean, sd = map(float, capsys.readouterr().out.split(" ± "))
    assert abs(names["mu"].mean - 50) < 5 * names["mu"].sd
    assert 0.2 < sd < 3
    assert mean == pytest.approx(names["mu"].mean, abs=0.05)
