"""Which particles choose the questions: the posterior, and a second opinion when the answers contradict it.

Questions follow the posterior, so whoever answers first can mislead it: far from the truth every honest answer is the
same, and an overconfident posterior asks only about its own neighbourhood. A correct posterior hardly ever moves by
more than its own width within one epoch (the answers that one pool of questions serves). If it does, a second particle
system starts from the prior and learns all answers from then on.

Both predict each further answer before they learn it. If the posterior is correct, the likelihood ratio of the second
opinion to it is a martingale with mean 1, so the probability that it ever exceeds `1 / HEARD_AT` is at most `HEARD_AT`
(Ville 1939, *Étude critique de la notion de collectif*). Once it does, the second opinion asks half of the questions.
It is dropped when it predicts no better than the posterior. Every answer counts in the posterior, whoever asked for it.
What is limited is how far answers can move the questions: to what the posterior before them considered possible.
"""

from dataclasses import dataclass, replace

import numpy as np

from dither_estimator.likelihood.counts import Counts, total_answers
from dither_estimator.likelihood.institutions import Members, without_members
from dither_estimator.particles.system import ParticleSystem, init, update
from dither_estimator.weighted.moments import Moments

__all__ = ["HEARD_AT", "LONG_MOVE", "SecondOpinion", "Steering"]

HEARD_AT = 1e-6
"""Bound on the probability that a second opinion is ever heard although the posterior is correct."""

LONG_MOVE = 1.6
"""A longer move in one epoch, in posterior standard deviations, raises doubt. With a quarter more answers a correct
posterior of two parameters moves this far in 0.2% of epochs, with an eighth more in 1e-5:
`exp(-d² / (2 f / (1 + f)))`."""
_FIRST_REVIEW_ANSWERS = 100
"""Answers before a second opinion is first reviewed, and before a posterior can be doubted."""


@dataclass(frozen=True)
class SecondOpinion:
    """A particle system that started from the prior, and its record against the posterior."""

    system: ParticleSystem
    base: float
    """The posterior's log evidence when this system started."""
    heard: bool
    review_at: int
    """The number of its own answers at which it is next reviewed."""
    lead: float
    """By how many nats it had predicted better than the posterior at the last review."""

    @property
    def answers(self) -> int:
        """The number of answers that it has learnt."""
        return total_answers(self.system.counts)


@dataclass(frozen=True)
class Steering:
    """The state of the steering between epochs."""

    mark: Moments | None = None
    """The posterior's moments at the start of the epoch, in unconstrained coordinates; None if no move is judged."""
    second: SecondOpinion | None = None

    @property
    def heard(self) -> ParticleSystem | None:
        """The second opinion, if it asks half of the questions."""
        return self.second.system if self.second is not None and self.second.heard else None

    def learnt(self, rng: np.random.Generator, new: Counts, members: Members) -> "Steering":
        """The second opinion after it has learnt what the posterior has learnt.

        Counts from institutions may move a correct posterior by its whole width and raise no doubt.
        """
        mark = None if members else self.mark
        if self.second is None:
            return Steering(mark, None)
        return Steering(mark, replace(self.second, system=update(rng, self.second.system, new, members)))

    def reviewed(self, rng: np.random.Generator, posterior: ParticleSystem) -> "Steering":
        """The steering after an epoch: doubt the posterior, hear the second opinion, or drop it."""
        mark = Moments.of(posterior.coordinates, posterior.weights)
        if self.second is not None:
            return Steering(mark, _reviewed(self.second, posterior))
        known = total_answers(posterior.counts) >= _FIRST_REVIEW_ANSWERS
        if not known or self.mark is None or self.mark.distance(mark.mean) <= LONG_MOVE:
            return Steering(mark, None)
        fresh = init(rng, posterior.prior, len(posterior.log_weights))
        return Steering(mark, SecondOpinion(fresh, posterior.log_evidence, False, _FIRST_REVIEW_ANSWERS, 0.0))

    def corrected(self, rng: np.random.Generator, posterior: ParticleSystem) -> ParticleSystem:
        """The posterior, or the same posterior reached in another order if that finds more evidence.

        Particles move in small steps, so a misled posterior stays where it is even when another region explains the
        answers better. The second opinion is in that region and learns the earlier answers last. Evidence does not
        depend on the order, so the system with less evidence has missed a part of the posterior.
        """
        if self.heard is None:
            return posterior
        members = without_members(posterior.members, self.heard.members)
        other = update(rng, self.heard, _without(posterior.counts, self.heard.counts), members)
        return replace(other, moves=posterior.moves) if other.log_evidence > posterior.log_evidence else posterior


def _without(counts: Counts, known: Counts) -> Counts:
    left = {query: row - known[query] if query in known else row for query, row in counts.items()}
    return {query: row for query, row in left.items() if row.any()}


def _reviewed(second: SecondOpinion, posterior: ParticleSystem) -> SecondOpinion | None:
    lead = second.system.log_evidence - (posterior.log_evidence - second.base)
    heard = second.heard or bool(lead > -np.log(HEARD_AT))
    if second.answers < second.review_at:
        return replace(second, heard=heard)
    if lead <= second.lead:
        return None
    return replace(second, heard=heard, review_at=2 * second.answers, lead=lead)
