"""A posterior as ArviZ's DataTree. Needs the extra `arviz`.

The groups:

- `posterior`: as many equally weighted draws as there are particles, in one chain.
- `sample_stats`: `particle`, the number of the particle that each draw is.
- `observed_data`: `count`, how often each answer was given to each question; `constant_data`: the question, as JSON,
  and the answer of each of these cells. They are there where the counts may be read.
- `prior` and `log_likelihood`: where a model is given. The latter has `count · log p(answer | question, draw)` of each
  cell, which sum to the log-likelihood of the draw.

Where there are public groups, draws, `particle` and prior have a dimension `group` with their labels, and each cell is
of one group, which `constant_data` names in `label`. Draws of groups that borrow from each other belong together by
their number, if no answer came while they were fetched.

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
_CELL, _GROUP = "cell", "group"


class ArvizModel(Protocol):
    """What the estimator knows about a model and the client does not; see `dither_estimator.learning.arviz_model`."""

    def prior(self, size: int) -> Mapping[str, Sequence[Any]]:
        """Draws of the parameters before any answer: a number, or one for each group where there are groups."""

    def log_probabilities(self, draws: Draws, query: Query) -> Sequence[Sequence[float]]:
        """The log probability of each answer to the query, for each draw."""


def data_tree(posterior: "Posterior", model: ArvizModel | None) -> "DataTree":
    """The tree of a posterior, with the counts that it may have learnt."""
    import arviz_base
    import numpy

    labels = tuple(posterior.groups)
    parts = [posterior.group_particles(label) for label in labels] or [posterior.particles()]
    size = min(len(part.weights) for part in parts)
    of_parts = [part.resampled()[:size] for part in parts]
    draws = [
        {name: [part.values[place][column] for place in places] for column, name in enumerate(part.parameters)}
        for part, places in zip(parts, of_parts, strict=True)
    ]
    counts = [(place, *each) for place, table in enumerate(_tables(posterior, labels)) for each in table.items()]

    def together(columns: Sequence[Any]) -> Any:
        """One chain of the draws of each part, shape (1, draws, groups), or (1, draws) where there are no groups."""
        return numpy.stack(columns, axis=-1)[None] if labels else numpy.array([columns[0]])

    groups: dict[str, dict[str, Any]] = {
        "posterior": {name: together([each[name] for each in draws]) for name in draws[0]},
        "sample_stats": {"particle": together(of_parts)},
    }
    if counts:
        groups["observed_data"] = {"count": numpy.array([n for *_, row in counts for n in row])}
        groups["constant_data"] = {
            "question": numpy.array([json.dumps(q.to_json(), default=float) for _, q, row in counts for _ in row]),
            "answer": numpy.array([answer for *_, row in counts for answer in range(len(row))]),
            **({"label": numpy.array([labels[place] for place, _, row in counts for _ in row])} if labels else {}),
        }
    if model is not None:
        groups["prior"] = {name: numpy.array([column]) for name, column in model.prior(size).items()}
        if counts:
            cells = [numpy.array(model.log_probabilities(draws[place], query)) * row for place, query, row in counts]
            groups["log_likelihood"] = {"count": numpy.concatenate(cells, axis=1)[None]}
    of_cells = {"count": [_CELL], "question": [_CELL], "answer": [_CELL], "label": [_CELL]}
    of_groups = {name: [_GROUP] for name in (*draws[0], "particle")} if labels else {}
    tree = arviz_base.from_dict(groups, dims=of_cells | of_groups, coords={_GROUP: list(labels)} if labels else None)
    tree.attrs.update(_attributes(posterior, sum(len(part.weights) for part in parts)))
    return tree


def _tables(posterior: "Posterior", labels: Sequence[str]) -> Sequence[Mapping[Query, Sequence[int]]]:
    """The count table of each group, or the only one."""
    if not labels:
        return [posterior.counts()]
    known = posterior.group_counts()
    return [known.get(label, {}) for label in labels]


def _attributes(posterior: "Posterior", particles: int) -> dict[str, Any]:
    return {
        "collection": posterior.collection,
        "answers": posterior.answers,
        "updated_at": posterior.updated_at,
        "particles": particles,
        "ess": posterior.ess,
        **({} if posterior.log_evidence is None else {"log_evidence": posterior.log_evidence}),
    }
