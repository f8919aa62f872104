"""Compute a posterior from a count table, without a server."""

from pathlib import Path
from typing import Annotated

import typer
from threadpoolctl import threadpool_limits

from dither_client.commands._shared import Json, print_json, print_table, read_object, working
from dither_client.mechanisms.epsilon import by_epsilon_lines
from dither_client.posterior.sentences import comparison_lines, poison_lines, population_lines
from dither_client.tables.counts import read_table
from dither_estimator.learning.learners import new_learner
from dither_estimator.learning.summary import Posterior
from dither_estimator.likelihood.institutions import members_of
from dither_estimator.specification.specification import Specification, SpecificationError

__all__ = ["app"]

app = typer.Typer(add_completion=False)


@app.command()
def estimate(
    spec: Annotated[str, typer.Option(help="The collection's specification, a JSON file, or - for standard input.")],
    counts: Annotated[Path, typer.Option(help="The count table, .csv or .parquet, as dither export writes it.")],
    seed: Annotated[int, typer.Option(min=0, help="Seed of the particles.")] = 0,
    as_json: Json = False,
) -> None:
    """Compute the posterior of a count table, from any number of machines or a warehouse's GROUP BY.

    For example: dither estimate --spec wages.json --counts counts.csv --json
    """
    specification = Specification.from_json(read_object(spec))
    table = read_table(counts)
    transforms = {query.transform for query in table.queries} | {question.transform for question in table.members}
    if transforms - {specification.transform}:
        raise SpecificationError(f"the table has queries whose transform is not {specification.transform}")
    with threadpool_limits(1, user_api="blas"), working("Learning the table"):
        learner = new_learner(specification, seed)
        learner.learn_counts(table.queries)
        learner.learn_members(members_of(table.members))
        posterior = learner.posterior()
    if as_json:
        print_json(posterior.to_json())
    else:
        _print(posterior)


def _print(posterior: Posterior) -> None:
    rows = [
        (name, *(f"{x:.6g}" for x in (s.mean, s.sd, s.q05, s.q50, s.q95))) for name, s in posterior.parameters.items()
    ]
    if rows:
        print_table(["", "mean", "sd", "5%", "50%", "95%"], rows)
    described = posterior.described(posterior.reply())
    if described.categories:
        print_table(
            ["category", "share", "sd", "5%", "50%", "95%"],
            [
                (name, *(f"{x:.4g}" for x in (s.mean, s.sd, s.q05, s.q50, s.q95)))
                for name, s in described.categories.items()
            ],
        )
    for line in population_lines(described.quantiles, described.distribution, described.atoms, described.above):
        typer.echo(line)
    for line in by_epsilon_lines(posterior.answers_by_epsilon):
        typer.echo(line)
    if posterior.members:
        typer.echo(f"counts of {posterior.members:,} members of institutions")
    evidence = "" if posterior.log_evidence is None else f"log evidence {posterior.log_evidence:.2f}; "
    typer.echo(
        f"{posterior.answers:,} answers to {posterior.queries:,} queries; {evidence}"
        f"effective sample size {posterior.ess:.0f} of {posterior.particles:,}"
    )
    if posterior.comparison is not None:
        for line in comparison_lines(posterior.comparison.families, posterior.comparison.verdict):
            typer.echo(line)
    for line in poison_lines(posterior.poison):
        typer.echo(line)
