"""The evidence of families on their own scale and on another one against quadrature, and its Monte Carlo error."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from oracle import quadrature
from scipy import stats
from scipy_distributions import scipy_distribution

from dither_client import Query, RandomizedResponse, Transform
from dither_client.posterior.sentences import CANNOT_TELL
from dither_client.posterior.wire import NO_FAMILY, FamilyEvidence
from dither_estimator.checks.competing_families import NONE_OF_THESE, compare
from dither_estimator.families import families
from dither_estimator.families.rescaled import on_scale
from dither_estimator.likelihood.counts import check_counts
from dither_estimator.particles.evidence import Evidence, estimate_evidence
from dither_estimator.particles.student_t import MultivariateT
from dither_estimator.particles.system import init, update
from dither_estimator.priors.prior import Prior, parse_prior

CUTS = (5.25, 5.75, 6.0, 6.5, 7.0, 7.5)
"""Cuts, on the logarithmic scale, for a population whose logarithms are N(6, 0.7²)."""
TERMS = {
    "log": {"mu": {"dist": "norm", "loc": 6, "scale": 1.5}, "sigma": {"dist": "lognorm", "s": 1, "scale": 0.7}},
    "identity": {"mu": {"dist": "norm", "loc": 400, "scale": 700}, "sigma": {"dist": "lognorm", "s": 2, "scale": 300}},
}
STARTS = {"log": (6.0, 0.7), "identity": (450.0, 350.0)}


def _table(asked: Transform, answers: int) -> dict[Query, list[int]]:
    """Answers to single cuts and pairs of them at ε = 1."""
    rng = np.random.default_rng(3)
    logs = rng.normal(6, 0.7, answers)
    some = [(cut,) for cut in CUTS] + [(5.75, 6.5), (5.25, 7.0)]
    table: dict[Query, list[int]] = {}
    for cuts, values in zip(some, np.array_split(logs, len(some)), strict=True):
        at = cuts if asked == "log" else tuple(np.exp(cuts).tolist())
        query = RandomizedResponse(at, 1, asked)
        shares = np.bincount(np.searchsorted(cuts, values), minlength=query.n_cells) / len(values)
        table[query] = rng.multinomial(len(values), shares @ np.array(query.channel())).tolist()
    return table


def _exact(own: Transform, asked: Transform, table: Mapping[Query, Sequence[int]]) -> float:
    """The evidence by quadrature, at cuts that are mapped here by hand."""
    mapped: dict[Query, Sequence[int]] = {}
    for query, counts in table.items():
        at = query.edges if own == asked else (np.exp if own == "identity" else np.log)(query.edges).tolist()
        mapped[RandomizedResponse(tuple(at), 1)] = counts
    laws = parse_prior(families["normal"], TERMS[own]).parts
    return quadrature(
        (scipy_distribution(laws[0].distribution), scipy_distribution(laws[1].distribution)), mapped, STARTS[own]
    ).log_evidence


def _prior(own: Transform, asked: Transform) -> Prior:
    family = families["normal"]
    return Prior(on_scale(family, own, asked), parse_prior(family, TERMS[own]).parts)


@pytest.mark.parametrize("answers", [40, 4_000])
@pytest.mark.parametrize("asked", ["log", "identity"])
@pytest.mark.parametrize("own", ["log", "identity"])
def test_evidence_agrees_with_quadrature(own: Transform, asked: Transform, answers: int) -> None:
    """Within five of its own Monte Carlo errors, a false alarm in 1e6; the family without its map fails it."""
    table = _table(asked, answers)
    exact = _exact(own, asked, table)
    rng = np.random.default_rng(8)
    found = estimate_evidence(rng, update(rng, init(rng, _prior(own, asked), 2_000), check_counts(table)))
    assert 0 < found.error < 0.05
    assert abs(found.log - exact) < 5 * found.error
    if own != asked:
        unmapped = Prior(families["normal"], _prior(own, asked).parts)
        wrong = estimate_evidence(rng, update(rng, init(rng, unmapped, 2_000), check_counts(table)))
        assert abs(wrong.log - exact) > 5 * wrong.error or answers == 40


def test_the_monte_carlo_error_is_honest() -> None:
    """The sd over 120 runs against the mean of the reported errors: within 30%, four to five standard errors of an sd.

    Half the error would fail.
    """
    table = check_counts(_table("log", 1_000))
    runs = []
    for seed in range(120):
        rng = np.random.default_rng([seed, 77])
        runs.append(estimate_evidence(rng, update(rng, init(rng, _prior("identity", "log"), 200), table)))
    ratio = np.std([run.log for run in runs], ddof=1) / np.mean([run.error for run in runs])
    assert ratio == pytest.approx(1, abs=0.3)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_fitted_student_t_is_scipys(d: int) -> None:
    """Its draws to the last digit, so that a seed gives the evidence that it gave, and densities far out."""
    root = np.random.default_rng(d).standard_normal((d, d))
    shape = root @ root.T + 1e-6 * np.eye(d)
    oracle = stats.multivariate_t(np.zeros(d), shape, df=5)
    drawn = MultivariateT(shape, 5).sample(np.random.default_rng(5), 500)
    assert drawn.tolist() == np.reshape(oracle.rvs(500, random_state=np.random.default_rng(5)), (500, d)).tolist()
    z = drawn * np.logspace(-3, 6, 500)[:, None]
    assert MultivariateT(shape, 5).log_density(z) == pytest.approx(oracle.logpdf(z), rel=1e-12)
    assert MultivariateT(1.01 * shape, 5).log_density(z) != pytest.approx(oracle.logpdf(z), rel=1e-6)


def test_without_answers_every_family_explains_everything() -> None:
    rng = np.random.default_rng(1)
    assert estimate_evidence(rng, init(rng, _prior("log", "log"), 100)) == Evidence(0.0, 0.0)


def test_probabilities_are_those_of_equal_weights() -> None:
    names: list[tuple[str, Transform]] = [("normal", "log"), ("normal", "identity"), ("gamma", "identity")]
    found = compare(names, [Evidence(log, 0.01) for log in (-1000.0, -1002.0, -1001.0)])
    odds = np.exp([0.0, -2.0, -1.0])
    assert [each.probability for each in found.families] == pytest.approx(odds / odds.sum())
    assert found.families[1] == FamilyEvidence("normal", "identity", -1002.0, 0.01, found.families[1].probability)


@pytest.mark.parametrize(
    ("logs", "errors", "verdict"),
    [
        ((0.0, 0.0), (0.0, 0.0), CANNOT_TELL),
        ((0.0, -2.9), (0.0, 0.0), CANNOT_TELL),  # log(19) = 2.944
        ((0.0, -3.0), (0.0, 0.0), "normal with transform log"),
        ((-3.0, 0.0), (0.0, 0.0), "gamma with transform identity"),
        ((0.0, -3.0), (0.03, 0.04), CANNOT_TELL),
        ((0.0, -8.0), (3.0, 0.0), CANNOT_TELL),
        ((0.0, -10.0), (3.0, 0.0), "normal with transform log"),
    ],
)
def test_a_family_is_preferred_only_where_the_error_allows(
    logs: tuple[float, float], errors: tuple[float, float], verdict: str
) -> None:
    evidences = [Evidence(log, error) for log, error in zip(logs, errors, strict=True)]
    assert compare([("normal", "log"), ("gamma", "identity")], evidences).verdict == verdict


@pytest.mark.parametrize(("below", "verdict"), [(4.7, NONE_OF_THESE), (4.5, CANNOT_TELL)])
def test_where_all_families_are_refused_none_holds_however_many_there_are(below: float, verdict: str) -> None:
    """Each of seven is refused at odds of 100; together they have a probability above 5%."""
    names: list[tuple[str, Transform]] = [(NO_FAMILY, "identity")]
    names += [("gamma", "identity")] * 7
    found = compare(names, [Evidence(-1000.0, 0.0), *[Evidence(-1000.0 - below, 0.0)] * 7])
    assert found.families[0].probability < 0.95
    assert found.verdict == verdict
