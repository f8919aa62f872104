"""The count table of a collection, as the rows of a file: by group or by period where there are any."""

import json
from collections.abc import Iterable
from typing import Any

from dither_client import Query, parse_query
from dither_client.mechanisms.member_counts import MemberTable
from dither_client.tables.counts import counts_rows, group_counts_rows, period_counts_rows
from dither_server.collections.collection import Collection
from dither_server.database.reads import CountRow

__all__ = ["counted_rows"]


def counted_rows(
    collection: Collection, counted: Iterable[CountRow], members: MemberTable | None = None
) -> list[dict[str, Any]]:
    """The rows of what was counted, with the columns that `dither estimate` reads."""
    tables: dict[str | None, dict[Query, list[int]]] = {}
    for row in counted:
        query = parse_query(json.loads(row.query))
        table = tables.setdefault(collection.part_label(row), {})
        table.setdefault(query, [0] * query.n_answers)[row.answer] = row.count
    labelled = {label: table for label, table in tables.items() if label is not None}
    if collection.specification.groups is not None:
        return group_counts_rows(labelled)
    if collection.specification.period is not None:
        return period_counts_rows(dict(sorted(labelled.items())))
    return counts_rows(tables.get(None, {}), members)
