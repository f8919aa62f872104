"""The average over no family and smooth ones: shares in closed form, draws beside quadrature, populations of each kind.

`tests/estimator/nonparametric/test_calibration_without_family.py` holds the whole of it to its prior.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dither_client import Query, RandomizedResponse
from dither_estimator.checks import averaging, family_fit
from dither_estimator.checks.averaging import against_families, averaged, prior_shares, shares_of
from dither_estimator.checks.family_fit import Description, FamilyFit
from dither_estimator.checks.family_fits import FamilyFits, families_on, fit_families
from dither_estimator.families import FloatArray, families, find_family
from dither_estimator.likelihood.counts import Counts
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.nonparametric.distribution import Distribution
from dither_estimator.nonparametric.posterior import estimate_distribution
from dither_estimator.nonparametric.support import ANYWHERE, Support

NORMAL, GROUPS = stats.norm(50, 10), (stats.norm(35, 5), stats.norm(65, 5))
LEVELS = np.linspace(0.03, 0.97, 32).reshape(4, 8)
AT = NORMAL.ppf([0.1, 0.25, 0.5, 0.75, 0.9])


def asked(cdf: object, people: int, seed: int, epsilon: str = "1") -> Counts:
    """Counts of answers to the same questions, of equally many."""
    rng, table = np.random.default_rng(seed), {}
    for column in NORMAL.ppf(LEVELS).T.tolist():
        query: Query = RandomizedResponse(column, epsilon)
        cells = np.diff(np.concatenate([[0.0], cdf(np.array(column)), [1.0]]))  # type: ignore[operator]
        table[query] = rng.multinomial(people // LEVELS.shape[1], cells @ channel_of(query).matrix)
    return table


def found_by(counts: Counts, support: Support = ANYWHERE, size: int = 2_000) -> tuple[Distribution, FamilyFits]:
    without = estimate_distribution(np.random.default_rng(1), counts, support, size)
    return without, fit_families(counts, without)


def only(fits: FamilyFits, name: str) -> FamilyFits:
    """That family for sure."""
    [fit] = [each for each in fits.fits if each.description == Description(name)]
    return FamilyFits(fits.none, (replace(fit, log_evidence=fits.none + 100.0),))


def average(counts: Counts, support: Support = ANYWHERE, family: str = "") -> FloatArray:
    """Draws of the distribution function, of the average or of one family alone."""
    without, fits = found_by(counts, support)
    fits = only(fits, family) if family else fits
    return averaged(np.random.default_rng(2), without, counts, fits).cdf(AT).values


def test_no_family_has_half_of_the_prior_and_all_smooth_families_the_other_half() -> None:
    _, fits = found_by(asked(NORMAL.cdf, 4_000, 1), size=100)
    each = [replace(fit, log_evidence=log) for fit, log in zip(fits.fits, (-99.0, -100.0, -103.0), strict=False)]
    odds = np.array([0.5, 0.2, 0.3]) * np.exp([1.0, 0.0, -3.0])
    assert shares_of(-100.0, each, np.array([0.5, 0.2, 0.3])) == pytest.approx(odds / (1 + odds.sum()))
    assert shares_of(-1_000.0, each, np.ones(3) / 3).sum() == pytest.approx(1.0)
    assert not len(shares_of(-100.0, [], prior_shares([], ANYWHERE)))


@pytest.mark.parametrize(
    ("support", "within", "beyond"),
    [
        (ANYWHERE, 4, 0),
        (Support(minimum=0.0), 4, 1),
        (Support(maximum=5.0), 4, 1),
        (Support(minimum=2.0), 4, 2),
        (Support(0.0, 1.0), 1, 5),
        (Support(2.0, 7.0), 1, 6),
    ],
)
def test_families_with_values_beyond_a_bound_have_one_part_together(support: Support, within: int, beyond: int) -> None:
    each = [each for each in families_on(support) if find_family(each.family).smooth]
    shares = prior_shares(each, support)
    one = 1 / (within + (beyond > 0))
    assert np.sort(shares) == pytest.approx([one / max(beyond, 1)] * beyond + [one] * within)
    assert shares[0] == pytest.approx(one), "the likeliest to hold lies within"
    for description in each:
        family = find_family(description.family)
        at_ends = family.cdf(family.standard[np.newaxis], description.scaled(np.array(description.ends)))
        assert sorted(at_ends[0]) == pytest.approx([0, 1])


def by_quadrature(counts: Counts, fit: FamilyFit) -> tuple[FloatArray, FloatArray]:
    """Mean and sd of the normal's distribution function, on a grid of 161 × 161 members."""
    mu, log_sigma = (each.ravel() for each in np.meshgrid(np.linspace(46, 54, 161), np.linspace(1.8, 2.8, 161)))
    climb = fit._climb
    logs = -0.5 * np.square((np.column_stack([mu, log_sigma]) - climb.middle) / climb.units).sum(axis=1)
    for query, row in counts.items():
        below = stats.norm.cdf((np.array(query.edges) - mu[:, np.newaxis]) / np.exp(log_sigma)[:, np.newaxis])
        cells = np.diff(below, prepend=0.0, append=1.0, axis=1)
        logs += np.log(cells @ channel_of(query).matrix) @ row
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    cdf = stats.norm.cdf((AT - mu[:, np.newaxis]) / np.exp(log_sigma)[:, np.newaxis])
    mean = weights @ cdf
    return mean, np.sqrt(weights @ (cdf - mean) ** 2)


def test_draws_of_a_family_are_those_of_its_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 draws by weights: means are known to .04 sd, sds to 4%. With proposals for draws sds are 30% too large."""
    counts = asked(NORMAL.cdf, 2_000, 3)
    mean, sd = by_quadrature(counts, only(found_by(counts)[1], "normal").fits[0])

    def errors() -> tuple[float, float]:
        drawn = average(counts, family="normal")
        return float(np.abs((drawn.mean(axis=0) - mean) / sd).max()), float(np.abs(drawn.std(axis=0) / sd - 1).max())

    off, wide = errors()
    assert off < 0.15
    assert wide < 0.12
    monkeypatch.setattr(
        "dither_estimator.checks.averaging.resampled", lambda _, logs, size: np.arange(len(logs))[:size]
    )
    assert errors()[1] > 0.2


def test_what_a_member_has_beyond_a_bound_is_at_it() -> None:
    support = Support(minimum=30.0, maximum=75.0)
    counts = asked(lambda x: np.where(x < 30, 0.0, np.where(x >= 75, 1.0, NORMAL.cdf(x))), 20_000, 4, "3")
    without, fits = found_by(counts, support, 500)
    found = averaged(np.random.default_rng(2), without, counts, only(fits, "normal"))
    assert found.masses.sum(axis=1) == pytest.approx(1.0)
    assert found.atom_shares.mean == pytest.approx([NORMAL.cdf(30), NORMAL.sf(75)], abs=0.01)
    assert (found.masses >= 0).all()


def test_families_have_no_part_where_numbers_are_declared_that_many_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fifth of the people has one of four numbers. A normal fits them nearly as well, and has nobody there.

    Were it believed, 3 of 8 intervals of 90% would miss that fifth.
    """
    support = Support(atoms=(40.0, 45.0, 55.0, 60.0))

    def cdf(x: FloatArray) -> FloatArray:
        return 0.8 * NORMAL.cdf(x) + 0.05 * np.searchsorted(support.atoms, x, side="right")

    def holds(seed: int) -> bool:
        counts, rng = dict(asked(cdf, 4_000, seed)), np.random.default_rng(seed)
        for atom in support.atoms:
            query = RandomizedResponse((*support.around(atom), 70.0), 1)
            cells = np.diff(cdf(np.array(query.edges)), prepend=0.0, append=1.0)
            counts[query] = rng.multinomial(1_000, cells @ channel_of(query).matrix)
        without, fits = found_by(counts, support, 500)
        found = averaged(np.random.default_rng(2), without, counts, fits)
        low, high = np.quantile(found.atom_shares.values.sum(axis=1), [0.05, 0.95])
        return bool(low < 0.2 < high)

    assert sum(map(holds, range(8))) >= 7
    monkeypatch.setattr(averaging, "_taking_part", lambda found, _: [fit for fit in found.fits if fit.family.smooth])
    assert sum(map(holds, range(8))) <= 6


def test_families_have_no_part_where_people_are_at_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the people has 0, which nobody has under a gamma; a normal may have as many below 0."""
    support = Support(minimum=0.0)

    def members(cdf: Callable[[FloatArray], FloatArray], counts: Counts) -> set[str]:
        edges = RandomizedResponse((0.0, 40.0, 60.0), 2)
        cells = np.diff(cdf(np.array(edges.edges)), prepend=0.0, append=1.0)
        row = np.random.default_rng(2).multinomial(4_000, cells @ channel_of(edges).matrix)
        without, fits = found_by({**counts, edges: row}, support, 500)
        return {fit.description.family for fit in averaging._taking_part(fits, without)}

    gamma = stats.gamma(9, scale=5.5)

    def zeros(x: FloatArray) -> FloatArray:
        return np.asarray(0.1 * (x >= 0) + 0.9 * gamma.cdf(x))

    assert members(zeros, asked(zeros, 8_000, 1, "2")) == {"normal"}
    assert {"gamma", "weibull", "normal"} <= members(gamma.cdf, asked(gamma.cdf, 8_000, 1, "2"))
    monkeypatch.setattr(averaging, "_FEW_PEOPLE", 1.0)
    assert {"gamma", "weibull", "normal"} <= members(zeros, asked(zeros, 8_000, 1, "2"))


def test_a_family_that_holds_makes_errors_smaller_and_one_that_is_refused_changes_nothing() -> None:
    """RMS of the sup-distance of 20 populations: a seventh smaller; the ratio is known to 4%."""
    errors, truth = [], np.linspace(0.01, 0.99, 99)
    for seed in range(20):
        counts = asked(NORMAL.cdf, 20_000, seed)
        without, fits = found_by(counts, size=500)
        both = without, averaged(np.random.default_rng(2), without, counts, fits)
        errors.append([np.abs(each.cdf(NORMAL.ppf(truth)).mean - truth).max() for each in both])
    alone, together = np.sqrt(np.mean(np.square(errors), axis=0))
    assert together < 0.93 * alone

    counts = asked(lambda x: (GROUPS[0].cdf(x) + GROUPS[1].cdf(x)) / 2, 20_000, 1)
    without, fits = found_by(counts, size=500)
    found = averaged(np.random.default_rng(2), without, counts, fits)
    assert np.array_equal(np.sort(found.masses, axis=0), np.sort(without.masses, axis=0))


def test_the_more_answers_tell_the_less_likely_a_family_holds_as_far_as_they_do() -> None:
    few, many, more = map(against_families, (2_300.0, 9_200.0, 18_400.0))
    assert few == 0
    assert more - many == pytest.approx(3 * np.log(2))

    for people, least, most in ((4_000, 140, 160), (20_000, 3, 20)):
        counts = asked(NORMAL.cdf, people, 1, "2")
        without, fits = found_by(counts, size=300)
        smooth = [fit for fit in fits.fits if fit.family.smooth]
        prior = prior_shares([fit.description for fit in smooth], without.support)
        even = np.logaddexp.reduce(np.log(prior) + [fit.log_evidence for fit in smooth])
        found = averaged(np.random.default_rng(2), without, counts, replace(fits, none=even))
        members = ~(found.masses[:, np.newaxis] == without.masses).all(axis=2).any(axis=1)
        assert least <= members.sum() <= most


def test_as_many_draws_as_before_whatever_share_families_have() -> None:
    counts = asked(NORMAL.cdf, 4_000, 5)
    without, fits = found_by(counts, size=333)
    for favour in (-1e9, -3.0, 0.0, 3.0, 1e9):
        found = averaged(np.random.default_rng(2), without, counts, replace(fits, none=fits.none + favour))
        assert found.draw_count == 333
        assert np.isfinite(found.masses).all()
    assert averaged(np.random.default_rng(2), without, counts, FamilyFits()).draw_count == 333


@pytest.mark.parametrize("name", [name for name, family in families.items() if family.values == "measured"])
def test_a_family_is_smooth_unless_its_density_has_a_kink(name: str) -> None:
    """The slopes of the density on both sides of quantiles of the standard member."""
    family = families[name]
    theta = family.standard[np.newaxis]
    levels = np.linspace(0.1, 0.9, 9)
    middle = family.quantiles(theta, levels)[0]
    step = 1e-3 * (middle[-1] - middle[0])
    below = family.cdf(theta, (middle + step * np.arange(-2, 3)[:, np.newaxis]).ravel())[0].reshape(5, -1)
    bent = np.diff(below, n=2, axis=0)[[0, 2]]
    kink = np.abs(bent[1] - bent[0]) / step**2 * (middle[-1] - middle[0]) ** 2
    assert bool(kink.max() > 1.0) != family.smooth


def test_degrees_of_freedom_cost_what_their_prior_says() -> None:
    """With as little as an answer tells of them for a prior, a true t with 2 df was less likely than the logistic."""
    law = stats.t(2, loc=50, scale=8)
    counts = asked(law.cdf, 20_000, 6, "2")
    by_name = {fit.description.family: fit for fit in found_by(counts, size=100)[1].fits}
    assert by_name["student_t"].log_evidence > by_name["logistic"].log_evidence
    known = family_fit._known_alone(np.array([[4.0, 1.0], [1.0, 3.0]]), 1)
    assert known == pytest.approx(3.0 - 1.0 / 4.0 - 1.0)
