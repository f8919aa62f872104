"""Compute a posterior from a count table, without a server."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from threadpoolctl import threadpool_limits

from dither_client.commands._shared import Json, print_json, read_object, working
from dither_client.posterior.posterior import Particles, parse_posterior
from dither_client.posterior.sentences import unit_text
from dither_client.posterior.wire import to_json
from dither_client.tables.counts import read_table
from dither_estimator.learning.learners import new_learner
from dither_estimator.learning.summary import Posterior
from dither_estimator.likelihood.institutions import members_of
from dither_estimator.specification.specification import Specification

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
    fields = read_object(spec)
    specification = Specification.from_json(fields)
    table = read_table(counts)
    specification.check_table(table)
    with threadpool_limits(1, user_api="blas"), working("Learning the table"):
        learner = new_learner(specification, seed)
        learner.learn_counts(table.queries)
        learner.learn_members(members_of(table.members))
        posterior = learner.posterior()
    if as_json:
        print_json(posterior.to_json())
    else:
        _print(posterior, counts.name, fields)


def _print(posterior: Posterior, name: str, survey: Mapping[str, Any]) -> None:
    """What `dither posterior` prints, and what the computation took."""
    found = parse_posterior(name, to_json(posterior.described(posterior.reply())), _no_particles)
    typer.echo(found.text(unit_text(survey), survey.get("decimals")))
    evidence = "" if posterior.log_evidence is None else f"log evidence {posterior.log_evidence:.2f}; "
    typer.echo(
        f"{posterior.answers:,} answers to {posterior.queries:,} queries; {evidence}"
        f"effective sample size {posterior.ess:.0f} of {posterior.particles:,}"
    )


def _no_particles() -> Particles:
    raise NotImplementedError("what is printed needs none")
