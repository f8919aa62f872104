"""The private hidden Markov model's sampler against the exact posterior by enumeration, and its parts."""

import math
from collections import Counter
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import betainc, gammaln
from scipy.stats import beta, kstest

from dither_estimator.families import FloatArray
from dither_papers.private_gibbs.held_out import log_likelihood, mean_log_likelihood
from dither_papers.private_gibbs.records import (
    AFGHANISTAN,
    IRAQ,
    InvalidRecords,
    Records,
    Shape,
    digest,
    parse_records,
    synthetic,
)
from dither_papers.private_gibbs.sampler import Draw, Truncation, gibbs
from dither_papers.private_gibbs.transitions import Transitions
from dither_papers.private_gibbs.truncated_dirichlet import truncated_dirichlet_move

ALPHA = 0.7


def log_chain(states: tuple[tuple[int, ...], ...], n_states: int, alpha: float) -> float:
    """`log Pr(Z)` with the transition matrix integrated out: a Pólya urn for each state and one for the start."""
    counts = Counter[tuple[int, int]]()
    for row in states:
        counts.update(zip((n_states, *row[:-1]), row, strict=True))
    total = 0.0
    for before in range(n_states + 1):
        row_counts = [counts[before, k] for k in range(n_states)]
        total += gammaln(n_states * alpha) - gammaln(n_states * alpha + sum(row_counts))
        total += sum(gammaln(alpha + n) - gammaln(alpha) for n in row_counts)
    return float(total)


def printed_conditional(states: npt.NDArray[np.int64], r: int, t: int, n_states: int) -> FloatArray:
    """(48) as the paper prints it, within a chain; `K` is missing in its last denominator, too."""
    counts = np.zeros((n_states + 1, n_states))
    for i, row in enumerate(states.tolist()):
        for j, (before, k) in enumerate(zip((n_states, *row[:-1]), row, strict=True)):
            counts[before, k] += not (i == r and j in (t, t + 1))
    p, q = states[r, t - 1], states[r, t + 1]
    first = (counts[p] + ALPHA) / (counts[p].sum() + n_states * ALPHA)
    second = (counts[:-1, q] + ALPHA) / (counts[:-1].sum(axis=1) + (p == q) + ALPHA)
    logs: FloatArray = np.log(first * second)
    return logs


@pytest.mark.parametrize("n_states", [2, 3])
def test_the_conditional_of_a_state(n_states: int) -> None:
    """(48) against ratios of the joint, for many places and chains; as printed in the paper, it fails the same test."""
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(60):
        states = rng.integers(n_states, size=(2, 5))
        r, t = int(rng.integers(2)), int(rng.integers(5))
        transitions = Transitions(states, n_states, ALPHA)
        before = int(states[r, t - 1]) if t else n_states
        after = int(states[r, t + 1]) if t < 4 else None
        transitions.move(before, int(states[r, t]), after, -1.0)
        found = transitions.log_conditional(before, after)
        exact = []
        for k in range(n_states):
            changed = states.copy()
            changed[r, t] = k
            exact.append(log_chain(tuple(map(tuple, changed.tolist())), n_states, ALPHA))
        assert found - found[0] == pytest.approx(np.array(exact) - exact[0], abs=1e-10)
        if after is not None and t:
            printed = printed_conditional(states, r, t, n_states)
            wrong += not np.allclose(printed - printed[0], np.array(exact) - exact[0], atol=1e-10)
    assert wrong > 3


def tiny() -> Records:
    """One region, four times, two features of two and three outcomes."""
    counts = np.array([[[3, 0, 1, 1, 1], [2, 1, 3, 0, 0], [0, 3, 0, 1, 2], [1, 1, 0, 0, 2]]], dtype=np.float64)
    return Records(counts, (2, 3))


def log_joint(states: tuple[int, ...], records: Records) -> float:
    """`log Pr(Z, X)` with everything integrated out, uniform emissions a priori, but for a constant."""
    total = log_chain((states,), 2, 1.0)
    for k, part in product(range(2), records.slices):
        counts = sum(
            (records.counts[0, t, part] for t, z in enumerate(states) if z == k), np.zeros(part.stop - part.start)
        )
        size = len(counts)
        total += float(gammaln(size) - gammaln(size + counts.sum()) + gammaln(1 + counts).sum())
    return total


def total_variation(found: Counter[tuple[int, ...]], exact: dict[tuple[int, ...], float]) -> float:
    n = sum(found.values())
    return sum(abs(found[key] / n - p) for key, p in exact.items()) / 2


@pytest.mark.slow
def test_the_sampler_has_the_posterior() -> None:
    """Frequencies of all sixteen chains of states over 20,000 iterations against enumeration: within 0.03 in total
    variation (independent draws would give 0.01), and a sampler that sees other counts is not."""
    records = tiny()
    chains = list(product(range(2), repeat=4))
    logs = np.array([log_joint(chain, records) for chain in chains])
    weights = np.exp(logs - logs.max())
    exact = dict(zip(chains, (weights / weights.sum()).tolist(), strict=True))

    def frequencies(seen: Records) -> Counter[tuple[int, ...]]:
        draws = gibbs(np.random.default_rng(3), seen, 2, 20_000)
        return Counter(tuple(draw.states[0].tolist()) for draw in draws)

    assert total_variation(frequencies(records), exact) < 0.03
    assert total_variation(frequencies(Records(records.counts[:, ::-1], records.sizes)), exact) > 0.06


@pytest.mark.slow
def test_one_posterior_sample_has_the_tempered_posterior() -> None:
    """At a temperature and truncated, by quadrature: three data sets in one cell, two outcomes, one state: the emission
    is a truncated beta with exponents over T. Kolmogorov–Smirnov at 1e-6, thinned."""
    records = Records(np.array([[[9.0, 3.0]]]), (2,))
    truncation = Truncation(4.0, 1.5)
    assert truncation.least(2) == 0.125
    heat = truncation.temperature((2,))
    assert heat == pytest.approx(2 * math.log(7) / 1.5)
    draws = list(gibbs(np.random.default_rng(4), records, 1, 6_000, None, truncation))
    share = np.array([draw.emissions[0, 0] for draw in draws])[::3]
    law = beta(1 + 9 / heat, 1 + 3 / heat)
    low, high = law.cdf(0.125), law.cdf(0.875)
    assert kstest((law.cdf(share) - low) / (high - low), "uniform").pvalue > 1e-6
    cold = beta(10, 4)
    assert (
        kstest(
            np.clip((cold.cdf(share) - cold.cdf(0.125)) / (cold.cdf(0.875) - cold.cdf(0.125)), 0, 1), "uniform"
        ).pvalue
        < 1e-6
    )


def test_the_truncated_dirichlet_is_left_invariant() -> None:
    """4,000 exact draws (by rejection), moved ten times: every component's law is still the same (two-sample
    Kolmogorov–Smirnov, four tests at 1e-6), also where moves in pairs alone are made; all stay within."""
    rng = np.random.default_rng(6)
    concentration, least = np.array([0.8, 1.5, 2.0, 1.2]), 0.06
    pool = rng.dirichlet(concentration, 40_000)
    exact = pool[(pool >= least).all(axis=1)][:8_000]
    start, reference = exact[:4_000], exact[4_000:]
    repeated = np.tile(concentration, (4_000, 1))
    moved = start
    for _ in range(10):
        moved = truncated_dirichlet_move(rng, moved, repeated, least)
    assert (moved >= least - 1e-12).all()
    assert np.allclose(moved.sum(axis=1), 1)
    assert (np.abs(moved - start).max(axis=1) > 1e-3).mean() > 0.99
    for j in range(4):
        assert kstest(moved[:, j], reference[:, j]).pvalue > 1e-6
    untruncated = rng.dirichlet(concentration, 4_000)
    assert kstest(untruncated[:, 0], reference[:, 0]).pvalue < 1e-6


def test_a_posterior_beyond_the_truncation_goes_to_its_edge() -> None:
    concentration = np.array([[1.0, 1e9, 1e9]])
    moved = np.full((1, 3), 1 / 3)
    for _ in range(20):
        moved = truncated_dirichlet_move(np.random.default_rng(1), moved, concentration, 0.05)
    assert moved[0, 0] == pytest.approx(0.05, abs=1e-6)
    assert betainc(1.0, 1e9, 0.05) == 1.0


def test_noisy_counts() -> None:
    """Scale 2 D / ε on each count (six standard errors), none below 0."""
    records = Records(np.full((20, 20, 10), 1e6), (4, 4, 2))
    noisy = records.noisy(np.random.default_rng(2), 1.5)
    away = np.abs(noisy.counts - records.counts)
    assert away.mean() == pytest.approx(4.0, rel=6 / math.sqrt(away.size))
    empty = Records(np.zeros((5, 5, 10)), (4, 4, 2)).noisy(np.random.default_rng(2), 1.5)
    assert empty.counts.min() == 0
    assert (empty.counts == 0).mean() == pytest.approx(0.5, abs=0.2)


def test_synthetic_records_have_the_papers_shape() -> None:
    """Median entries of a region and month within a quarter of the paper's 972 and 58; the numbers of states."""
    for shape, median, n_states in ((IRAQ, 972, 2), (AFGHANISTAN, 58, 3)):
        records, states, emissions = synthetic(np.random.default_rng(0), shape)
        entries = np.stack([records.counts[:, :, part].sum(axis=2) for part in records.slices])
        assert (entries == entries[0]).all(), "an entry has an outcome in each of the five features"
        assert np.median(entries[0]) == pytest.approx(median, rel=0.25)
        assert set(np.unique(states)) == set(range(n_states))
        assert len(records.sizes) == 5
        assert emissions.sum(axis=1) == pytest.approx(np.full(n_states, 5.0))


def test_the_held_out_likelihood() -> None:
    """It equals the sum over held-out states with the chain's own probabilities, and the mean over draws."""
    records = tiny()
    emissions = np.array([[0.6, 0.4, 0.5, 0.3, 0.2], [0.2, 0.8, 0.1, 0.2, 0.7]])
    held_out = np.zeros((1, 4), dtype=np.bool_)
    held_out[0, 2] = True
    draw = Draw(np.array([[0, 1, 1, 0]]), emissions, 2)
    chains = [(0, 1, k, 0) for k in range(2)]
    prior = np.exp([log_chain((chain,), 2, 1.0) for chain in chains])
    likelihoods: FloatArray = np.exp(records.counts[0, 2] @ np.log(emissions).T)
    exact = math.log(float((prior * likelihoods).sum() / prior.sum()))
    assert log_likelihood(draw, records, held_out) == pytest.approx(exact)
    assert mean_log_likelihood([draw, draw], records, held_out) == pytest.approx(exact / records.counts[0, 2].sum())


def test_held_out_entries_are_not_seen() -> None:
    records, states, _ = synthetic(np.random.default_rng(0), Shape(2, 8, 2, 40.0, 1.0))
    held_out = np.random.default_rng(1).random(states.shape) < 0.4
    other = Records(np.where(held_out[:, :, np.newaxis], 77.0, records.counts), records.sizes)
    first, second = (list(gibbs(np.random.default_rng(2), seen, 2, 5, held_out))[-1] for seen in (records, other))
    assert np.array_equal(first.states, second.states)
    assert np.array_equal(first.emissions, second.emissions)
    assert records.pooled(held_out).counts.sum() == records.counts[~held_out].sum()


TABLE = """region,time,kind,harm
north,2004-01,a,yes
north,2004-02,b,no
south,2004-01,a,no
north,2004-01,c,no
"""


def test_records_of_a_file() -> None:
    records = parse_records(TABLE)
    assert records.sizes == (3, 2)
    assert records.counts.shape == (2, 2, 5)
    assert records.counts[0, 0].tolist() == [1, 0, 1, 1, 1]
    assert records.counts[0, 1].tolist() == [0, 1, 0, 1, 0]
    assert records.counts[1, 1].sum() == 0
    assert digest(TABLE) != digest(TABLE + " ")


@pytest.mark.parametrize("text", ["", "region,time\nsecret,2\n", "region,time,kind\n", "region,time,kind\nsecret,2\n"])
def test_a_file_that_is_no_table_of_entries_is_refused(text: str) -> None:
    with pytest.raises(InvalidRecords, match="the table must have") as error:
        parse_records(text)
    assert "secret" not in str(error.value)
