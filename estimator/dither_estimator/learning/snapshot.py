"""A learner's whole state as bytes: a NumPy archive without pickles."""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither_client import parse_query
from dither_estimator.learning.second_opinion import SecondOpinion, Steering
from dither_estimator.likelihood.counts import Counts, check_counts
from dither_estimator.likelihood.institutions import MemberCount, Members
from dither_estimator.particles.evidence import Evidence
from dither_estimator.particles.system import ParticleSystem
from dither_estimator.priors.prior import Prior
from dither_estimator.specification.specification import Specification
from dither_estimator.weighted.moments import Moments

__all__ = ["InvalidSnapshot", "State", "check_version", "read_snapshot", "reading", "write_snapshot"]

_VERSION = 3
_WITHOUT_STEERING = 2
"""The previous version: without a second opinion, otherwise the same."""
_Arrays = Mapping[str, npt.NDArray[Any]]


class InvalidSnapshot(ValueError):
    """The snapshot has another version or belongs to another specification; rebuild the learner from the counts."""


@dataclass(frozen=True)
class State:
    """Everything that defines a learner's state."""

    systems: tuple[ParticleSystem, ...]
    """The posterior, then its rivals in the specification's order; all have the same counts."""
    evidences: tuple[Evidence, ...] | None
    steering: Steering
    review_at: int
    generator: Mapping[str, Any]
    """The state of the bit generator."""


def write_snapshot(state: State) -> bytes:
    """Encode the state for `read_snapshot`."""
    counts = state.systems[0].counts
    mark, second = state.steering.mark, state.steering.second
    header: dict[str, Any] = {
        "version": _VERSION,
        "parameters": [list(each.prior.family.names) for each in state.systems],
        "log_evidence": [each.log_evidence for each in state.systems],
        "moves": [each.moves for each in state.systems],
        "evidences": state.evidences and [astuple(evidence) for evidence in state.evidences],
        "generator": state.generator,
        "queries": [query.to_json() for query in counts],
        "review_at": state.review_at,
        "second": None,
        "members": _member_rows(state.systems[0].members),
        "second_members": _member_rows(second.system.members) if second else [],
    }
    arrays: dict[str, Any] = {"counts": _flat(list(counts.values()))}
    for i, system in enumerate(state.systems):
        arrays |= _particles(str(i), system)
    if mark is not None:
        arrays |= {"mark_mean": mark.mean, "mark_covariance": mark.covariance}
    if second is not None:
        header["second"] = [second.base, second.heard, second.review_at, second.lead, second.system.log_evidence]
        own = second.system.counts
        arrays |= _particles("second", second.system)
        arrays["counts_second"] = _flat([own.get(query, np.zeros_like(row)) for query, row in counts.items()])
    buffer = io.BytesIO()
    np.savez(buffer, header=np.array(json.dumps(header)), **arrays)
    return buffer.getvalue()


def read_snapshot(specification: Specification, content: bytes) -> State:
    """Decode a state. Raises `InvalidSnapshot`."""
    with reading(content) as archive:
        return _read(specification, json.loads(str(archive["header"])), archive)


@contextmanager
def reading(content: bytes) -> Iterator[Mapping[str, npt.NDArray[Any]]]:
    """The arrays of a snapshot. Whatever goes wrong with them in the block raises `InvalidSnapshot`."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        yield arrays
    except InvalidSnapshot:
        raise
    except Exception as error:
        raise InvalidSnapshot(f"the snapshot cannot be read: {type(error).__name__}") from error


def check_version(header: Mapping[str, Any], *known: int) -> None:
    """Raises `InvalidSnapshot` unless the snapshot has one of the `known` versions."""
    if header["version"] not in known:
        raise InvalidSnapshot("the snapshot has another version")


def _read(specification: Specification, header: Mapping[str, Any], arrays: _Arrays) -> State:
    priors = [specification.prior, *(rival.prior for rival in specification.rivals)]
    check_version(header, _VERSION, _WITHOUT_STEERING)
    if header["parameters"] != [list(prior.family.names) for prior in priors] or any(
        arrays[f"coordinates{i}"].shape != (specification.particles, len(prior.parts)) for i, prior in enumerate(priors)
    ):
        raise InvalidSnapshot("the snapshot belongs to another specification")
    queries = [parse_query(query) for query in header["queries"]]
    ends = np.cumsum([query.n_answers for query in queries]).astype(int)

    def table(name: str) -> Counts:
        rows = np.split(arrays[name], ends[:-1]) if queries else []
        return check_counts({query: row for query, row in zip(queries, rows, strict=True) if row.any()})

    def system(name: str, prior: Prior, counts: Counts, log_evidence: float, moves: int) -> ParticleSystem:
        coordinates, log_weights = arrays[f"coordinates{name}"], arrays[f"log_weights{name}"]
        members = _members(header.get("second_members" if name == "second" else "members", []))
        known = float(log_evidence), int(moves)
        return ParticleSystem(prior, coordinates, log_weights, counts, *known, members=members)

    counts = table("counts")
    numbers = zip(priors, header["log_evidence"], header["moves"], strict=True)
    mark = Moments(arrays["mark_mean"], arrays["mark_covariance"]) if "mark_mean" in arrays else None
    second = None
    if header.get("second") is not None:
        base, heard, review_at, lead, log_evidence = header["second"]
        own = system("second", priors[0], table("counts_second"), log_evidence, 0)
        second = SecondOpinion(own, base, heard, review_at, lead)
    return State(
        systems=tuple(system(str(i), prior, counts, *rest) for i, (prior, *rest) in enumerate(numbers)),
        evidences=header["evidences"] and tuple(Evidence(*evidence) for evidence in header["evidences"]),
        steering=Steering(mark, second),
        review_at=header.get("review_at", 0),
        generator=header["generator"],
    )


def _particles(name: str, system: ParticleSystem) -> dict[str, Any]:
    return {f"coordinates{name}": system.coordinates, f"log_weights{name}": system.log_weights}


def _member_rows(members: Members) -> list[list[Any]]:
    return [[m.cut, m.size, str(m.epsilon), m.count, times] for m, times in members.items()]


def _members(rows: Sequence[Sequence[Any]]) -> Members:
    return {MemberCount(cut, size, Fraction(epsilon), count): times for cut, size, epsilon, count, times in rows}


def _flat(rows: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    return np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
