"""The report of a simulation, as a JSON object or as a table."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dither_client.mechanisms.epsilon import by_epsilon_lines
from dither_client.posterior.digits import (
    MOST_DIGITS,
    finest_decimals,
    population_rows,
    rounded,
    shortened,
    summary_numbers,
)
from dither_client.posterior.names import answers_text, has_log_median, number_name
from dither_client.posterior.parts import component_lines, group_lines, period_lines
from dither_client.posterior.sentences import (
    can_leave_out,
    category_lines,
    comparison_lines,
    few_answers_sentence,
    misfit_sentence,
    poison_lines,
    population_lines,
    unit_text,
    zeros_and_ones,
)
from dither_client.posterior.wire import ParameterSummary, PosteriorReply, to_json
from dither_estimator.families import FloatArray
from dither_estimator.learning.description import POPULATION_FIELDS
from dither_server.simulate.choices import WARNING, ChooseBy
from dither_server.simulate.outcome import Load, Outcome
from dither_server.simulate.population import quantiles_of, shares_of

__all__ = ["report_json", "report_table"]

_FROM_POSTERIOR = (
    "posterior",
    "covariance",
    "answers_by_epsilon",
    "ess",
    "particles",
    "moves",
    "queries",
    "log_evidence",
    "poison",
    "families",
    "verdict",
    "groups",
    "between_groups",
    "components",
    "correlations",
    "regressions",
    "periods",
    "step",
    "drift_test",
    "surprise",
    *POPULATION_FIELDS,
)
_WAITS = (("median", "median"), ("99th percentile", "q99"), ("longest", "longest"))


def report_json(
    respondents: int, truth: Mapping[str, Any], outcome: Outcome, choose_by: ChooseBy = "chance"
) -> dict[str, Any]:
    """The report as JSON. `answers` counts those of this simulation; over HTTP, `load` describes the requests."""
    posterior = to_json(outcome.posterior)
    report: dict[str, Any] = {
        "respondents": respondents,
        "answers": outcome.answers,
        "dropped_out": outcome.dropped_out,
        "seconds": outcome.seconds,
        "estimator_seconds": outcome.estimator_seconds,
        "truth": dict(truth),
        **{name: posterior[name] for name in _FROM_POSTERIOR if name in posterior},
    }
    if outcome.posterior.misfit is not None:
        report["misfit"] = posterior["misfit"]
    if outcome.load is not None:
        report["load"] = outcome.load.to_json()
    if choose_by == "value":
        report["warning"] = WARNING
    return report


def report_table(
    respondents: int,
    truth: Mapping[str, float],
    outcome: Outcome,
    choose_by: ChooseBy = "chance",
    words: Mapping[str, Any] = MappingProxyType({}),
    members: Mapping[str, FloatArray] = MappingProxyType({}),
) -> RenderableType:
    """The report as a table; `truth` may have the population's quantiles by level, too, and its `mean_value`.

    `words` say the unit and the decimals of values, the family and the scale on which it holds, as a specification
    does. Parameters of logarithms are shown only beside their truth, which somebody has given as logarithms. `members`
    has the values of the people of each group, by its label.
    """
    unit, decimals = unit_text(words), words.get("decimals")
    found = outcome.posterior
    unasked = words.get("transform") == "log" and not found.posterior.keys() & truth.keys()
    parameters = {} if unasked else found.posterior
    what = "parameter" if parameters else "category" if found.categories else ""
    quantiles = {} if zeros_and_ones(found.distribution) else found.quantiles
    rows = population_rows(quantiles, found.mean_value, found.atoms, decimals)
    table = _table(what, parameters or found.categories or {}, rows, truth)
    lines = [
        f"{answers_text(outcome.answers)} from {respondents:,} respondent{'' if respondents == 1 else 's'} in "
        f"{outcome.seconds:.1f} s, "
        f"{outcome.posterior.queries:,} different question{'' if outcome.posterior.queries == 1 else 's'}"
    ]
    lines += population_lines(
        found.quantiles, found.distribution, found.atoms, found.above, unit, decimals, found.mean_value
    )
    lines += category_lines(found.categories)
    lines += group_lines(found.groups or {}, found.distribution, unit, decimals, _group_truths(members, found))
    lines += filter(None, [few_answers_sentence(found, bool((words.get("groups") or {}).get("shares")))])
    lines += period_lines(found.periods or {}, found.drift_test, found.distribution, unit, decimals)
    lines += component_lines(found.components or {}, found.correlations or {}, words.get("components") or ())
    lines += by_epsilon_lines(outcome.posterior.answers_by_epsilon)
    if choose_by == "value":
        lines.append(f"WARNING: {WARNING}")
    log_median = unasked and has_log_median(words.get("family") or "", "log")
    if log_median or not unasked:
        lines += poison_lines(found.poison, log_median)
    if outcome.dropped_out:
        lines.append(f"{outcome.dropped_out:,} dropped out")
    if outcome.estimator_seconds is not None:
        lines.append(f"time in the estimator: {outcome.estimator_seconds:.2f} s")
    if outcome.posterior.families is not None and outcome.posterior.verdict is not None:
        lines += comparison_lines(outcome.posterior.families, outcome.posterior.verdict, atoms=bool(words.get("atoms")))
    if outcome.load is not None:
        lines += _load_lines(outcome.load, outcome)
    if found.misfit is not None:
        lines.append(misfit_sentence(found.misfit, found.answers_by_epsilon, advise=can_leave_out(words)))
    return Group(*([table] if table.row_count else []), Text("\n".join(lines)))


def _table(
    what: str,
    parameters: Mapping[str, ParameterSummary],
    population: Sequence[Sequence[str]],
    truth: Mapping[str, float],
) -> Table:
    """What is known of each number, beside its truth if that of any of them is given."""
    truths = [truth.get(name.removeprefix("quantile_")) for name, *_ in population]
    finest = finest_decimals(value for value in truths if value is not None)
    rows: list[tuple[str, ...]] = []
    for name, summary in parameters.items():
        mean, sd, low, *_, high = summary_numbers(summary)
        rows.append((name, _true(truth.get(name)), mean, sd, f"{low} to {high}"))
    for (name, *cells), true in zip(population, truths, strict=True):
        rows.append((number_name(name), _true(true, finest), *cells))
    columns = [what, "truth", "posterior mean", "sd", "90% interval"]
    if not any(true for _, true, *_ in rows):
        columns, rows = [what, *columns[2:]], [(name, *cells) for name, _, *cells in rows]
    table = Table(*columns, box=None, header_style="bold")
    for row in rows:
        table.add_row(*row)
    return table


def _group_truths(members: Mapping[str, FloatArray], found: PosteriorReply) -> dict[str, str]:
    """What holds in each group that has people: its shares of categories, the share who have 1, or the median."""

    def told(values: FloatArray) -> str:
        if found.categories:
            shares = shares_of(values, list(found.categories)).items()
            return ", ".join(f"{name} {rounded(share, 2)}" for name, share in shares)
        if zeros_and_ones(found.distribution):
            return f"{100 * values.mean():.1f}%"
        return _true(quantiles_of(values)["0.5"])

    return {label: told(values) for label, values in members.items() if len(values)}


def _true(value: float | None, decimals: int = MOST_DIGITS) -> str:
    """The truth, to four digits and so many decimals at most."""
    return "" if value is None else rounded(shortened(value, decimals), 4)


def _load_lines(load: Load, outcome: Outcome) -> list[str]:
    lines = [f"collection {load.collection}: {outcome.answers / max(outcome.seconds, 1e-9):,.0f} answers per second"]
    if outcome.answers:
        waits = (f"{name} {1e3 * load.ticket_seconds[key]:.1f} ms" for name, key in _WAITS)
        lines.append(f"time for a ticket: {', '.join(waits)}")
    if load.late:
        lines.append(f"{load.late:,} sent their answer late, in random order")
    if load.poisoned:
        lines.append(f"{load.poisoned:,} sent the highest answer whatever their value")
    if load.retried:
        lines.append(f"{load.retried:,} sent their answer three times, {load.mismatches:,} of them without one receipt")
    lines += [f"{count:,} failed: {reason}" for reason, count in sorted(load.failures.items())]
    return lines
