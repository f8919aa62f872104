"""Whether a count table fits a specification: its questions have to be about the same values, on the same scale."""

from dither_client import Component, InvalidQuery
from dither_client.mechanisms.member_counts import Asked
from dither_client.mechanisms.price import check_about
from dither_client.tables.counts import CountTable
from dither_estimator.specification.fields import SpecificationError
from dither_estimator.specification.specification import Specification

__all__ = ["check_table"]


def check_table(specification: Specification, table: CountTable) -> None:
    """Raises `SpecificationError` unless the table's questions are about such values as the specification's."""
    if specification.components or any(query.about for query in table.queries):
        _check_component_table(specification, table)
        return
    asked: list[Asked] = [*table.queries, *table.members]
    grouped = [query for query in table.queries if query.of_categories]
    if specification.categories and len(grouped) < len(asked):
        raise SpecificationError("the table has questions about numbers, and the specification is of categories")
    if grouped and not specification.categories:
        raise SpecificationError("the table has questions about categories, and the specification is of numbers")
    if any(query.n_cells != len(specification.categories) for query in grouped):
        raise SpecificationError(
            f"the table has questions about another number of categories than the specification's "
            f"{len(specification.categories)}"
        )
    if any(each.transform != specification.transform for each in asked):
        raise SpecificationError(f"the table has queries whose transform is not {specification.transform}")
    if specification.groups is not None:
        specification.groups.check_table(table)
    if specification.period is not None:
        specification.period.check_table(table)


def _check_component_table(specification: Specification, table: CountTable) -> None:
    if not specification.components:
        raise SpecificationError("the table has questions about several numbers, and the specification is of one")
    if table.members or table.groups or table.periods:
        raise SpecificationError("members, groups and periods cannot go with components")
    parts = [Component(part.name, part.specification.transform) for part in specification.components]
    try:
        for query in table.queries:
            check_about(query, parts)
    except InvalidQuery:
        raise SpecificationError(
            "the table has questions that are not about the specification's components, on their scales"
        ) from None
