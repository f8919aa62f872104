"""What `dither estimate` and `dither verify` do with a count table: it is learnt, and the posterior printed or read."""

from collections.abc import Mapping, Sequence
from typing import Any

import typer
from threadpoolctl import threadpool_limits

from dither_client.commands._shared import console, print_json, working
from dither_client.posterior.particles import Particles
from dither_client.posterior.posterior import Posterior as ReadPosterior
from dither_client.posterior.reading import parse_posterior
from dither_client.posterior.sentences import unit_text
from dither_client.posterior.wire import to_json
from dither_client.tables.counts import CountTable
from dither_estimator.learning.any_learner import any_learner
from dither_estimator.learning.grouped_learner import GroupedLearner
from dither_estimator.learning.period_learner import PeriodLearner
from dither_estimator.learning.summary import Posterior
from dither_estimator.likelihood.institutions import members_of
from dither_estimator.specification.caution import caution_of, unknown_at
from dither_estimator.specification.specification import Specification
from dither_estimator.specification.table import check_table

__all__ = ["as_read", "learnt", "print_posterior"]

_NOT_IDENTIFIED = (
    "Numbers of the people would say what was assumed, not what was answered; --json has them all the same."
)


def print_posterior(counted: CountTable, fields: Mapping[str, Any], name: str, seed: int, *, as_json: bool) -> None:
    """The posterior of a collection with the specification `fields`; `name` is the table's."""
    specification = Specification.from_json(fields)
    check_table(specification, counted)
    with working("Learning the table"):
        posterior = learnt(specification, counted, seed)
    cuts = [cut for query in counted.queries for cut in query.edges] + [
        cut for each in counted.members for cut in each.cuts
    ]
    if warning := caution_of(specification, cuts):
        console.print(f"Warning: {warning}.")
    if as_json:
        print_json(posterior.to_json())
    else:
        _print(posterior, name, fields, specification, unknown_at(specification, cuts))


def learnt(specification: Specification, counted: CountTable, seed: int) -> Posterior:
    """The posterior of what was counted; tables with the same counts give the same, to the last digit."""
    with threadpool_limits(1, user_api="blas"):
        learner = any_learner(specification, seed)
        if isinstance(learner, GroupedLearner):
            learner.learn_group_counts(counted.groups_in_order)
        elif isinstance(learner, PeriodLearner):
            learner.learn_period_counts(counted.periods_in_order)
        else:
            learner.learn_counts(counted.in_order)
            learner.learn_members(members_of(counted.members))
        return learner.posterior()


def as_read(posterior: Posterior, name: str, terms: Mapping[str, Any]) -> ReadPosterior:
    """The posterior as an analyst reads one, without particles; `terms` are the collection's, or its specification."""
    return parse_posterior(name, to_json(posterior.described(posterior.reply())), _no_particles, terms=terms)


def _print(
    posterior: Posterior, name: str, survey: Mapping[str, Any], specification: Specification, unknown: Sequence[str]
) -> None:
    """What `dither posterior` prints, and what the computation took; no numbers where parameters are `unknown`."""
    terms = {**survey, "family": specification.family.name, "transform": specification.transform}
    found = as_read(posterior, name, terms)
    if unknown:
        typer.echo(f"{found.title}\n  Not identified: {' and '.join(unknown)}. {_NOT_IDENTIFIED}")
    else:
        typer.echo(found.text(unit_text(survey), survey.get("decimals")))
    evidence = "" if posterior.log_evidence is None else f"log evidence {posterior.log_evidence:.2f}; "
    typer.echo(
        f"{posterior.answers:,} answer{'' if posterior.answers == 1 else 's'} to "
        f"{posterior.queries:,} quer{'y' if posterior.queries == 1 else 'ies'}; {evidence}"
        f"effective sample size {posterior.ess:.0f} of {posterior.particles:,}"
    )


def _no_particles() -> Particles:
    raise NotImplementedError("what is printed needs none")
