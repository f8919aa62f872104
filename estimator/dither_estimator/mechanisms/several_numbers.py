"""Counts of answers where people have several numbers, by what the questions are about."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from dither_client import ComponentQuery, JointQuery, Query

__all__ = ["about_one", "about_several"]

_Row = npt.NDArray[np.int64]


def about_one(counts: Mapping[Query, _Row], component: int) -> dict[Query, _Row]:
    """The counts of questions about this component alone, by the query inside."""
    return {
        query.query: row
        for query, row in counts.items()
        if isinstance(query, ComponentQuery) and query.component == component
    }


def about_several(counts: Mapping[Query, _Row]) -> dict[JointQuery, _Row]:
    """The counts of questions about several components at once."""
    return {query: row for query, row in counts.items() if isinstance(query, JointQuery)}
