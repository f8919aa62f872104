"""What a query is: a partition of the line into cells, and a channel from the cell a value lies in to an answer.

A query owns its ε, its cells, its channel and its sampler together, and is valid once it exists. Each mechanism is a
subclass and an entry of `registry.QUERY_TYPES`.
"""

import hashlib
import json
import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from numbers import Real
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, get_args

from dither_client.errors import InvalidEpsilon, InvalidQuery, InvalidValue
from dither_client.forgetting import forgetful
from dither_client.mechanisms.epsilon import json_epsilon, wire_epsilon
from dither_client.mechanisms.sampling import RandBelow, system_randbelow

__all__ = ["MAX_CELLS", "MAX_EPSILON", "Held", "Query", "Schema", "Transform", "check_value", "transformed"]

Transform = Literal["identity", "log"]

Held = float | Sequence[float]
"""What a respondent holds: a number, or one for each component of the collection, in the order of its terms."""

Schema = Mapping[str, Any]
"""The JSON schema of a field."""

MAX_CELLS = 1_024
"""A query with more levels or cells than this is refused as too fine."""

MAX_EPSILON = 50
"""A query with a larger ε is refused: beyond it an answer hides nothing."""

EXACT: Schema = MappingProxyType({"type": ["integer", "number"], "exclusiveMinimum": 0, "maximum": MAX_EPSILON})
"""The schema of an amount of privacy: the JSON number writes the exact decimal."""
CUTS: Schema = MappingProxyType(
    {
        "type": "array",
        "items": {"type": "number"},
        "minItems": 1,
        "maxItems": MAX_CELLS - 1,
        "description": "Increasing, on the transformed scale.",
    }
)


class Query(ABC):
    """One question at one ε. Immutable, hashable; equal when they ask the same thing.

    Coordinates are on the transformed scale: with `transform` `"log"`, of the natural logarithm of the value.
    """

    mechanism: ClassVar[str]
    """Its name on the wire and in tables."""
    in_words: ClassVar[str] = ""
    """What people call it, where that is not its name with blanks."""
    number: ClassVar[int]
    """What it is called in packed queries: one byte, which no other mechanism has ever had."""
    asks: ClassVar[str]
    """What is asked, and which answers there are: the description in OpenAPI."""
    fields: ClassVar[Mapping[str, Schema]]
    """The fields beside `epsilon` and `transform`, as on the wire, each with its schema."""
    costs: ClassVar[str] = "The JSON number writes the exact decimal."
    """What `epsilon` is: its description in OpenAPI."""
    beside: ClassVar[Mapping[str, int]] = MappingProxyType({})
    """What else a collection of this mechanism asks: other mechanisms, with the most edges that they may have then.

    To find the collection's range, to compare families, and to check its family.
    """
    of_categories: ClassVar[bool] = False
    """Whether a value is the number of a category, which has no order and no scale."""
    merges: ClassVar[bool] = False
    """Whether cells may be left out: `with_edges` takes fewer edges than the query has."""

    epsilon: Fraction
    transform: Transform

    rho: Fraction | None = None
    """ρ of zero-concentrated differential privacy, where the mechanism states one."""

    states: str = ""
    """What is asked about the cells of several numbers, in the words of `JointQuery`; empty where it is about one."""

    @property
    def about(self) -> tuple[int, ...]:
        """The numbers of the components that are asked about, from 0; empty where a respondent holds one number."""
        return ()

    @property
    def cuts_of_numbers(self) -> tuple[tuple[tuple[float, ...], Transform], ...]:
        """For each number that is asked about the edges of its cells, and the scale that they are on."""
        return ((self.edges, self.transform),)

    @property
    @abstractmethod
    def edges(self) -> tuple[float, ...]:
        """The cell edges, strictly increasing: cell `k` holds the values with exactly `k` edges strictly below them."""

    @property
    @abstractmethod
    def n_answers(self) -> int:
        """Answers are `0..n_answers - 1`."""

    @property
    def n_cells(self) -> int:
        """Cells are `0..n_cells - 1`."""
        return len(self.edges) + 1

    @property
    def labels(self) -> tuple[int, ...]:
        """The group of each category, by its number; empty where values are numbers."""
        return ()

    @property
    def channel_key(self) -> tuple[Hashable, ...]:
        """What the channel depends on: queries of one mechanism share it if their keys are equal."""
        return (self.n_answers, self.epsilon)

    @abstractmethod
    def channel(self) -> list[list[float]]:
        """`Q[cell][answer] = P(answer | cell)`: rows sum to 1, no ratio in a column is above `exp(epsilon)`."""

    @abstractmethod
    def sample(self, cell: int, randbelow: RandBelow = system_randbelow) -> int:
        """An answer drawn exactly from row `cell` of the channel, in integer arithmetic."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The query as the JSON object of the wire format."""

    @abstractmethod
    def pack(self) -> bytes:
        """The query's own fields as bytes, in one way only; what `unpack` is given beside them need not be in it."""

    @classmethod
    @abstractmethod
    def unpack(cls, packed: bytes, n_answers: int, epsilon: Fraction, transform: Transform) -> Self:
        """The query with these answers, ε and transform whose own fields `pack` packed."""

    @abstractmethod
    def with_edges(self, edges: Sequence[float], transform: Transform) -> "Query":
        """The same question cut at these increasing edges. Raises `InvalidQuery` if it cannot be."""

    def height(self, answer: int) -> float:
        """How high an answer says that the value is, from 0 to 1: most mechanisms' answers are ordered as cells are."""
        return answer / (self.n_answers - 1)

    @classmethod
    def schema(cls) -> dict[str, Schema]:
        """The schema of each field of the query's JSON."""
        return {
            "mechanism": {"enum": [cls.mechanism]},
            **cls.fields,
            "epsilon": {**EXACT, "description": cls.costs},
            "transform": {"enum": get_args(Transform)},
        }

    @forgetful
    def cell(self, value: Held) -> int:
        """The cell that holds `value`, on the values' own scale; a tie goes down. Raises `InvalidValue`."""
        return bisect_left(self.edges, transformed(check_value(value), self.transform))

    @forgetful
    def answer(self, value: Held, randbelow: RandBelow = system_randbelow) -> int:
        """The private answer of a respondent who holds `value`: clip, round, randomise."""
        return self.sample(self.cell(value), randbelow)

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        return (self.mechanism, self.transform, self.epsilon, *(getattr(self, name) for name in self.fields))

    @cached_property
    def _hash(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Query) and self._key == other._key)

    def __hash__(self) -> int:
        return self._hash  # kept, since queries are looked up at every answer

    @cached_property
    def id(self) -> str:
        """32 hexadecimal digits that name this question: a hash of its canonical JSON."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()[:32]

    @property
    def canonical(self) -> str:
        """The canonical JSON of this question."""
        return json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"), allow_nan=False)


def transformed(value: float, transform: Transform) -> float:
    """The value on the transformed scale; `-inf` for a value that has no logarithm."""
    if transform == "identity":
        return value
    return math.log(value) if value > 0 else -math.inf


@forgetful
def check_value(value: object, what: str = "the value") -> float:
    """`value` as a finite float, also one of NumPy's integers.

    Raises `InvalidValue`, with a text that says `what` it is and never repeats it.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Real):
        raise InvalidValue(f"{what} must be a number")
    try:
        number = float(value)
    except OverflowError:
        raise InvalidValue(f"{what} must be a finite number") from None
    if not math.isfinite(number):
        raise InvalidValue(f"{what} must be a finite number")
    return number


def check_epsilon(epsilon: Any) -> Fraction:
    """The exact ε of a query: positive, at most six decimals, at most `MAX_EPSILON`. Raises `InvalidQuery`."""
    try:
        exact = wire_epsilon(epsilon)
    except InvalidEpsilon as error:
        raise InvalidQuery(str(error)) from None
    if exact > MAX_EPSILON:
        raise InvalidQuery(f"epsilon must be at most {MAX_EPSILON}")
    return exact


def check_transform(transform: Any) -> Transform:
    """`transform` if it is one. Raises `InvalidQuery`."""
    checked: Transform = transform
    if checked not in ("identity", "log"):
        raise InvalidQuery('transform must be "identity" or "log"')
    return checked


def check_coordinate(name: str, value: Any) -> float:
    """A finite coordinate as a float. Raises `InvalidQuery`."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise InvalidQuery(f"{name} must be a number")
    try:
        number = float(value)
    except (OverflowError, ValueError):
        raise InvalidQuery(f"{name} must be finite") from None
    if not math.isfinite(number):
        raise InvalidQuery(f"{name} must be finite")
    return number + 0.0  # -0.0 and 0.0 are one coordinate with one name


def check_cuts(cuts: Sequence[Any]) -> tuple[float, ...]:
    """Finite cuts that increase strictly. Raises `InvalidQuery`."""
    checked = tuple(check_coordinate("cuts", cut) for cut in cuts)
    if any(low >= high for low, high in pairwise(checked)):
        raise InvalidQuery("cuts must increase strictly")
    return checked


def common_fields(query: Query) -> dict[str, Any]:
    """The fields that the JSON of every query has."""
    return {"mechanism": query.mechanism, "epsilon": json_epsilon(query.epsilon), "transform": query.transform}
