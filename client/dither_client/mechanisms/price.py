"""What a collection's terms promise of its questions: the most that an answer costs, and which questions there may be.

The terms of a collection never change, so the first that a device was told are the price for good. A server that says
one ε and asks at another is refused before anything is spent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dither_client.errors import BadResponse, InvalidEpsilon, InvalidQuery, OverCap
from dither_client.mechanisms.epsilon import epsilon_text, listed
from dither_client.mechanisms.query import Query
from dither_client.mechanisms.registry import QUERY_TYPES

__all__ = ["Price"]


@dataclass(frozen=True, slots=True)
class Price:
    """The terms as far as a question has to keep to them."""

    mechanism: str
    transform: str
    epsilon: Fraction
    """Of everyone who does not choose."""
    choices: tuple[Fraction, ...] = ()
    """What respondents choose from; empty if there is no choice."""
    rho: Fraction | None = None
    levels: int | None = None
    """The most levels or cuts of a question; None where the server chooses. Cuts that fall together are one."""

    @staticmethod
    def from_json(data: Mapping[str, object]) -> "Price":
        """What `to_json` wrote; raises `ValueError` and the like for anything else."""
        rho, choices = data["rho"], data["choices"]
        assert isinstance(choices, list)
        return Price(
            str(data["mechanism"]),
            str(data["transform"]),
            Fraction(str(data["epsilon"])),
            tuple(map(Fraction, choices)),
            None if rho is None else Fraction(str(rho)),
            data["levels"] if isinstance(data["levels"], int) else None,
        )

    def to_json(self) -> dict[str, object]:
        """The price as a JSON object for a ledger, with ε as text."""
        return {
            "mechanism": self.mechanism,
            "transform": self.transform,
            "epsilon": epsilon_text(self.epsilon),
            "choices": list(map(epsilon_text, self.choices)),
            "rho": None if self.rho is None else epsilon_text(self.rho),
            "levels": self.levels,
        }

    def at(self, chosen: Fraction | None) -> Fraction:
        """The most that an answer costs whose ε is `chosen`, or left to the collection.

        Raises `InvalidEpsilon` for an ε that the terms do not offer.
        """
        if chosen is None:
            return self.epsilon
        offered = self.choices or (self.epsilon,)
        if chosen not in offered:
            raise InvalidEpsilon(f"epsilon must be one of {listed(offered)} here")
        return chosen

    @property
    def most(self) -> Fraction:
        """The most that an answer costs at any ε that a respondent may choose."""
        return max((self.epsilon, *self.choices))

    def check_kept(self, now: "Price") -> None:
        """Raises `BadResponse` if the server says a higher ε `now` than it did when this was its price."""
        for said, says in ((self.epsilon, now.epsilon), (self.most, now.most)):
            if says > said:
                raise BadResponse(
                    "the server has raised the price of this collection, which never changes: its terms said "
                    f"ε = {epsilon_text(said)} and now say ε = {epsilon_text(says)}"
                )

    def check(self, query: Query, chosen: Fraction | None = None) -> None:
        """Raises `OverCap` for a question that costs more than the terms say, `InvalidQuery` for one they rule out."""
        asked, most = query.epsilon, self.at(chosen)
        whose = "the collection's terms say" if chosen is None else "you chose"
        if asked > most:
            costs, limit = epsilon_text(asked), epsilon_text(most)
            raise OverCap(f"this question costs ε = {costs}, more than the ε = {limit} that {whose}")
        if chosen is not None and self.choices and asked != chosen:
            raise _refused(
                f"it is asked at ε = {epsilon_text(asked)}, not at the ε = {epsilon_text(chosen)} that {whose}"
            )
        self._check_kind(query)

    def _check_kind(self, query: Query) -> None:
        if query.transform != self.transform:
            raise _refused(f"its transform is {query.transform}, and the terms say {self.transform}")
        n_edges = query.n_cells - 1
        kind = QUERY_TYPES.get(self.mechanism)
        beside = kind.beside.get(query.mechanism, 0) if kind else 0
        if query.mechanism != self.mechanism and n_edges > beside:
            raise _refused("its mechanism is not the one that the terms say")
        if query.rho is not None and (self.rho is None or query.rho > self.rho):
            said = "none" if self.rho is None else f"ρ = {epsilon_text(self.rho)}"
            raise _refused(f"it states ρ = {epsilon_text(query.rho)}, and the terms say {said}")
        if self.levels is not None and n_edges > self.levels:
            raise _refused(f"it has {n_edges} edges between its cells, and the terms say {self.levels} at most")


def _refused(reason: str) -> InvalidQuery:
    return InvalidQuery(f"the server's question is refused: {reason}")
