"""What `dither estimate` does with a count table: it is learnt, and the posterior printed."""

from collections.abc import Mapping, Sequence
from typing import Any

import typer
from threadpoolctl import threadpool_limits

from dither_client.commands._shared import console, print_json, working
from dither_client.posterior.particles import Particles
from dither_client.posterior.reading import parse_posterior
from dither_client.posterior.sentences import unit_text
from dither_client.posterior.wire import to_json
from dither_client.tables.counts import CountTable
from dither_estimator.learning.grouped_learner import GroupedLearner
from dither_estimator.learning.learners import new_learner
from dither_estimator.learning.period_learner import PeriodLearner
from dither_estimator.learning.summary import Posterior
from dither_estimator.likelihood.institutions import members_of
from dither_estimator.specification.caution import caution_of, unknown_at
from dither_estimator.specification.specification import Specification
from dither_estimator.specification.table import check_table

__all__ = ["print_posterior"]

_NOT_IDENTIFIED = (
    "Numbers of the people would say what was assumed, not what was answered; --json has them all the same."
)


def print_posterior(counted: CountTable, fields: Mapping[str, Any], name: str, seed: int, *, as_json: bool) -> None:
    """The posterior of a collection with the specification `fields`; `name` is the table's."""
    specification = Specification.from_json(fields)
    check_table(specification, counted)
    with threadpool_limits(1, user_api="blas"), working("Learning the table"):
        posterior = _posterior(specification, counted, seed)
    cuts = [cut for query in counted.queries for cut in query.edges] + [
        cut for each in counted.members for cut in each.cuts
    ]
    if warning := caution_of(specification, cuts):
        console.print(f"Warning: {warning}.")
    if as_json:
        print_json(posterior.to_json())
    else:
        _print(posterior, name, fields, specification, unknown_at(specification, cuts))


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
