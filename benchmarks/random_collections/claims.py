"""What is said in words of a random collection: which family holds, that none does, that something changed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.random_collections.collection import RandomCollection
from dither_client.posterior.sentences import CANNOT_TELL, NOT_COMPARED
from dither_client.posterior.wire import PosteriorReply
from dither_estimator.checks.competing_families import NONE_OF_THESE
from dither_estimator.checks.prior_conflict import prior_conflicts
from dither_estimator.specification.specification import Specification

__all__ = ["Claim", "claims"]

_NOTHING = ""


@dataclass(frozen=True)
class Claim:
    """`said`: in words, empty if nothing was said that could be false. `true`: whether it holds."""

    kind: str
    said: str
    true: bool


def claims(collection: RandomCollection, spec: Specification, reply: PosteriorReply) -> list[Claim]:
    """Everything that is said of what is known."""
    return list(_claims(collection, spec, reply))


def _claims(collection: RandomCollection, spec: Specification, reply: PosteriorReply) -> Iterator[Claim]:
    holding = _families_that_hold(collection)
    if holding and spec.groups is None and not spec.components:
        verdict = reply.verdict or CANNOT_TELL
        compared = [(each.family, each.transform) for each in reply.families or ()]
        some = any(_is_one_of(each, holding) for each in compared)
        named = next((each for each in compared if verdict.startswith(f"{each[0]} with transform {each[1]}")), None)
        true = not some if verdict == NONE_OF_THESE else named is None or _is_one_of(named, holding)
        if verdict not in (CANNOT_TELL, NOT_COMPARED, NONE_OF_THESE) and named is None:
            true = False
        yield Claim("verdict", _NOTHING if verdict in (CANNOT_TELL, NOT_COMPARED) else verdict, true)
    if reply.misfit is not None and reply.misfit.looks:
        yield Claim("misfit", "alarm" if reply.misfit.alarm else _NOTHING, collection.misspecified)
    if reply.drift_test is not None:
        yield Claim("drift", "alarm" if reply.drift_test.alarm else _NOTHING, False)
    right = collection.settings.get("range") in ("right", "prior") and not collection.misspecified
    if spec.parametric and reply.posterior and right:
        conflicts = prior_conflicts(spec.prior, {name: summary.q50 for name, summary in reply.posterior.items()})
        yield Claim("far from the prior", " and ".join(conflicts), False)


def _families_that_hold(collection: RandomCollection) -> Sequence[tuple[str, str]]:
    """The families, with their scales, of which a single population is a member; none of a mixture."""
    truth = next(iter(collection.truths.values()), None)
    if truth is None or len(truth.members) > 1 or truth.atoms:
        return ()
    member = truth.members[0]
    found = [(member.family.name, member.transform)]
    if member.family.name == "exponential":
        found += [("gamma", "identity"), ("weibull", "identity")]
    return found


def _is_one_of(named: tuple[str, str], holding: Sequence[tuple[str, str]]) -> bool:
    return named in holding or any(
        named == ("student_t", scale) and family.startswith("student_t:") for family, scale in holding
    )
