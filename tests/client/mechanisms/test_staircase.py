"""Staircase queries: what is refused, the channel by exact enumeration, the sampler against it, count tables.

The sampler's tests are Pearson's chi-square over whole rows, each at level 1e-6 / number of rows, so that a correct
sampler fails any of them with a probability of 1e-6 at most; seeds are fixed. The broken samplers, with as many draws,
must fail.
"""

import json
import math
import pickle
import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from scipy.stats import chi2

from dither_client import InvalidQuery, InvalidTable, Laplace, Query, RandomizedResponse, Staircase, parse_query
from dither_client.mechanisms.sampling import RandBelow, bernoulli_exp
from dither_client.mechanisms.staircase import MAX_SETS, MAX_WEIGHT
from dither_client.tables.counts import COUNT_COLUMNS, counts_rows, read_table, write_table

FALSE_ALARM = 1e-6
DRAWS = 4_000
EPSILONS = ("0.01", "0.5", "1.234567", "5", "20")


def subset_selection(cells: int, size: int, epsilon: Any) -> Staircase:
    sets = list(combinations(range(cells), size))
    return Staircase(range(cells - 1), sets, [1] * len(sets), epsilon)


def sides_and_inside(epsilon: Any, transform: str = "identity") -> Staircase:
    """Which side of the middle, or outside or inside; the weights tell how often either."""
    return Staircase([-1, 0, 1], [[0, 1], [0, 3], [1, 2], [2, 3]], [3, 2, 2, 3], epsilon, transform)


def queries(epsilon: str) -> list[Staircase]:
    return [
        Staircase([0], [[0], [1]], [1, 1], epsilon),
        Staircase([-1, 1], [[0, 2], [1]], [1, 1], epsilon),
        Staircase([-1, 0, 1], [[0, 1], [0, 3], [1, 2], [2, 3]], [7, 2, 2, 7], epsilon),
        Staircase([-1, 0, 1], [[0], [0, 1], [1, 2, 3], [2, 3]], [1, 5, 1, 5], epsilon),
        subset_selection(5, 2, epsilon),
        subset_selection(8, 1, epsilon),
    ]


ALL = [query for epsilon in EPSILONS for query in queries(epsilon)]
WIRE = {"mechanism": "staircase", "cuts": [-1, Decimal("0.5")], "sets": [[0, 2], [1]], "weights": [1, 1]} | {
    "epsilon": Decimal("0.1"),
    "transform": "log",
}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cuts": []}, "1 to 63 cuts"),
        ({"cuts": list(range(64))}, "1 to 63 cuts"),
        ({"cuts": [1, 1]}, "increase strictly"),
        ({"cuts": [1, math.inf]}, "cuts must be finite"),
        ({"cuts": "12"}, "cuts must be a list"),
        ({"sets": 3}, "sets must be a list"),
        ({"sets": "01"}, "sets must be a list"),
        ({"sets": [[0, 1, 2]]}, "2 to 64 sets"),
        ({"sets": [[0]] * 65, "weights": [1] * 65}, "2 to 64 sets"),
        ({"sets": [[0, 2], 1]}, "each set must be a list"),
        ({"sets": [[0, 2], "1"]}, "each set must be a list"),
        ({"sets": [[0, 2], [True]]}, "whole numbers from 0 to 2"),
        ({"sets": [[0, 2], [1.0]]}, "whole numbers from 0 to 2"),
        ({"sets": [[0, 3], [1]]}, "whole numbers from 0 to 2"),
        ({"sets": [[0, 2], [-1]]}, "whole numbers from 0 to 2"),
        ({"sets": [[2, 0], [1]]}, "cells of a set must increase"),
        ({"sets": [[0, 0, 2], [1]]}, "cells of a set must increase"),
        ({"sets": [[], [0, 1]]}, "some of the cells, but not all"),
        ({"sets": [[0, 1, 2], [1]]}, "some of the cells, but not all"),
        ({"sets": [[1], [0, 2]]}, "differ and be in increasing order"),
        ({"sets": [[1], [1]]}, "differ and be in increasing order"),
        ({"sets": [[0], [1]]}, "same sum for every cell"),
        ({"weights": [1, 2]}, "same sum for every cell"),
        ({"weights": [1]}, "2 weights, one for each set, not 1"),
        ({"weights": [1, 1, 1]}, "2 weights, one for each set, not 3"),
        ({"weights": [2, 2]}, "no common divisor"),
        ({"weights": [0, 0]}, "weights must be whole numbers from 1"),
        ({"weights": [1, True]}, "weights must be whole numbers"),
        ({"weights": [1.0, 1]}, "weights must be whole numbers"),
        ({"weights": [MAX_WEIGHT + 1, 1]}, "to 1,000,000"),
        ({"weights": "11"}, "weights must be a list"),
        ({"epsilon": 0}, "epsilon must be above 0"),
        ({"transform": "sqrt"}, "transform must be"),
        ({"low": 1}, "exactly the fields"),
    ],
)
def test_refused_queries(change: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidQuery, match=says) as caught:
        parse_query({**WIRE, **change})
    assert "\n" not in str(caught.value)


def test_the_largest_are_allowed() -> None:
    cells = range(MAX_SETS)
    finest = Staircase(cells[:-1], [[cell] for cell in cells], [1] * MAX_SETS, 1)
    assert (finest.n_cells, finest.n_answers) == (64, 64)
    heaviest = Staircase([0, 1, 2], [[0, 1], [0, 3], [1, 2], [2, 3]], [MAX_WEIGHT, 1, 1, MAX_WEIGHT], 1)
    assert math.fsum(heaviest.channel()[0]) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("query", ALL)
def test_json_round_trip(query: Staircase) -> None:
    again = parse_query(json.loads(json.dumps(query.to_json()), parse_float=Decimal))
    assert again == query == pickle.loads(pickle.dumps(query))
    assert (hash(again), again.id) == (hash(query), query.id)


def test_the_name_of_a_question_stays() -> None:
    assert parse_query(WIRE).id == "25e2cf401d697e0689d71d40504e9bea"
    assert len({query.id for query in ALL} | {sides_and_inside("0.5").id}) == len(ALL) + 1


def test_the_channels_of_one_key_are_one() -> None:
    """Cuts do not matter to the channel; sets, weights, ε and the number of cells do."""
    moved = Staircase([5, 6], [[0, 2], [1]], [1, 1], 1, "log")
    assert moved.channel_key == Staircase([-1, 1], [[0, 2], [1]], [1, 1], 1).channel_key
    assert len({query.channel_key for query in ALL} | {sides_and_inside("0.5").channel_key}) == len(ALL) + 1


def up(x: float) -> float:
    return math.nextafter(x, math.inf)


def down(x: float) -> float:
    return math.nextafter(x, -math.inf)


@pytest.mark.parametrize("query", ALL)
def test_the_privacy_is_epsilon_by_enumeration(query: Staircase) -> None:
    """`P(y | x) (V + (e^ε - 1) c)` is `v_y e^ε` or `v_y`: polynomials in e^ε with whole coefficients, compared exactly.

    A row is `a + b e^ε` with `a = Σ v_y` over sets without the cell and `b` over those with it. If `(a, b)` is one pair
    for all cells, normalisation is common to all rows and a column's ratio is 1, `e^ε` or its inverse. The floating
    channel is then checked against `ε` rounded outwards.
    """
    rows = set()
    for cell in range(query.n_cells):
        within = [cell in some for some in query.sets]
        inside = sum(weight for weight, own in zip(query.weights, within, strict=True) if own)
        rows.add((sum(query.weights) - inside, inside))
    assert len(rows) == 1
    assert all(0 < len(some) < query.n_cells for some in query.sets)

    most = math.exp(up(float(query.epsilon)))
    for _ in range(8):
        most = up(most)
    for column in zip(*query.channel(), strict=True):
        assert up(up(max(column) / min(column))) > math.exp(down(float(query.epsilon)))
        assert down(max(column) / min(column)) <= most
    for row in query.channel():
        assert math.fsum(row) == pytest.approx(1, rel=1e-12)


def test_unequal_coverage_would_cost_privacy() -> None:
    """The check that `Staircase` makes is needed: without it a column's ratio exceeds e^ε."""
    weights, sets = [1, 1, 1], [[0], [0, 1], [2]]
    entries = [[w * math.exp(cell in some) for some, w in zip(sets, weights, strict=True)] for cell in (0, 2)]
    rows = [[entry / sum(row) for entry in row] for row in entries]
    assert max(max(a / b, b / a) for a, b in zip(*rows, strict=True)) > math.e * 1.1
    with pytest.raises(InvalidQuery, match="same sum"):
        Staircase([0, 1], sets, weights, 1)


def test_singletons_are_randomized_response_and_all_pairs_subset_selection() -> None:
    for epsilon in EPSILONS:
        plain, other = subset_selection(6, 1, epsilon).channel(), RandomizedResponse(range(5), epsilon).channel()
        assert [entry for row in plain for entry in row] == pytest.approx([e for row in other for e in row], rel=1e-12)
    e = math.exp(1.5)  # Ye & Barg 2018, equation (4)
    inside = e * 5 / (2 * e + 3) / (math.comb(5, 2))
    for cell, row in enumerate(subset_selection(5, 2, "1.5").channel()):
        for some, entry in zip(combinations(range(5), 2), row, strict=True):
            assert entry == pytest.approx(inside if cell in some else inside / e, rel=1e-12)


Sampler = Callable[[int, RandBelow], int]


def p_value(query: Staircase, cell: int, sampler: Sampler) -> float:
    randbelow = random.Random(f"{query} {cell}").randrange
    counts = Counter(sampler(cell, randbelow) for _ in range(DRAWS))
    means = [DRAWS * probability for probability in query.channel()[cell]]
    rare = [answer for answer, mean in enumerate(means) if mean < 10]
    classes = [[answer] for answer, mean in enumerate(means) if mean >= 10]
    if rare:
        classes = [[*classes[0], *rare], *classes[1:]]
    pairs = [(sum(means[a] for a in some), sum(counts[a] for a in some)) for some in classes]
    return 1.0 if len(pairs) == 1 else float(chi2.sf(sum((n - m) ** 2 / m for m, n in pairs), len(pairs) - 1))


def test_the_sampler_follows_the_channel() -> None:
    sampled = [query for epsilon in EPSILONS for query in queries(epsilon)[:5]]
    level = FALSE_ALARM / sum(query.n_cells for query in sampled)
    for query in sampled:
        for cell in range(query.n_cells):
            assert p_value(query, cell, query.sample) > level


def without_weights(query: Staircase) -> Sampler:
    """Proposals are uniform."""

    def sample(cell: int, randbelow: RandBelow) -> int:
        while True:
            proposal = randbelow(query.n_answers)
            accepted = bernoulli_exp(query.epsilon.numerator, query.epsilon.denominator, randbelow)
            if accepted or cell in query.sets[proposal]:
                return proposal

    return sample


def without_rejection(query: Staircase) -> Sampler:
    """A refused proposal is answered by the first set that holds the cell, instead of another proposal."""

    def sample(cell: int, randbelow: RandBelow) -> int:
        proposal = random.Random(randbelow(2**40)).choices(range(query.n_answers), query.weights)[0]
        accepted = bernoulli_exp(query.epsilon.numerator, query.epsilon.denominator, randbelow)
        if accepted or cell in query.sets[proposal]:
            return proposal
        return next(answer for answer, some in enumerate(query.sets) if cell in some)

    return sample


@pytest.mark.parametrize("broken", [without_weights, without_rejection])
def test_broken_samplers_are_rejected(broken: Callable[[Staircase], Sampler]) -> None:
    query = sides_and_inside("1.234567")
    level = FALSE_ALARM / query.n_cells
    assert any(p_value(query, cell, broken(query)) < level for cell in range(query.n_cells))
    assert all(p_value(query, cell, query.sample) > level for cell in range(query.n_cells))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_value_on_a_cut_belongs_to_the_cell_below(value: float) -> None:
    query = sides_and_inside(1)
    assert query.cell(value) == sum(cut < value for cut in (-1, 0, 1))
    assert 0 <= query.answer(value) < query.n_answers


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_count_tables(tmp_path: Path, ending: str) -> None:
    """Beside other mechanisms, which alone are written as ever."""
    path = tmp_path / f"counts.{ending}"
    others: dict[Query, list[int]] = {Laplace(0, 1, 1, 1): [3, 4], RandomizedResponse([0, 1], "0.5"): [1, 2, 3]}
    counts = {**others, sides_and_inside("0.1", "log"): [5, 0, 7, 1], Staircase([0], [[0], [1]], [1, 1], 2): [0, 9]}
    write_table(path, counts_rows(counts))
    assert read_table(path).queries == counts
    write_table(path, counts_rows(others))
    assert read_table(path).queries == others
    names = parquet.read_schema(path).names if ending == "parquet" else path.read_text().splitlines()[0].split(",")
    assert tuple(names) == COUNT_COLUMNS


def test_the_columns_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    write_table(path, counts_rows({Laplace(0, 1, 1, 1): [3, 4], sides_and_inside("0.1"): [5, 0, 7, 1]}))
    lines = path.read_text().splitlines()
    assert lines[0] == ",".join(COUNT_COLUMNS) + ",sets,weights"
    assert lines[1] == "laplace,0.0,1.0,1,,1,identity,0,3,,"
    assert lines[3] == "staircase,,,,-1.0 0.0 1.0,0.1,identity,0,5,0 1|0 3|1 2|2 3,3 2 2 3"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("staircase,,,,0,1,identity,0,5,0|x,1 1", "row 1 of counts.csv: sets must hold whole numbers"),
        ("staircase,,,,0,1,identity,0,5,0|1,1 1.5", "row 1 of counts.csv: weights must hold whole numbers"),
        ("staircase,,,,0,1,identity,0,5,0|1,", "2 weights, one for each set, not 0"),
        ("staircase,,,,0,1,identity,0,5,,1 1", "2 to 64 sets, not 1"),
        ("staircase,,,,0,1,identity,2,5,0|1,1 1", "answer must be 0 to 1, not 2"),
        ("staircase,0,,,0,1,identity,0,5,0|1,1 1", "low must be blank for staircase"),
        ("randomized_response,,,,0,1,identity,0,5,0|1,", "sets must be blank for randomized_response"),
    ],
)
def test_wrong_tables(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(",".join(COUNT_COLUMNS) + ",sets,weights\n" + line + "\n")
    with pytest.raises(InvalidTable, match=says):
        read_table(path)


def test_a_table_without_the_columns_lacks_the_sets(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(",".join(COUNT_COLUMNS) + "\nstaircase,,,,0,1,identity,0,5\n")
    with pytest.raises(InvalidTable, match="2 to 64 sets"):
        read_table(path)


def test_epsilon_is_the_decimal_that_is_written() -> None:
    assert sides_and_inside("0.1").epsilon == Fraction(1, 10)
