"""How near the questions about a whole distribution come to any ε-LDP mechanism, in populations of every shape.

    python -m benchmarks.whole_distribution [RESPONDENTS [EPSILON,…]]

The limit on 12 and 16 cells is that of all columns there are; the one that efficiencies refer to is on fine cells.
"""

import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction

from threadpoolctl import threadpool_limits

from benchmarks.any_distribution import populations
from dither_client import RandomizedResponse
from dither_estimator.design.limit import Limit
from dither_estimator.nonparametric.known import KnownPopulation
from dither_estimator.nonparametric.prospect import expect
from dither_estimator.nonparametric.questions import Templates, quantile_questions
from testing.tables import print_table

__all__ = ["main"]

_RESPONDENTS = 20_000
_EPSILONS = ("1", "2")
_CELLS = (12, 16)
_NUMBERS = range(3, 8)
"""Numbers of cells of randomised response."""


def main(arguments: Sequence[str]) -> None:
    """Prints the table."""
    respondents = int(arguments[0]) if arguments else _RESPONDENTS
    epsilons = arguments[1].split(",") if len(arguments) > 1 else _EPSILONS
    columns = (
        *("population", "ε", "limit", "gap"),
        *(f"limit on {cells} cells" for cells in _CELLS),
        *("their gap", "asked", "to as many answers", *(f"{number} cells" for number in _NUMBERS)),
    )
    title = f"The share of the criterion that remains with the best mechanism: {respondents:,} respondents"
    print_table(title, columns, _rows(respondents, epsilons))


def _rows(respondents: int, epsilons: Sequence[str]) -> Iterator[tuple[object, ...]]:
    for name in populations():
        for epsilon in epsilons:
            yield name, epsilon, *_row(name, respondents, Fraction(epsilon))


def _row(name: str, respondents: int, epsilon: Fraction) -> Iterator[str]:
    people = populations()[name]
    templates = Templates.of(RandomizedResponse((0.0,), epsilon))
    prospect = expect(KnownPopulation(people.cdf, people.points, people.support), templates, respondents)
    found = prospect.certificate(prospect.questions(templates))
    coarse = [prospect.limit_on(cells, epsilon) for cells in _CELLS]
    yield f"{found.limit.criterion:.4g}"
    yield _relative(found.limit)
    yield from (f"{limit.criterion:.4g}" for limit in coarse)
    yield _relative(max(coarse, key=lambda limit: limit.gap / limit.criterion))
    yield f"{found.efficiency:.1%}"
    yield f"{found.enough / respondents:.1%}"
    for number in _NUMBERS:
        reached = prospect.criterion(quantile_questions(prospect.distribution, templates, number))
        yield f"{found.limit.criterion / reached:.1%}"


def _relative(limit: Limit) -> str:
    return f"{limit.gap / limit.criterion:.2%}"


if __name__ == "__main__":
    with threadpool_limits(1):
        main(sys.argv[1:])
