"""A posterior as ArviZ's DataTree. Needs the extra `arviz`.

The groups:

- `posterior`: as many equally weighted draws as there are particles, in one chain.
- `sample_stats`: `particle`, the number of the particle that each draw is.
- `observed_data`: `count`, how often each answer was given to each question; `constant_data`: the question, as JSON,
  and the answer of each of these cells. They are there where the counts may be read.
- `prior` and `log_likelihood`: where a model is given. The latter has `count · log p(answer | question, draw)` of each
  cell, which sum to the log-likelihood of the draw.

The attributes say of which collection, after how many answers, when, and how good the particles are.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from dither_client.mechanisms.query import Query

if TYPE_CHECKING:
    from xarray import DataTree

    from dither_client.posterior.posterior import Posterior

__all__ = ["ArvizModel", "data_tree"]

Draws = Mapping[str, Sequence[float]]
"""Values of each parameter, a row for each draw."""
_CELL = "cell"


class ArvizModel(Protocol):
    """What the estimator knows of a model, and the client does not: `dither_estimator.learning.arviz_model`."""

    def prior(self, size: int) -> Draws:
        """Draws of the parameters before any answer."""

    def log_probabilities(self, draws: Draws, query: Query) -> Sequence[Sequence[float]]:
        """For each draw the log probability of each answer to the query."""


def data_tree(posterior: "Posterior", counts: Mapping[Query, Sequence[int]], model: ArvizModel | None) -> "DataTree":
    """The tree of a posterior that has learnt these counts."""
    import arviz_base
    import numpy

    particles = posterior.particles()
    places = particles.resampled()
    draws = {
        name: [particles.values[place][column] for place in places] for column, name in enumerate(particles.parameters)
    }
    groups: dict[str, dict[str, Any]] = {
        "posterior": {name: numpy.array([column]) for name, column in draws.items()},
        "sample_stats": {"particle": numpy.array([places])},
    }
    if counts:
        groups["observed_data"] = {"count": numpy.array([n for row in counts.values() for n in row])}
        groups["constant_data"] = {
            "question": numpy.array([json.dumps(q.to_json(), default=float) for q, row in counts.items() for _ in row]),
            "answer": numpy.array([answer for row in counts.values() for answer in range(len(row))]),
        }
    if model is not None:
        groups["prior"] = {name: numpy.array([column]) for name, column in model.prior(len(places)).items()}
        if counts:
            cells = [numpy.array(model.log_probabilities(draws, query)) * row for query, row in counts.items()]
            groups["log_likelihood"] = {"count": numpy.concatenate(cells, axis=1)[None]}
    of_cells = {"count": [_CELL], "question": [_CELL], "answer": [_CELL]}
    attributes = {
        "collection": posterior.collection,
        "answers": posterior.answers,
        "updated_at": posterior.updated_at,
        "particles": len(particles.weights),
        "ess": posterior.ess,
        **({} if posterior.log_evidence is None else {"log_evidence": posterior.log_evidence}),
    }
    tree = arviz_base.from_dict(groups, dims=of_cells)
    tree.attrs.update(attributes)
    return tree
