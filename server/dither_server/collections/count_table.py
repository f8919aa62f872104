"""The count table of a collection, as the rows of a file: by group or by period where there are any."""

import json
from collections.abc import Iterable
from typing import Any

from dither_client import Query, parse_query
from dither_client.mechanisms.member_counts import MemberTable
from dither_client.tables.counts import CountTable, table_rows
from dither_server.collections.collection import Collection
from dither_server.database.reads import CountRow

__all__ = ["counted_rows"]


def counted_rows(
    collection: Collection, counted: Iterable[CountRow], members: MemberTable | None = None
) -> list[dict[str, Any]]:
    """The rows of what was counted, with the columns that `dither estimate` reads."""
    table = CountTable(members=members or {})
    queries: dict[str, Query] = {}
    for row in counted:
        query = queries.get(row.query_id)
        if query is None:  # a row is an answer: reading a query of a thousand cells takes longer than all else
            query = queries[row.query_id] = parse_query(json.loads(row.query))
        group, period = collection.group_label(row.group), collection.period_label(row.period)
        table.add(query, [(row.answer, row.count)], group, period)
    return table_rows(table)
