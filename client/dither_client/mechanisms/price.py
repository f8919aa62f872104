"""A collection's price: the most that an answer may cost, and which questions may be asked, according to its terms.

The terms of a collection never change, so the first ones that a device sees are its price for good. A server that says
one ε and asks at another is refused before anything is spent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dither_client.errors import BadResponse, InvalidEpsilon, InvalidQuery, InvalidValue, OverCap
from dither_client.forgetting import forgetful
from dither_client.mechanisms.bounds import ANYTHING, Bounds
from dither_client.mechanisms.component_query import ComponentQuery
from dither_client.mechanisms.components import Component, numbers_of
from dither_client.mechanisms.epsilon import epsilon_text, listed
from dither_client.mechanisms.groups import Groups
from dither_client.mechanisms.joint_query import JointQuery
from dither_client.mechanisms.panel import Panel
from dither_client.mechanisms.query import Held, Query, check_value
from dither_client.mechanisms.registry import QUERY_TYPES

__all__ = ["Price", "Value", "check_about"]

Value = float | str | Mapping[str, float]
"""What a respondent gives: a number, the text of a category, or a number for each component by its name."""


@dataclass(frozen=True, slots=True)
class Price:
    """The part of the terms that limits questions."""

    mechanism: str
    transform: str
    epsilon: Fraction
    """The ε for everyone who does not choose."""
    choices: tuple[Fraction, ...] = ()
    """The values of ε that respondents choose from; empty if there is no choice."""
    rho: Fraction | None = None
    levels: int | None = None
    """The most levels or cuts of a question; None if the server chooses. Cuts that coincide count once."""
    categories: tuple[str, ...] = ()
    """The texts of the categories, one of which is the value; empty where the value is a number."""
    bounds: Bounds = ANYTHING
    """The bounds of a value that is a number."""
    groups: Groups | None = None
    """The public groups, one of which the respondent names; None where there are none."""
    components: tuple[Component, ...] = ()
    """The numbers that each respondent holds, where there are several; questions are about one of them or more."""
    panel: Panel | None = None
    """The panel, where each respondent answers in several periods; None if everybody answers once."""

    @staticmethod
    def from_json(data: Mapping[str, object]) -> "Price":
        """Reads what `to_json` wrote; raises `ValueError` and the like for anything else."""
        rho, choices, categories = data["rho"], data["choices"], data.get("categories", [])
        components, panel = data.get("components", []), data.get("panel")
        assert isinstance(choices, list)
        assert isinstance(categories, list)
        assert isinstance(components, list)
        assert panel is None or isinstance(panel, Mapping)
        return Price(
            str(data["mechanism"]),
            str(data["transform"]),
            Fraction(str(data["epsilon"])),
            tuple(map(Fraction, choices)),
            None if rho is None else Fraction(str(rho)),
            data["levels"] if isinstance(data["levels"], int) else None,
            tuple(map(str, categories)),
            Bounds(_number(data.get("minimum")), _number(data.get("maximum"))),
            None if data.get("groups") is None else Groups.from_json(data["groups"]),
            tuple(map(Component.from_json, components)),
            None if panel is None else Panel.from_json(panel),
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
            **({"categories": list(self.categories)} if self.categories else {}),
            **({} if self.bounds == ANYTHING else {"minimum": self.bounds.minimum, "maximum": self.bounds.maximum}),
            **({} if self.groups is None else {"groups": self.groups.to_json()}),
            **({"components": [some.to_json() for some in self.components]} if self.components else {}),
            **({} if self.panel is None else {"panel": self.panel.to_json()}),
        }

    @forgetful
    def held(self, value: Value) -> Held:
        """The value in the form that questions take: a number, its category's number, or the numbers of all components.

        Raises `InvalidValue`, with a text that never repeats the value.
        """
        if self.components:
            return numbers_of(self.components, value)
        if not self.categories:
            number = check_value(value)
            self.bounds.check(number)
            return number
        if value not in self.categories:
            raise InvalidValue(f"the value must be one of the collection's categories: {', '.join(self.categories)}")
        return float(self.categories.index(str(value)))

    def at(self, chosen: Fraction | None) -> Fraction:
        """The most that an answer costs at the ε `chosen`; None means no choice.

        Raises `InvalidEpsilon` for an ε that the terms do not offer.
        """
        if chosen is None:
            return self.epsilon
        offered = self.choices or (self.epsilon,)
        if chosen not in offered:
            raise InvalidEpsilon(f"epsilon must be one of {listed(offered)} here")
        return chosen

    def in_all(self, chosen: Fraction | None) -> Fraction:
        """The most that all answers of one respondent cost at the ε `chosen`. Raises `InvalidEpsilon`."""
        return self.at(chosen) * (1 if self.panel is None else self.panel.answers)

    @property
    def most(self) -> Fraction:
        """The most that an answer costs at any ε that a respondent may choose."""
        return max((self.epsilon, *self.choices))

    def check_kept(self, now: "Price") -> None:
        """Raises `BadResponse` if the price `now` has a higher ε than this one, or other values that may be given.

        Those are categories, bounds, groups, components and panels. A price without bounds may come from a version that
        kept none, and stays without, and so does one without a panel: such a respondent answers once. One without
        groups may, too; a respondent who names a group is then held to those of the terms.
        """
        for said, says in ((self.epsilon, now.epsilon), (self.most, now.most)):
            if says > said:
                raise BadResponse(
                    "the server has raised the price of this collection, which never changes: its terms said "
                    f"ε = {epsilon_text(said)} and now say ε = {epsilon_text(says)}"
                )
        if now.categories != self.categories:
            raise BadResponse("the server has changed the categories of this collection, which never change")
        if self.bounds not in (ANYTHING, now.bounds):
            raise BadResponse("the server has changed the bounds of this collection, which never change")
        if self.groups not in (None, now.groups):
            raise BadResponse("the server has changed the groups of this collection, which never change")
        if self.panel not in (None, now.panel):
            raise BadResponse("the server has changed the panel of this collection, which never changes")
        if now.components != self.components:
            raise BadResponse("the server has changed the components of this collection, which never change")

    def check(self, query: Query, chosen: Fraction | None = None) -> None:
        """Raises `OverCap` for a question above this price, and `InvalidQuery` for one that the terms rule out."""
        asked, most = query.epsilon, self.at(chosen)
        whose = "the collection's terms say" if chosen is None else "you chose"
        if asked > most:
            costs, limit = epsilon_text(asked), epsilon_text(most)
            raise OverCap(f"this question costs ε = {costs}, more than the ε = {limit} that {whose}")
        if chosen is not None and self.choices and asked != chosen:
            raise _refused(
                f"it is asked at ε = {epsilon_text(asked)}, not at the ε = {epsilon_text(chosen)} that {whose}"
            )
        if self.components or query.about:
            self._check_about(query)
        else:
            self._check_kind(query, self.transform)

    def _check_about(self, query: Query) -> None:
        check_about(query, self.components)
        if isinstance(query, ComponentQuery):
            self._check_kind(query.query, query.transform)

    def _check_kind(self, query: Query, transform: str) -> None:
        if query.transform != transform:
            raise _refused(f"its transform is {query.transform}, and the terms say {transform}")
        n_edges = query.n_cells - 1
        kind = QUERY_TYPES.get(self.mechanism)
        beside = kind.beside.get(query.mechanism, 0) if kind else 0
        if query.mechanism != self.mechanism and n_edges > beside:
            raise _refused("its mechanism is not the one that the terms say")
        if query.rho is not None and (self.rho is None or query.rho > self.rho):
            said = "none" if self.rho is None else f"ρ = {epsilon_text(self.rho)}"
            raise _refused(f"it states ρ = {epsilon_text(query.rho)}, and the terms say {said}")
        if self.categories and query.n_cells != len(self.categories):
            raise _refused(f"it has {query.n_cells} categories, and the terms list {len(self.categories)}")
        if self.levels is not None and n_edges > self.levels:
            raise _refused(f"it has {n_edges} edges between its cells, and the terms say {self.levels} at most")


def check_about(query: Query, components: Sequence[Component]) -> None:
    """Raises `InvalidQuery` unless the query is about some of these components, on their scales."""
    if not components:
        raise _refused("it is about one of several numbers, and the terms ask for one value")
    if not query.about:
        raise _refused("it is about no component, and the terms list several")
    if query.about[-1] >= len(components):
        raise _refused(f"it is about component {query.about[-1]}, and the terms list {len(components)}")
    asked = query.transforms if isinstance(query, JointQuery) else (query.transform,)
    said = tuple(components[number].transform for number in query.about)
    if asked != said:
        raise _refused(
            f"its {'transform is' if len(said) == 1 else 'transforms are'} {', '.join(asked)}, and the terms "
            f"say {', '.join(said)}"
        )


def _number(stored: object) -> float | None:
    return None if stored is None else float(str(stored))


def _refused(reason: str) -> InvalidQuery:
    return InvalidQuery(f"the server's question is refused: {reason}")
