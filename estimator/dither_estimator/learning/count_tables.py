"""Count tables in a snapshot: each query once, which of them each table has, and all counts in one array."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dither_client import Query, parse_query
from dither_estimator.likelihood.counts import Counts

__all__ = ["flat_counts", "read_tables", "tables_header"]


def tables_header(tables: Iterable[Counts]) -> dict[str, Any]:
    """What a snapshot's header says of the tables, whose counts are in `flat_counts`."""
    asked = [list(counts) for counts in tables]
    queries = list(dict.fromkeys(query for some in asked for query in some))
    places = {query: place for place, query in enumerate(queries)}
    return {
        "queries": [query.to_json() for query in queries],
        "asked": [[places[query] for query in some] for some in asked],
    }


def flat_counts(tables: Iterable[Counts]) -> npt.NDArray[np.int64]:
    """The counts of all tables, one after the other."""
    rows = [row for counts in tables for row in counts.values()]
    return np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)


def read_tables(header: Mapping[str, Any], counts: npt.NDArray[np.int64]) -> list[dict[Query, npt.NDArray[np.int64]]]:
    """The tables of `tables_header` and `flat_counts`, in their order."""
    queries = [parse_query(query) for query in header["queries"]]
    asked = [[queries[place] for place in places] for places in header["asked"]]
    ends = np.cumsum([query.n_answers for some in asked for query in some]).astype(int)
    rows = iter(np.split(counts, ends[:-1]))
    return [{query: next(rows) for query in some} for some in asked]
