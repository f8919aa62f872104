"""The limit of the posterior for infinitely many answers, if the population is not a member of the family.

The posterior then concentrates at the member nearest to the population in Kullback-Leibler divergence, as seen through
the questions asked: `argmin_θ Σ_q n_q KL(r_q ‖ p_θ,q)`, where `r_q` is the distribution of the answer to question q by
somebody drawn from the population, and `n_q` is how often q was asked.
"""

from collections.abc import Callable, Mapping

import numpy as np

from dither_client import Query, Transform
from dither_estimator.families import Family, FloatArray
from dither_estimator.mechanisms.channels import channel_of, group_queries
from dither_estimator.priors.prior import parse_prior

__all__ = ["answer_law", "best_fit", "nearest_member"]

_CELL_PROBABILITIES = np.arange(1, 400) / 400
_PRIOR_DRAWS = 500
_SMALLEST_PROBABILITY = 1e-300


def best_fit(
    family: Family, start: Mapping[str, float], values: FloatArray, asked: Mapping[Query, int]
) -> dict[str, float]:
    """The parameters of the nearest member, found from `start`; `asked` holds how often each question was asked."""
    expected = {query: n * answer_law(query, values) for query, n in asked.items()}
    groups = group_queries(asked)
    weights = [np.column_stack([expected[query] for query in group.queries]) for group in groups]

    def loss(coordinates: FloatArray) -> float:
        theta = family.constrain(coordinates[np.newaxis])
        shares = [group.probabilities(family, theta)[0] for group in groups]
        return -sum(float((w * np.log(p)).sum()) for w, p in zip(weights, shares, strict=True)) / sum(asked.values())

    return _minimum(family, loss, family.unconstrain(np.array([[start[name] for name in family.names]]))[0])


def nearest_member(family: Family, values: FloatArray) -> dict[str, float] | None:
    """The member nearest to `values` themselves, on the family's scale; None if no member can produce them.

    Distance is measured over cells that hold equal shares of the values, or, for a discrete family, one value each.
    """
    edges = np.unique(values)[:-1] + 0.5 if family.discrete else np.unique(np.quantile(values, _CELL_PROBABILITIES))
    shares = np.bincount(np.searchsorted(edges, values), minlength=len(edges) + 1) / len(values)

    def loss(coordinates: FloatArray) -> float:
        cdf = family.cdf(family.constrain(coordinates[np.newaxis]), edges)[0]
        cells = np.diff(cdf, prepend=0.0, append=1.0)
        return -float((shares * np.log(np.maximum(cells, _SMALLEST_PROBABILITY))).sum())

    low, high = np.quantile(values, [0.1, 0.9]).tolist()
    prior = parse_prior(family, family.range_prior(low, high if high > low else low + 1))
    candidates = prior.sample(np.random.default_rng(0), _PRIOR_DRAWS)
    begin = min(candidates, key=loss)
    return None if loss(begin) > -0.01 * np.log(_SMALLEST_PROBABILITY) else _minimum(family, loss, begin)


def _minimum(family: Family, loss: Callable[[FloatArray], float], begin: FloatArray) -> dict[str, float]:
    from scipy.optimize import minimize  # a tenth of a second, which most simulations do not need

    found = minimize(loss, begin, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-13, "maxiter": 10_000})
    return dict(zip(family.names, family.constrain(found.x[np.newaxis])[0].tolist(), strict=True))


def answer_law(query: Query, values: FloatArray) -> FloatArray:
    """The distribution of the answer by somebody drawn from `values`, in their own units: shape (n_answers,)."""
    cells = np.searchsorted(query.edges, _transformed(values, query.transform), side="left")
    shares = np.bincount(cells, minlength=query.n_cells) / len(values)
    return shares @ channel_of(query).matrix


def _transformed(values: FloatArray, transform: Transform) -> FloatArray:
    if transform == "identity":
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(values > 0, np.log(values), -np.inf)
