"""What a posterior says of the population as a table: for `dither export --quantiles` and the dashboard's download."""

from collections.abc import Mapping
from typing import Any

from dither_client.posterior.posterior import Posterior
from dither_client.posterior.wire import QUANTILES, ParameterSummary, to_json

__all__ = ["parts_of", "population_table"]


def parts_of(found: Posterior) -> list[tuple[dict[str, str], Posterior]]:
    """The posterior of each component, with a column for its name; without components, the posterior itself."""
    if not found.components:
        return [({}, found)]
    return [({"component": name}, found.component(name)) for name in found.components]


def population_table(found: Posterior) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """Columns, and a row for each number that describes the population: what it is, of which level, value or category.

    Where people have several numbers, of which component; correlations are of two.
    """
    named: list[tuple[dict[str, str], str, Mapping[Any, ParameterSummary]]] = [
        (own, what, summaries)
        for own, each in parts_of(found)
        for what, summaries in (
            ("quantile", each.quantiles),
            ("mean", {} if each.mean_value is None else {"": each.mean_value}),
            ("share_above", each.above),
            ("share_at", each.atoms),
            ("share_of", each.categories),
        )
    ]
    if found.components:
        named.append(({"component": ""}, "correlation", found.correlations))
    rows = [
        {**own, "what": what, "of": of if isinstance(of, str) else f"{of:.12g}", **to_json(summary)}
        for own, what, summaries in named
        for of, summary in summaries.items()
    ]
    return (*named[0][0], "what", "of", "mean", "sd", *QUANTILES), rows
