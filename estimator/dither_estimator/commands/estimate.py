"""Compute a posterior from a count table, without a server."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from threadpoolctl import threadpool_limits

from dither_client.commands._shared import Json, console, fail, print_json, read_object, working
from dither_client.posterior.particles import Particles
from dither_client.posterior.reading import parse_posterior
from dither_client.posterior.sentences import unit_text
from dither_client.posterior.wire import to_json
from dither_client.tables.counts import CountTable, read_table
from dither_estimator.learning.grouped_learner import GroupedLearner
from dither_estimator.learning.learners import new_learner
from dither_estimator.learning.period_learner import PeriodLearner
from dither_estimator.learning.summary import Posterior
from dither_estimator.likelihood.institutions import members_of
from dither_estimator.specification.specification import Specification

__all__ = ["app"]

EXTRA = "estimator"

app = typer.Typer(add_completion=False)

_NOT_IDENTIFIED = (
    "Numbers of the people would say what was assumed, not what was answered; --json has them all the same."
)


@app.command()
def estimate(
    spec: Annotated[
        str | None,
        typer.Option(
            help="The collection's specification, a JSON file, or - for standard input. A folder of --parquet-by-day "
            "has its own.",
            show_default=False,
        ),
    ] = None,
    counts: Annotated[
        Path | None,
        typer.Option(help="The count table, .csv or .parquet, as dither export writes it.", show_default=False),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="URI",
            help="Or the answers themselves, as dither export --answers writes them, counted where they are: a folder "
            "of dither export --parquet-by-day; .parquet or .csv files, such as 'answers/*.parquet'; "
            "duckdb://FILE#TABLE, postgresql://HOST/DATABASE#TABLE, and other engines of Ibis. Such a folder has each "
            "ticket once; in any other table rows of one ticket count once, which takes many times as long.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the particles.")] = 0,
    as_json: Json = False,
) -> None:
    """Compute the posterior of a count table, or of a table of answers in files or in a database.

    For example: dither estimate --spec wages.json --counts counts.csv --json

    dither estimate --spec wages.json --table 'postgresql://warehouse/surveys#wages'
    """
    given = None if spec is None else read_object(spec)
    counted, found, name = _read(counts, table)
    fields = found if given is None else given
    if fields is None:
        fail("give the collection's specification with --spec: the table does not have it", 2)
    specification = Specification.from_json(fields)
    specification.check_table(counted)
    with threadpool_limits(1, user_api="blas"), working("Learning the table"):
        posterior = _posterior(specification, counted, seed)
    cuts = [cut for query in counted.queries for cut in query.edges] + [
        cut for each in counted.members for cut in each.cuts
    ]
    if caution := specification.caution_of(cuts):
        console.print(f"Warning: {caution}.")
    if as_json:
        print_json(posterior.to_json())
    else:
        _print(posterior, name, fields, specification, specification.unknown_at(cuts))


def _posterior(specification: Specification, counted: CountTable, seed: int) -> Posterior:
    if specification.groups is not None:
        grouped = GroupedLearner(specification, seed)
        grouped.learn_group_counts(counted.groups_in_order)
        return grouped.posterior()
    if specification.period is not None:
        over_time = PeriodLearner(specification, seed)
        over_time.learn_period_counts(counted.periods_in_order)
        return over_time.posterior()
    learner = new_learner(specification, seed)
    learner.learn_counts(counted.in_order)
    learner.learn_members(members_of(counted.members))
    return learner.posterior()


def _read(counts: Path | None, table: str | None) -> tuple[CountTable, Mapping[str, Any] | None, str]:
    """The count table, the specification where it comes with it, and a name for both."""
    if counts is not None and table is None:
        return read_table(counts), None, counts.name
    if table is None or counts is not None:
        fail("give the answers with either --counts or --table", 2)
    from dither_client.tables.warehouse import answer_counts

    with working("Counting the answers"):
        return *answer_counts(table), "the table"


def _print(
    posterior: Posterior, name: str, survey: Mapping[str, Any], specification: Specification, unknown: Sequence[str]
) -> None:
    """What `dither posterior` prints, and what the computation took; no numbers where parameters are `unknown`."""
    terms = {**survey, "family": specification.family.name, "transform": specification.transform}
    found = parse_posterior(name, to_json(posterior.described(posterior.reply())), _no_particles, terms=terms)
    if unknown:
        typer.echo(f"{found.title}\n  Not identified: {' and '.join(unknown)}. {_NOT_IDENTIFIED}")
    else:
        typer.echo(found.text(unit_text(survey), survey.get("decimals")))
    evidence = "" if posterior.log_evidence is None else f"log evidence {posterior.log_evidence:.2f}; "
    typer.echo(
        f"{posterior.answers:,} answers to {posterior.queries:,} queries; {evidence}"
        f"effective sample size {posterior.ess:.0f} of {posterior.particles:,}"
    )


def _no_particles() -> Particles:
    raise NotImplementedError("what is printed needs none")
