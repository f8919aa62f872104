"""Reads a posterior as a server sends it."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from dither_client.errors import BadResponse
from dither_client.mechanisms.epsilon import wire_epsilon
from dither_client.mechanisms.query import Query
from dither_client.posterior.particles import Particles
from dither_client.posterior.posterior import Posterior, no_group_particles, population_fields
from dither_client.posterior.sentences import misfit_sentence
from dither_client.posterior.wire import PoisonBound, PosteriorReply, from_json, to_json

__all__ = ["parse_posterior"]

_OLDER: dict[str, Any] = {"answers_by_epsilon": {}, "institutions": 0, "misfit": None, "poison": None}
"""What is assumed where a server is too old to say it."""
_NO_BOUND = PoisonBound(0.0, {})


def parse_posterior(
    collection: str,
    data: Any,
    particles: Callable[[], Particles],
    counts: Callable[[], Mapping[Query, Sequence[int]]] = dict,
    group_particles: Callable[[str], Particles] = no_group_particles,
    group_counts: Callable[[], Mapping[str, Mapping[Query, Sequence[int]]]] = dict,
    terms: Mapping[str, Any] | None = None,
) -> Posterior:
    """The posterior in a reply. Raises `BadResponse`."""
    try:
        known = {**_OLDER, **data}
        says_poison = known["poison"] is not None
        reply = from_json(PosteriorReply, known if says_poison else known | {"poison": to_json(_NO_BOUND)})
        by_epsilon = sorted((wire_epsilon(epsilon), n) for epsilon, n in reply.answers_by_epsilon.items())
    except (TypeError, ValueError):
        raise BadResponse("the server's posterior is not one that this version can read") from None
    if reply.misfit is not None:
        misfit_sentence(reply.misfit)  # which it must be possible to say
    return Posterior(
        collection=collection,
        covariance=to_json(reply.covariance),
        answers=reply.answers,
        ess=reply.ess,
        log_evidence=reply.log_evidence,
        updated_at=reply.updated_at,
        particles=cache(particles),
        counts=cache(counts),
        members=reply.members,
        answers_by_epsilon=dict(by_epsilon),
        families=reply.families or (),
        verdict=reply.verdict,
        poison=reply.poison if says_poison else None,
        misfit=reply.misfit,
        groups=dict(reply.groups or {}),
        between_groups=dict(reply.between_groups or {}),
        periods=dict(reply.periods or {}),
        step=dict(reply.step or {}),
        drift_test=reply.drift_test,
        surprise=reply.surprise,
        components=dict(reply.components or {}),
        correlations=dict(reply.correlations or {}),
        regressions=dict(reply.regressions or {}),
        group_particles=cache(group_particles),
        group_counts=cache(group_counts),
        terms=terms or {},
        **population_fields(reply),
    )
