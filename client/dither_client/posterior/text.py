"""A posterior as text and as HTML: what is known of the population in sentences, a table of numbers, and remarks."""

from html import escape
from typing import TYPE_CHECKING

from dither_client.mechanisms.epsilon import by_epsilon_lines
from dither_client.posterior.digits import population_numbers, summary_numbers
from dither_client.posterior.names import has_log_median, number_name
from dither_client.posterior.parts import component_lines, group_lines, period_lines
from dither_client.posterior.sentences import (
    ONLY_ASSUMED,
    can_leave_out,
    category_lines,
    comparison_lines,
    misfit_sentence,
    poison_lines,
    population_lines,
    zeros_and_ones,
)
from dither_client.posterior.wire import ParameterSummary

if TYPE_CHECKING:
    from dither_client.posterior.posterior import Posterior

__all__ = ["posterior_html", "posterior_text"]


def posterior_text(posterior: "Posterior", unit: str = "", decimals: int | None = None) -> str:
    """Lines of text, where values have a unit and at most so many decimals."""
    rows = _rows(posterior, unit, decimals)
    width = max((len(name) for name, *_ in rows), default=0)
    table = [
        f"{name:<{width}}  {estimate}{f' ± {sd}' if sd else ''}  (90%: {interval})"
        for name, estimate, sd, interval in rows
    ]
    lines = [*_people(posterior, unit, decimals), *table, *_remarks(posterior, unit, decimals)]
    return "\n".join([posterior.title, *(f"  {line}" for line in lines)])


def posterior_html(posterior: "Posterior", unit: str = "", decimals: int | None = None) -> str:
    """A table for notebooks, and around it what the text says besides."""
    head = "".join(f"<th>{name}</th>" for name in ("", "estimate", "sd", "90% interval"))
    rows = "".join(
        f"<tr><th>{escape(name)}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        for name, *cells in _rows(posterior, unit, decimals)
    )
    people, remarks = (
        "".join(f"<p>{escape(line)}</p>" for line in told(posterior, unit, decimals)) for told in (_people, _remarks)
    )
    return f"{people}<table><caption>{escape(posterior.title)}</caption><tr>{head}</tr>{rows}</table>{remarks}"


def _rows(posterior: "Posterior", unit: str, decimals: int | None) -> list[tuple[str, str, str, str]]:
    """The name, estimate, sd and interval of what there is of the population, then of each parameter or category.

    Of the population the estimate is the posterior median, as in sentences, without an sd, since a posterior may have
    long tails; of the others it is the mean. Nothing before there are answers: what was assumed may be any number.
    """
    if not posterior.learnt:
        return []
    parameters = posterior.covariance and posterior.transform != "log"
    numbers = posterior.summaries if parameters or posterior.categories else {}
    yes_or_no = zeros_and_ones(posterior.distribution)
    quantiles, average = (
        ({}, None if numbers else posterior.mean_value) if yes_or_no else (posterior.quantiles, posterior.mean_value)
    )
    of = f" {unit}" if unit else ""
    return [
        *(
            (number_name(name), f"{median}{of}", "", f"{low} to {high}")
            for name, known in population_numbers(quantiles, average, posterior.atoms, decimals).items()
            for _, _, low, _, median, _, high in [known]
        ),
        *(
            (name, mean, sd, f"{low} to {high}")
            for name, summary in numbers.items()
            for mean, sd, low, *_, high in [summary_numbers(ParameterSummary(**summary))]
        ),
    ]


def _people(posterior: "Posterior", unit: str = "", decimals: int | None = None) -> list[str]:
    """What is known of the population, in sentences, and what that rests on."""
    if not posterior.learnt:
        return [ONLY_ASSUMED]
    lines = population_lines(
        posterior.quantiles,
        posterior.distribution,
        posterior.atoms,
        posterior.above,
        unit,
        decimals,
        posterior.mean_value,
    )
    return [*lines, *category_lines(posterior.categories), *filter(None, [posterior.basis])]


def _remarks(posterior: "Posterior", unit: str = "", decimals: int | None = None) -> list[str]:
    """What there is to say below the numbers, a line each."""
    if not posterior.learnt:
        return []
    log_median = has_log_median(posterior.family, posterior.transform)
    poison = posterior.poison if posterior.answers and (log_median or posterior.transform != "log") else None
    return [
        *group_lines(posterior.groups, posterior.distribution, unit, decimals),
        *component_lines(posterior.components, posterior.correlations, posterior.terms.get("components") or ()),
        *([] if poison is None else poison_lines(poison, log_median)),
        *by_epsilon_lines(posterior.answers_by_epsilon),
        *(
            []
            if posterior.verdict is None
            else comparison_lines(posterior.families, posterior.verdict, atoms=bool(posterior.terms.get("atoms")))
        ),
        *period_lines(posterior.periods, posterior.drift_test, posterior.distribution, unit, decimals),
        *_misfit_lines(posterior),
    ]


def _misfit_lines(posterior: "Posterior") -> list[str]:
    if posterior.misfit is None:
        return []
    return [misfit_sentence(posterior.misfit, posterior.answers_by_epsilon, advise=can_leave_out(posterior.terms))]
