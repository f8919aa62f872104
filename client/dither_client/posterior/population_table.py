"""What a posterior says of the population, or of its parts, as a table: for `dither export` and the dashboard."""

from collections.abc import Mapping
from typing import Any, Literal

from dither_client.posterior.parts import part_basis
from dither_client.posterior.posterior import Posterior
from dither_client.posterior.sentences import unit_text
from dither_client.posterior.wire import QUANTILES, ParameterSummary, to_json

__all__ = ["PARTS", "Parts", "Table", "parts_of", "parts_table", "population_table"]

Parts = Literal["groups", "periods"]
PARTS: tuple[Parts, ...] = ("groups", "periods")
"""What a population may be told apart by."""
Table = tuple[tuple[str, ...], list[dict[str, Any]]]
"""The names of the columns, and the rows, which have a value or None for each."""

_COLUMNS = ("what", "of", "mean", "sd", *QUANTILES, "unit", "rests_on")

_IN_UNITS = ("quantile", "mean")
"""What is in the values' own unit."""


def parts_of(found: Posterior) -> list[tuple[dict[str, str], Posterior]]:
    """The posterior of each component, with a column for its name; without components, the posterior itself."""
    if not found.components:
        return [({}, found)]
    return [({"component": name}, found.component(name)) for name in found.components]


def population_table(found: Posterior, basis: str) -> Table:
    """Columns, and a row for each number that describes the population: what it is, of which level, value or category.

    Where people have several numbers, of which component; correlations are of two. Every row has the unit of its
    numbers, empty for shares and correlations, and the `basis`, a sentence that says what they rest on.
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
    units = {"": unit_text(found.terms)}
    units |= {each["name"]: unit_text(each) for each in found.terms.get("components") or ()}
    if found.components:
        named.append(({"component": ""}, "correlation", found.correlations))
    rows = [
        {
            **own,
            "what": what,
            "of": of if isinstance(of, str) else f"{of:.12g}",
            **to_json(summary),
            "unit": units.get(own.get("component", ""), "") if what in _IN_UNITS else "",
            "rests_on": basis,
        }
        for own, what, summaries in named
        for of, summary in summaries.items()
    ]
    return (*named[0][0], *_COLUMNS), rows


def parts_table(found: Posterior, parts: Parts) -> Table:
    """Columns, and for each group or calendar period the rows of `population_table`; no rows where there are none.

    Before them is the label, in the column `group` or `period`, and how many answers that one has; what its numbers
    rest on is `part_basis`.
    """
    labels, read = (found.groups, found.group) if parts == "groups" else (found.periods, found.period)
    column = parts.removesuffix("s")
    rows = [
        {column: label, "answers": part.answers, **row}
        for label, part in ((label, read(label)) for label in labels)
        for row in population_table(part, part_basis(found, label))[1]
    ]
    return (column, "answers", *_COLUMNS), rows
