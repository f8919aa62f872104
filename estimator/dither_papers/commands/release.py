"""Release one private estimate of a share, as a curator who holds everyone's values."""

from pathlib import Path
from typing import Annotated

import typer

from dither_client.commands._shared import Json, fail, print_json
from dither_client.mechanisms.epsilon import epsilon_text, json_epsilon
from dither_client.tables.values import read_values
from dither_papers.bayes_point.problem import InvalidProblem
from dither_papers.bayes_point.share import release_share

__all__ = ["app"]

EXTRA = "papers"

app = typer.Typer(add_completion=False)


@app.command()
def release(
    epsilon: Annotated[
        str, typer.Option(metavar="NUMBER", help="ε that everyone in the data spends.", show_default=False)
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="One value for each person, 1 for yes or 0 for no: a .csv or .parquet file, or one a line.",
            show_default=False,
        ),
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="The column of --data that holds the values.", show_default="the only one")
    ] = None,
    count: Annotated[
        int | None, typer.Option(help="Or how many people have a yes, with --people.", show_default=False)
    ] = None,
    people: Annotated[int | None, typer.Option(help="How many people there are.", show_default=False)] = None,
    prior: Annotated[str, typer.Option(metavar="A,B", help="The two parameters of the share's Beta prior.")] = "1,1",
    as_json: Json = False,
) -> None:
    """Release one estimate of the share of people with a yes, under ε-differential privacy.

    No ε-private estimator has a smaller mean squared error for the prior. The number of people is public. Every call
    draws new noise and spends ε of everyone again: charge it.

    For example: dither release --data visits.csv --column smokes --epsilon 0.5

    or, from counts: dither release --count 412 --people 1800 --epsilon 0.5 --prior 2,8
    """
    count, people = _counted(data, column, count, people)
    found = release_share(count, people, epsilon, _prior(prior))
    if as_json:
        estimate = {"estimate": found.estimate, "sd": found.sd, "noisy_count": found.noisy_count}
        print_json(estimate | {"people": people, "epsilon": json_epsilon(found.epsilon)})
        return
    typer.echo(f"share {found.estimate:.4g}, standard deviation {found.sd:.2g}, of {people:,} people")
    typer.echo(f"charge ε = {epsilon_text(found.epsilon)} to everyone in the data")


def _counted(data: Path | None, column: str | None, count: int | None, people: int | None) -> tuple[int, int]:
    """How many have a yes, and how many there are."""
    if data is None:
        if count is None or people is None or column is not None:
            fail("give everyone's values with --data, or both --count and --people", 2)
        return count, people
    if count is not None or people is not None:
        fail("give either --data, or --count and --people", 2)
    values = read_values(data, column)
    if not set(values) <= {0.0, 1.0}:
        raise InvalidProblem(f"every value in {data.name} must be 0 or 1")
    return int(sum(values)), len(values)


def _prior(text: str) -> tuple[float, float]:
    try:
        a, b = map(float, text.split(","))
    except ValueError:
        raise InvalidProblem("prior must be two numbers such as 1,1") from None
    return a, b
