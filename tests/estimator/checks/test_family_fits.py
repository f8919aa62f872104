"""Families beside none: maxima and integrals computed otherwise, and populations with and without a family."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from dither_client import Query, RandomizedResponse
from dither_client.posterior.sentences import family_name, verdict_lines
from dither_client.posterior.wire import FamilyEvidence
from dither_estimator.checks import family_fits
from dither_estimator.checks.competing_families import NONE_OF_THESE
from dither_estimator.checks.family_fit import Description, FamilyFit, fit_family
from dither_estimator.checks.family_fits import families_on, fit_families
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts, total_answers
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.nonparametric import evidence
from dither_estimator.nonparametric.base import PLACE_SD, FittedBase
from dither_estimator.nonparametric.deviations import BINS, LOG_PRIOR, Deviations
from dither_estimator.nonparametric.evidence import log_evidence
from dither_estimator.nonparametric.fitting import fit_base
from dither_estimator.nonparametric.likelihood import MassLikelihood
from dither_estimator.nonparametric.posterior import estimate_distribution
from dither_estimator.nonparametric.support import ANYWHERE, Support

Cdf = Callable[[Any], Any]
POSITIVE = Support(minimum=0.0)
WAGES, WIDE = stats.lognorm(0.7, scale=500), stats.norm(50, 10)
BETA, SHIFTED = stats.beta(5, 2, loc=-10, scale=30), stats.lognorm(0.7, loc=100, scale=300)
LEVELS = np.linspace(0.03, 0.97, 32).reshape(4, 8)


def asked(cuts: FloatArray, cdf: Cdf, people: int, seed: int, epsilon: str = "1") -> Counts:
    """Counts of randomised response between columns of `cuts` (4, queries), asked of equally many."""
    rng, table = np.random.default_rng(seed), {}
    for column in cuts.T.tolist():
        query: Query = RandomizedResponse(column, epsilon)
        cells = np.diff(np.concatenate([[0.0], cdf(np.array(column)), [1.0]]))
        table[query] = rng.multinomial(people // cuts.shape[1], cells @ channel_of(query).matrix)
    return table


@pytest.mark.parametrize(
    ("name", "transform", "law", "start"),
    [
        ("normal", "log", lambda a, b: stats.lognorm(np.exp(b), scale=np.exp(a)), [6.0, -0.3]),
        ("gamma", "identity", lambda a, b: stats.gamma(np.exp(a), scale=np.exp(b)), [0.7, 5.5]),
        ("exponential", "identity", lambda a: stats.expon(scale=np.exp(a)), [6.0]),
    ],
)
def test_a_family_has_its_largest_likelihood_less_what_its_parameters_cost(
    name: str, transform: Any, law: Any, start: list[float]
) -> None:
    """The maximum is found by the simplex method, with the probabilities of SciPy."""
    counts = asked(WAGES.ppf(LEVELS), WAGES.cdf, 4_000, 1)

    def loss(point: Any) -> float:
        cdf = law(*point).cdf
        shares = [np.diff([0.0, *cdf(np.array(query.edges)), 1.0]) @ np.array(query.channel()) for query in counts]
        return -sum(float(row @ np.log(p)) for row, p in zip(counts.values(), shares, strict=True))

    best = -minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-8}).fun
    found = fit_family(Description(name, transform), counts, *WAGES.ppf([0.1, 0.9]).tolist()).log_evidence
    assert found == pytest.approx(best - len(start) / 2 * np.log(4_001), abs=1e-3)


@pytest.mark.parametrize("name", ["normal", "laplace", "logistic", "student_t", "gumbel"])
@pytest.mark.parametrize("unit", [2.0**-20, 2.0**-10, 2.0**10, 2.0**20])
def test_the_evidence_of_a_family_does_not_depend_on_the_unit_of_values(name: str, unit: float) -> None:
    """Where it did, true families of incomes of some ten thousand were refused."""
    found = {}
    for scale in (1.0, unit):
        counts = asked(scale * WIDE.ppf(LEVELS), stats.norm(50 * scale, 10 * scale).cdf, 2_000, 3, "6")
        low, high = (scale * WIDE.ppf([0.1, 0.9])).tolist()
        found[scale] = fit_family(Description(name), counts, low, high).log_evidence
    assert found[unit] == pytest.approx(found[1.0], abs=1e-2)


def test_without_answers_there_is_nothing_to_compare() -> None:
    with pytest.raises(ValueError, match="without answers"):
        fit_family(Description("normal"), {}, 0.0, 1.0)
    distribution = estimate_distribution(np.random.default_rng(1), {}, size=100)
    found = fit_families({}, distribution).comparison
    assert (found.families, found.verdict) == ((), "cannot tell yet")
    [sentence] = verdict_lines(found.families, found.verdict)
    assert sentence == "which family holds: cannot tell yet, for there are too few answers to compare families"


def test_where_nearly_everybody_has_one_value_families_are_compared() -> None:
    """More than nine in ten have exactly 0, so that most values lie nowhere else."""
    support = Support(minimum=0.0, atoms=(0.0,))
    cuts = np.concatenate(
        [np.full((1, 8), 0.0), np.array([40.0, 70.0, 110.0])[:, np.newaxis] * np.linspace(0.9, 1.1, 8)]
    )
    counts = asked(cuts, lambda x: 0.96 + 0.04 * stats.gamma.cdf(x, 25, scale=4), 4_000, 1, "4")
    distribution = estimate_distribution(np.random.default_rng(1), counts, support, size=50)
    assert distribution.mean.quantile(np.array([0.9])).values[0, 0] == 0
    assert fit_families(counts, distribution).comparison.verdict == NONE_OF_THESE


def test_a_family_whose_nearest_member_no_number_holds_has_an_evidence() -> None:
    """95% have 0: the nearest Weibull is infinitely wide, and a search for it can leave all numbers."""
    cuts = np.geomspace(1e-9, 0.1, 32)
    for seed in range(6):
        counts = asked(cuts.reshape(8, 4).T, lambda x: np.full(x.shape, 0.95), 4_000, seed)
        fit = fit_family(Description("weibull"), counts, cuts[0], cuts[-1], POSITIVE)
        assert np.isfinite(fit.log_evidence)
        assert not np.isnan(fit.proposals(np.random.default_rng(seed), 10)[0]).any()


def test_values_as_near_to_a_bound_or_as_far_as_floating_point_has_them_are_described() -> None:
    """Priors of their scale would be narrower or wider than is allowed."""
    counts = asked(np.full((1, 8), 1e-150), lambda x: 0.5 + 0.0 * x, 4_000, 1, "2")
    for description in families_on(Support(0.0, 1.0)):
        assert np.isfinite(fit_family(description, counts, 1e-190, 1e-120).log_evidence)
    for description in families_on(Support(0.0)):
        assert np.isfinite(fit_family(description, counts, 1.0, 1e150).log_evidence)


@pytest.mark.parametrize("wrong", [float("nan"), 8_834.0], ids=["no number", "more than certain"])
def test_where_some_evidence_is_no_log_probability_nothing_is_told(
    monkeypatch: pytest.MonkeyPatch, wrong: float
) -> None:
    """With NaN for the gamma the verdict was that the gamma holds."""
    counts = asked(WAGES.ppf([[0.2], [0.5], [0.8]]) * np.linspace(0.9, 1.1, 8), WAGES.cdf, 4_000, 1, "2")
    distribution = estimate_distribution(np.random.default_rng(1), counts, Support(minimum=0.0), size=50)
    assert fit_families(counts, distribution).comparison.families

    def fitted(description: Description, *arguments: Any) -> FamilyFit:
        evidence = wrong if description.family == "gamma" else -3_000.0
        return replace(fit_family(description, *arguments), log_evidence=evidence)

    monkeypatch.setattr(family_fits, "fit_family", fitted)
    found = fit_families(counts, distribution).comparison
    assert (found.families, found.verdict) == ((), "not compared")


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (None, None, ["normal", "Laplace", "logistic", "Student t", "Gumbel"]),
        (0.0, None, ["lognormal", "exponential", "gamma", "Weibull", "normal"]),
        (
            100.0,
            None,
            [f"{name} of the distance above 100" for name in ("lognormal", "exponential", "gamma", "Weibull")]
            + ["lognormal", "normal"],
        ),
        (
            None,
            -2.5,
            [f"{name} of the distance below -2.5" for name in ("lognormal", "exponential", "gamma", "Weibull")]
            + ["normal"],
        ),
        (0.0, 1.0, ["beta", "lognormal", "exponential", "gamma", "Weibull", "normal"]),
        (
            0.0,
            10_000.0,
            ["beta of the way from 0 to 10,000", "lognormal", "exponential", "gamma", "Weibull", "normal"],
        ),
        (
            -10.0,
            10.0,
            ["beta of the way from -10 to 10"]
            + [f"{name} of the distance above -10" for name in ("lognormal", "exponential", "gamma", "Weibull")]
            + ["normal"],
        ),
    ],
)
def test_any_bounds_have_families_and_it_is_said_what_they_describe(
    low: float | None, high: float | None, said: list[str]
) -> None:
    found = families_on(Support(minimum=low, maximum=high))
    rows = [FamilyEvidence(each.family, each.transform, 0.0, 0.0, 0.1, each.of) for each in found]
    assert [family_name(row) for row in rows] == said


@pytest.mark.parametrize(
    "description",
    [
        Description("gamma", above=100.0),
        Description("normal", "log", above=100.0),
        Description("weibull", below=900.0),
        Description("normal", "log", below=900.0),
        Description("beta", above=-50.0, below=950.0),
    ],
    ids=lambda each: f"{each.family} of {each.of}",
)
def test_a_family_beside_a_bound_is_that_family_of_the_distance(description: Description) -> None:
    """Its evidence is that of the family itself for questions, and answers where it is mirrored, about the distance."""
    law = stats.norm(450, 120)
    counts = asked(law.ppf(LEVELS), law.cdf, 4_000, 5)
    moved = {}
    for query, row in counts.items():
        cuts = description.scaled(np.array(query.edges))
        cuts = np.exp(cuts) if description.transform == "log" else cuts
        falling = description.mirrored
        same_question: Query = RandomizedResponse(sorted(cuts.tolist()), query.epsilon)
        moved[same_question] = row[::-1] if falling else row
    ends = description.scaled(law.ppf([0.1, 0.9]))
    ends = np.sort(np.exp(ends) if description.transform == "log" else ends)
    same = fit_family(Description(description.family, description.transform), moved, *ends.tolist()).log_evidence
    found = fit_family(description, counts, *law.ppf([0.1, 0.9]).tolist()).log_evidence
    assert found == pytest.approx(same, abs=1e-4)


def known_by_one(counts: Counts, base: FittedBase) -> FloatArray:
    """The information of an answer, on average, about the coefficients of location and scale at the base."""
    known = np.zeros((2, 2))
    for query, row in counts.items():
        edges, matrix = np.array(query.edges), channel_of(query).matrix
        p = np.diff(np.concatenate([[0.0], base.cdf(edges), [1.0]])) @ matrix
        slopes = PLACE_SD * np.diff(base.slopes(edges)[:2], axis=1, prepend=0.0, append=0.0) @ matrix
        known += row.sum() * (slopes / p) @ slopes.T
    return known / total_answers(counts)


def by_monte_carlo(counts: Counts, base: FittedBase, support: Support, draws: int) -> float:
    """The mean likelihood under the prior before any answer, by draws from it."""
    rng, deviations = np.random.default_rng(2), Deviations(base, support)
    likelihood = MassLikelihood.of(counts, base, BINS, support)
    x = rng.standard_normal((draws, deviations.size))
    place = slice(deviations.atoms, deviations.atoms + 2)
    x *= deviations.scales[rng.choice(len(LOG_PRIOR), draws, p=np.exp(LOG_PRIOR))]
    x[:, place] = rng.multivariate_normal(np.zeros(2), np.linalg.inv(known_by_one(counts, base)), draws)
    heights = np.concatenate([likelihood(deviations.masses(part)) for part in np.array_split(x, 50)])
    return float(np.logaddexp.reduce(heights) - np.log(draws))


def test_the_evidence_of_no_family_is_the_mean_likelihood_under_the_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    """To within half a nat; with a prior that knows as much as ten answers, not one, it is off by more."""
    counts = asked(WIDE.ppf(LEVELS), WIDE.cdf, 400, 3, "2")
    base = fit_base(counts, ANYWHERE)
    exact = by_monte_carlo(counts, base, ANYWHERE, 100_000)
    assert log_evidence(counts, base, ANYWHERE) == pytest.approx(exact, abs=0.5)
    known = evidence._known
    monkeypatch.setattr(evidence, "_known", lambda *given: 10 * known(*given))
    assert abs(log_evidence(counts, base, ANYWHERE) - exact) > 0.5


def groups(y: Any) -> Any:
    return 0.5 * stats.norm.cdf(y, 35, 5) + 0.5 * stats.norm.cdf(y, 65, 5)


def spending(y: Any) -> Any:
    return 0.25 + 0.75 * stats.lognorm.cdf(y, 1.4, scale=np.exp(4.2))


def mostly_zeros(y: Any) -> Any:
    return np.where(np.asarray(y) < 500, 0.6 + 0.4 * stats.lognorm.cdf(y, 1.0, scale=np.exp(4.5)), 1.0)


@pytest.mark.parametrize(
    ("cdf", "cuts", "support", "refused"),
    [
        (groups, WIDE.ppf(LEVELS), ANYWHERE, {"normal", "Laplace", "logistic", "Gumbel"}),
        (
            spending,
            stats.lognorm(1.4, scale=66).ppf(LEVELS),
            Support(minimum=0.0, atoms=(0.0,)),
            {"lognormal", "gamma"},
        ),
        (
            mostly_zeros,
            stats.lognorm(1.0, scale=np.exp(4.5)).ppf(LEVELS),
            Support(minimum=0.0, maximum=500.0, atoms=(0.0, 500.0)),
            {"normal", "lognormal", "gamma"},
        ),
        (WIDE.cdf, WIDE.ppf(LEVELS), ANYWHERE, set()),
        (WAGES.cdf, WAGES.ppf(LEVELS), POSITIVE, set()),
        (BETA.cdf, BETA.ppf(LEVELS), Support(minimum=-10.0, maximum=20.0), set()),
        (SHIFTED.cdf, SHIFTED.ppf(LEVELS), Support(minimum=100.0), set()),
        (lambda x: SHIFTED.sf(-x), -SHIFTED.ppf(LEVELS)[::-1], Support(maximum=-100.0), set()),
        (
            groups,
            WIDE.ppf(LEVELS),
            Support(minimum=0.0, maximum=100.0),
            {"beta of the way from 0 to 100", "gamma", "normal"},
        ),
        (groups, WIDE.ppf(LEVELS), Support(maximum=150.0), {"gamma of the distance below 150", "normal"}),
    ],
)
def test_families_are_refused_where_none_holds_and_the_true_one_never(
    cdf: Cdf, cuts: FloatArray, support: Support, refused: set[str]
) -> None:
    """10 populations of 5,000: the true one, which comes first, would be refused in fewer than one of 100."""
    if support.atoms:
        cuts = np.concatenate([np.full((1, cuts.shape[1]), 0.0), cuts[1:]])
    for seed in range(10 if not refused else 2):
        counts = asked(cuts, cdf, 5_000, seed)
        distribution = estimate_distribution(np.random.default_rng(1), counts, support, size=50)
        compared = fit_families(counts, distribution).comparison
        none, *others = compared.families
        low = {family_name(each) for each in others if each.log_evidence < none.log_evidence - np.log(100)}
        if refused:
            assert low >= refused
            assert compared.verdict == NONE_OF_THESE
        else:
            assert family_name(others[0]) not in low


FEW_AT_A_QUARTER = [
    ((0.296875,), [10, 10]),
    ((0.28125,), [4, 6]),
    ((0.328125,), [20, 35]),
    ((0.234375,), [1, 3]),
    ((0.31640625,), [2, 13]),
    ((0.34375,), [1, 4]),
    ((1.09375,), [7, 8]),
    ((1.125,), [9, 6]),
    ((1.0859375,), [2, 2]),
    ((1.1875,), [21, 8]),
    ((1.25,), [3, 7]),
    ((0.859375,), [6, 4]),
    ((1.0,), [5, 5]),
    ((0.78125,), [4, 5]),
    ((0.703125, 0.96875), [19, 12, 12]),
    ((0.671875,), [10, 9]),
    ((0.7109375,), [15, 12]),
    ((0.59375,), [9, 7]),
    ((0.3671875,), [13, 10]),
    ((0.734375,), [43, 27]),
    ((0.703125,), [34, 24]),
    ((0.46875,), [25, 15]),
    ((0.328125, 0.578125), [24, 27, 26]),
]
"""Some answers of a Weibull at ε = 1/4, after which hardly anything is known of how alike values are."""


def test_the_evidence_of_no_family_is_no_larger_than_what_best_describes_the_answers() -> None:
    """Where answers hardly tell a scale, its volume was one of rounding errors, so that true families were refused."""
    counts: Counts = {RandomizedResponse(cuts, "0.25"): np.array(answers) for cuts, answers in FEW_AT_A_QUARTER}
    best = sum(float((row * np.log(row / row.sum())).sum()) for row in counts.values())
    assert log_evidence(counts, fit_base(counts, POSITIVE), POSITIVE) < best
