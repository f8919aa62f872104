"""The collapsed conditional of a latent state given all others: Foulds et al. (48), after Goldwater & Griffiths 2007.

With the transition matrix integrated out,

    Pr(z_t = k | …) ∝ (n_pk + α) (n_kq + [p = k = q] + α) / (n_k· + [p = k] + K α),

where p and q are the states before and after, and `n` counts all transitions but these two. (In the paper the indicator
appears only in the denominator and is 1 where p = q; as printed, it does not follow from the model.)
"""

import numpy as np
import numpy.typing as npt

from dither_estimator.families import FloatArray

__all__ = ["Transitions"]


class Transitions:
    """Counts of transitions between K states, and from the dummy state K in which every chain starts."""

    def __init__(self, states: npt.NDArray[np.int64], n_states: int, concentration: float) -> None:
        """Count the transitions of `states`, shape (R, T)."""
        self._n, self._alpha = n_states, concentration
        self._counts = np.zeros((n_states + 1, n_states))
        np.add.at(self._counts, (np.full(len(states), n_states), states[:, 0]), 1.0)
        np.add.at(self._counts, (states[:, :-1], states[:, 1:]), 1.0)
        self._totals = self._counts.sum(axis=1)

    def move(self, before: int, state: int, after: int | None, by: float) -> None:
        """Add `by` to the counts of the transitions into and out of a state; `after` is None at the end."""
        self._counts[before, state] += by
        self._totals[before] += by
        if after is not None:
            self._counts[state, after] += by
            self._totals[state] += by

    def log_conditional(self, before: int, after: int | None) -> FloatArray:
        """Log probabilities (K,) of each state between two others, up to a constant. Excludes its own transitions."""
        weights: FloatArray = self._counts[before] + self._alpha
        if after is not None:
            onward, totals = self._counts[:-1, after] + self._alpha, self._totals[:-1] + self._n * self._alpha
            if before < self._n:
                totals[before] += 1.0
                if before == after:
                    onward[before] += 1.0
            weights *= onward / totals
        return np.log(weights)
