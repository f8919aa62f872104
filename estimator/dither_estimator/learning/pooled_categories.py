"""Groups of categories that borrow from each other; each is asked what is best for its own answers."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from dither_estimator.categorical.groups import GroupShares, estimate_group_shares
from dither_estimator.categorical.likelihood import SharesLikelihood
from dither_estimator.families import FloatArray
from dither_estimator.learning.deferred import Deferred
from dither_estimator.learning.description import CategoryShares, summary_of
from dither_estimator.learning.group_posterior import GroupPosterior, GroupPosteriors, drawn_together
from dither_estimator.learning.recomputed_learner import SEED
from dither_estimator.learning.separate_groups import SeparateGroups
from dither_estimator.likelihood.counts import Counts, in_order, total_answers

__all__ = ["PooledCategories"]

_COORDINATE = "log share"


class PooledCategories(SeparateGroups):
    """One posterior of all groups' shares; the learners of single groups choose the questions."""

    _known: tuple[int, Deferred[GroupShares]] | None = None

    def posteriors(self) -> Callable[[], GroupPosteriors]:
        return partial(_posteriors, self._specification.categories, dict(self.counts), self._draws())

    together = staticmethod(drawn_together)

    def particles(self, group: str) -> tuple[tuple[str, ...], FloatArray, FloatArray]:
        shares = self._draws()().shares[list(self.counts).index(group)]
        return self._specification.categories, shares, np.full(len(shares), 1 / len(shares))

    def _draws(self) -> Deferred[GroupShares]:
        """The posterior given every answer learnt; whoever has the same counts has the same draws."""
        spec, tables = self._specification, in_order(self.counts.values())
        answers = [total_answers(table) for table in tables]
        if self._known is None or self._known[0] != sum(answers):
            assert spec.groups is not None
            categories, z = len(spec.categories), spec.groups.log_rates(answers)
            rng = np.random.default_rng(SEED)
            self._known = (
                sum(answers),
                Deferred(partial(estimate_group_shares, rng, tables, categories, spec.particles, z)),
            )
        return self._known[1]


def _posteriors(
    names: tuple[str, ...], tables: Mapping[str, Counts], draws: Callable[[], GroupShares]
) -> GroupPosteriors:
    found = draws()
    between = float(np.median(found.between))
    posteriors = {
        label: GroupPosterior(
            {},
            np.empty((0, 0)),
            total_answers(counts),
            CategoryShares(names, shares),
            {_COORDINATE: _borrowed(SharesLikelihood.of(counts, len(names)), shares.mean(axis=0), between)},
        )
        for (label, counts), shares in zip(tables.items(), found.shares, strict=True)
    }
    summary = summary_of(found.between)
    return GroupPosteriors(posteriors, None if summary is None else {_COORDINATE: summary})


def _borrowed(likelihood: SharesLikelihood, shares: FloatArray, between: float) -> float:
    """How much of the log shares comes from the others, averaged over the people of the group."""
    turn = np.diag(shares) - np.outer(shares, shares)
    known = np.diag(turn @ likelihood.information(shares) @ turn)
    return float(shares @ (1 / (1 + known * between**2)))
