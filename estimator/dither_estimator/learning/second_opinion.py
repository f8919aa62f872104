"""Who steers: the posterior, and a second opinion when the answers contradict it.

Questions follow the posterior, so whoever answers first can lead them away: there every honest answer says the same,
and the posterior, which believes that it knows, asks about its own small surroundings only. A posterior that is right
hardly ever moves by more than its own width within one epoch of answers (the answers that one pool of questions is
asked for). When it does, a second particle system starts from the prior and learns what is answered from then on.

Both predict each further answer before they learn it. If the posterior is right, the likelihood ratio of the second
opinion to it is a martingale of mean 1, so it ever exceeds `1 / HEARD_AT` with probability at most `HEARD_AT` (Ville
1939, *Étude critique de la notion de collectif*). Once it does, the second opinion asks half of the questions. It goes
when it predicts no better than the posterior. Every answer counts in the posterior, whoever asked: what is capped is
how far answers can move the questions, at what the posterior before them held for possible.
"""

from dataclasses import dataclass, replace

import numpy as np

from dither_estimator.likelihood.counts import Counts, total_answers
from dither_estimator.likelihood.institutions import Members, without_members
from dither_estimator.particles.moments import Moments
from dither_estimator.particles.system import ParticleSystem, init, update

__all__ = ["HEARD_AT", "LONG_MOVE", "SecondOpinion", "Steering"]

HEARD_AT = 1e-6
"""The chance that the second opinion is heard at any time although the posterior is right, at most."""

LONG_MOVE = 1.6
"""Standard deviations of the posterior: a longer move in one epoch raises doubt. A quarter more answers move a right
posterior of two parameters so far in 0.2% of epochs, an eighth more in 1e-5: `exp(-d² / (2 f / (1 + f)))`."""
_FIRST_REVIEW = 100
"""Answers after which a second opinion is reviewed first, and with fewer of which no posterior is doubted."""


@dataclass(frozen=True)
class SecondOpinion:
    """A particle system that began from the prior, and how it has fared against the posterior."""

    system: ParticleSystem
    base: float
    """The posterior's log evidence when this began."""
    heard: bool
    review_at: int
    """The number of own answers at which to review it."""
    lead: float
    """By how many nats it had predicted better at the last review."""

    @property
    def answers(self) -> int:
        """How many answers it has learnt."""
        return total_answers(self.system.counts)


@dataclass(frozen=True)
class Steering:
    """The state between epochs."""

    mark: Moments | None = None
    """Where the posterior was at the beginning of an epoch, in unconstrained coordinates."""
    second: SecondOpinion | None = None

    @property
    def heard(self) -> ParticleSystem | None:
        """The second opinion if it is to ask half of the questions."""
        return self.second.system if self.second is not None and self.second.heard else None

    def learnt(self, rng: np.random.Generator, new: Counts, members: Members) -> "Steering":
        """The second opinion learns what the posterior has learnt.

        What institutions share may move a right posterior as far as it is wide, and raises no doubt.
        """
        mark = None if members else self.mark
        if self.second is None:
            return Steering(mark, None)
        return Steering(mark, replace(self.second, system=update(rng, self.second.system, new, members)[0]))

    def reviewed(self, rng: np.random.Generator, posterior: ParticleSystem) -> "Steering":
        """After an epoch: doubts the posterior, hears the second opinion, or lets it go."""
        mark = Moments.of(posterior.coordinates, posterior.weights)
        if self.second is not None:
            return Steering(mark, _reviewed(self.second, posterior))
        known = total_answers(posterior.counts) >= _FIRST_REVIEW
        if not known or self.mark is None or self.mark.distance(mark.mean) <= LONG_MOVE:
            return Steering(mark, None)
        fresh = init(rng, posterior.prior, len(posterior.log_weights))
        return Steering(mark, SecondOpinion(fresh, posterior.log_evidence, False, _FIRST_REVIEW, 0.0))

    def corrected(self, rng: np.random.Generator, posterior: ParticleSystem) -> ParticleSystem:
        """The posterior, or the same one come by in another order if that finds more evidence.

        Particles move in small steps, so a posterior that was led away stays there when another place has come to
        explain the answers better. The second opinion is at that place: it learns the earlier answers last. Evidence
        does not depend on the order, so whoever finds less of it has lost a part of the posterior.
        """
        if self.heard is None:
            return posterior
        members = without_members(posterior.members, self.heard.members)
        other, _ = update(rng, self.heard, _without(posterior.counts, self.heard.counts), members)
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
