"""Carries a design over to another member of its family, fast enough to ask questions at once, without a certificate.

The queries move to the points with the same probability below, as always when they are asked of another member
(`policies.transport`). There each cut is optimised locally, on the scale of standard normal quantiles, and then the
weights of the mixture; a design of a single query is first fitted to its new place (`MechanismDesign.refitted`). The
numbers of queries and cuts are kept: they depend little on the shape and would take a hundred times as long to find.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri

from dither_client import Query
from dither_estimator.design.convex import Criterion, best_weights, mix
from dither_estimator.design.design import Design
from dither_estimator.design.goal import Goal
from dither_estimator.design.mechanism import MechanismDesign
from dither_estimator.design.member import Member
from dither_estimator.design.registry import MECHANISMS
from dither_estimator.families import FloatArray
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.mechanisms.information import channel_information
from dither_estimator.mechanisms.lattice import interval_addresses, on_interval, query_at, rebuilt, rounded
from dither_estimator.mechanisms.quantile_map import points_above, share_below

__all__ = ["carried"]

_MOVE_STEPS = (1.0, 0.3, 0.1, 0.03)
"""Steps by which cuts move, in standard normal quantiles: closer positions are equally good."""
_ROUNDS_PER_STEP = 6
"""Rounds per step; further ones would gain less than the rounding of the shapes costs."""
_MIN_IMPROVEMENT = 3e-4
"""A move must improve the criterion by at least this share."""
_MAX_QUANTILE = 4.7
_CLOSED_WIDTH = 0.03
"""The width of a closed interval, little more than a threshold, to which small moves do not lead among integers."""
_ROUNDING_SHARE = 2.0**-12
_WIDTH_BITS = 16
"""Bits of an interval's width."""
_MIN_WEIGHT = 1e-3
"""Queries with a smaller weight are left out."""


def carried(design: Design, theta: Sequence[float], goal: Goal | None = None) -> tuple[tuple[Query, ...], FloatArray]:
    """The design's queries carried over to the member `theta` (d,), and their weights (n,).

    The goal there is the design's own by default; a share above a value, for one, is of another level there.

    Raises `InvalidQuery` if floating point cannot represent them, and `LinAlgError` if they carry no information.
    """
    carrier = _Carrier.to(design, tuple(theta), goal or design.goal)
    pieces, weights = carrier.folded()
    informations = np.array([carrier.information(piece) for piece in pieces])
    if len(pieces) > 1:
        weights = best_weights(carrier.criterion, informations)
    for step in _MOVE_STEPS:
        pieces, informations = carrier.moved(pieces, weights, informations, step)
    if len(pieces) > 1:
        weights = best_weights(carrier.criterion, informations)
    weighted = [
        (query, weight / len(sides))
        for piece, weight in zip(pieces, weights.tolist(), strict=True)
        if weight > _MIN_WEIGHT
        for sides in [carrier.queries(piece)]
        for query in sides
    ]
    shares = np.array([weight for _, weight in weighted])
    return tuple(query for query, _ in weighted), shares / shares.sum()


@dataclass(frozen=True, eq=False)
class _Piece:
    """One query of the mixture, with its cuts as standard normal quantiles."""

    question: Query
    z: FloatArray
    """The cuts, shape (k,); for an interval only the first and the last edge."""

    @property
    def mirrored(self) -> "_Piece":
        """The reflection, for queries whose answers are ordered like their cells."""
        return replace(self, z=-self.z[::-1])

    @property
    def symmetric(self) -> bool:
        """Whether the query is its own mirror image."""
        return bool(np.abs(self.z + self.z[::-1]).max() < 1e-4)


@dataclass(frozen=True, eq=False)
class _Carrier:
    """Carries a design's queries to a member; for a symmetric member a piece represents its mirror image too."""

    design: Design
    kind: MechanismDesign
    member: Member
    criterion: Criterion

    @classmethod
    def to(cls, design: Design, theta: tuple[float, ...], goal: Goal) -> "_Carrier":
        kind, member = MECHANISMS[design.mechanism], Member(design.family, theta).suiting(goal)
        return cls(design, kind, member, Criterion.of(member.aim(goal), member.information[np.newaxis]))

    def folded(self) -> tuple[list[_Piece], FloatArray]:
        """The design's queries moved to the member's quantiles, without mirror images, and their weights."""
        family, home = self.design.family, np.array(self.design.theta)
        weights: dict[tuple[float, ...], float] = {}
        pieces: dict[tuple[float, ...], _Piece] = {}
        for query, weight in zip(self.design.queries, self.design.weights, strict=True):
            piece = self._piece(query, ndtri(share_below(family, home, np.asarray(query.edges))))
            if self.member.mirror is not None and piece.z.sum() < 0 and not self.kind.one_query:
                piece = piece.mirrored
            key = (float(query.n_answers), *np.round(piece.z, 4).tolist())
            pieces[key], weights[key] = piece, weights.get(key, 0.0) + weight
        return list(pieces.values()), np.array(list(weights.values()))

    def _piece(self, query: Query, z: FloatArray) -> _Piece:
        z = np.clip(z, -_MAX_QUANTILE, _MAX_QUANTILE)
        if self.kind.one_query:
            if self.member.mirror is not None:
                z = (z - z[::-1]) / 2
            query = self.kind.refitted(self.member, query, self._edges(query, z[np.newaxis])[0], self.criterion)
            z = ndtri(self.member.family.cdf(np.array([self.member.theta]), np.asarray(query.edges))[0])
        return _Piece(query, z[[0, -1]] if on_interval(query) else z)

    def _points(self, z: FloatArray) -> FloatArray:
        points = points_above(self.member.family, np.array([self.member.theta]), ndtr(z.ravel()))
        return points.reshape(z.shape)

    def _edges(self, question: Query, z: FloatArray) -> FloatArray:
        """The edges of queries cut at `z` (n, k), shape (n, edges)."""
        points = self._points(z)
        if on_interval(question):
            return np.linspace(points[:, 0], points[:, 1], question.levels, axis=1)
        return np.floor(points) + 0.5 if self.member.family.discrete else points

    def information(self, piece: _Piece) -> FloatArray:
        """The information of one answer, shape (d, d)."""
        return self._informations(piece.question, piece.z[np.newaxis])[0]

    def _informations(self, question: Query, z: FloatArray) -> FloatArray:
        """The informations of queries cut at `z` (n, k), shape (n, d, d)."""
        member, channel = self.member, channel_of(question).matrix
        informations = channel_information(member.family, member.theta, self._edges(question, z), channel)
        return informations if member.mirror is None else member.mirror.symmetrised(informations)

    def moved(
        self, pieces: Sequence[_Piece], weights: FloatArray, informations: FloatArray, step: float
    ) -> tuple[list[_Piece], FloatArray]:
        """The pieces with their cuts moved by multiples of `step`, one piece after the other, as long as that helps."""
        pieces, informations = list(pieces), informations.copy()
        for _ in range(_ROUNDS_PER_STEP):
            helped = False
            for i, piece in enumerate(pieces):
                moves = self._moves(piece, step)
                found = self._informations(piece.question, moves)
                rest = mix(weights, informations) - weights[i] * informations[i]
                values = [self.criterion.value(rest + weights[i] * each) for each in found]
                best = int(np.argmin(values))
                if values[best] < (1 - _MIN_IMPROVEMENT) * values[0]:
                    pieces[i], informations[i], helped = replace(piece, z=moves[best]), found[best], True
            if not helped:
                break
        return pieces, informations

    def _moves(self, piece: _Piece, step: float) -> FloatArray:
        """The cuts as they are, then all shifted, spread or contracted, then moved one at a time, shape (n, k).

        An interval may also close at either end.
        """
        z, k = piece.z, len(piece.z)
        ways = np.concatenate([np.ones((1, k)), np.linspace(-1, 1, k)[np.newaxis], np.eye(k)]) if k > 1 else np.eye(1)
        if self.member.mirror is not None and self.kind.one_query:
            ways = ways - ways[:, ::-1]
        moves = z + step * np.concatenate([np.zeros((1, k)), ways, -ways])
        if on_interval(piece.question):
            moves = np.concatenate([moves, [[z[0], z[0] + _CLOSED_WIDTH], [z[1] - _CLOSED_WIDTH, z[1]]]])
        kept: FloatArray = moves[
            (np.diff(moves, axis=1) > 0).all(axis=1) & (np.abs(moves) <= _MAX_QUANTILE).all(axis=1)
        ]
        return kept if len(kept) else z[np.newaxis]

    def queries(self, piece: _Piece) -> list[Query]:
        """The query with dyadic edges, and its mirror image if that differs."""
        alone = self.member.mirror is None or piece.symmetric or self.kind.one_query
        return [self._query(piece)] if alone else [self._query(piece), self._query(piece.mirrored)]

    def _query(self, piece: _Piece) -> Query:
        edges = self._edges(piece.question, piece.z[np.newaxis])[0]
        fine = _ROUNDING_SHARE * self.member.spread
        if on_interval(piece.question):
            at = interval_addresses(piece.question.levels, edges[:1], edges[-1:], np.array([fine]), _WIDTH_BITS)
            return query_at(piece.question, at[0], self.design.transform)
        if not self.member.family.discrete:
            edges = rounded(edges, np.full(len(edges), fine))
        return rebuilt(piece.question, np.unique(edges).tolist(), self.design.transform)
