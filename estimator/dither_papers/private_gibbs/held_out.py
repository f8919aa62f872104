"""How well samples of the hidden Markov model predict held-out entries."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from dither_estimator.families import FloatArray
from dither_papers.private_gibbs.records import Records
from dither_papers.private_gibbs.sampler import Draw

__all__ = ["log_likelihood", "mean_log_likelihood"]


def log_likelihood(draw: Draw, records: Records, held_out: npt.NDArray[np.bool_]) -> float:
    """The log-likelihood of the held-out entries, each given the sample's states before and after it."""
    logs = records.counts @ np.log(draw.emissions).T
    transitions, total = draw.transitions(), 0.0
    for r, t in np.argwhere(held_out).tolist():
        row = draw.states[r]
        before = int(row[t - 1]) if t else draw.n_states
        after = int(row[t + 1]) if t + 1 < len(row) else None
        transitions.move(before, int(row[t]), after, -1.0)
        prior: FloatArray = transitions.log_conditional(before, after)
        transitions.move(before, int(row[t]), after, 1.0)
        total += float(np.logaddexp.reduce(prior + logs[r, t]) - np.logaddexp.reduce(prior))
    return total


def mean_log_likelihood(draws: Sequence[Draw], records: Records, held_out: npt.NDArray[np.bool_]) -> float:
    """The log of the mean likelihood over samples, per feature of a held-out entry."""
    logs = [log_likelihood(draw, records, held_out) for draw in draws]
    entries = float(records.counts[held_out].sum())
    return float(logsumexp(logs) - np.log(len(logs))) / entries
