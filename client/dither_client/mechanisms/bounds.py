"""The bounds of a collection's values, which are public: a value outside them is refused where it was typed.

They refuse and do nothing else. No noise and no question depends on them, so a device needs no trust in them.
"""

from dataclasses import dataclass

from dither_client.errors import InvalidValue
from dither_client.typed_numbers import written

__all__ = ["ANYTHING", "Bounds"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the largest value that there can be, in the values' own units; None for no bound."""

    minimum: float | None = None
    maximum: float | None = None

    def __str__(self) -> str:
        """The bounds in words, such as `from 0 to 100,000`; empty without any."""
        if self.minimum is None:
            return "" if self.maximum is None else f"at most {written(self.maximum)}"
        if self.maximum is None:
            return f"at least {written(self.minimum)}"
        return f"from {written(self.minimum)} to {written(self.maximum)}"

    def check(self, value: float, what: str = "the value") -> None:
        """Raises `InvalidValue` for a value outside, with a text that says `what` it is and never repeats it."""
        below = self.minimum is not None and value < self.minimum
        if below or (self.maximum is not None and value > self.maximum):
            raise InvalidValue(f"{what} must be {self} here: please check it")


ANYTHING = Bounds()
"""No bounds."""
