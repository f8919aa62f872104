"""Parsing of a family's parameters on the command line: `mu=50,sigma=3`."""

from dither_estimator.design.design import DesignError
from dither_estimator.families import Family

__all__ = ["parse_numbers", "parse_theta"]


def parse_theta(text: str | None, family: Family) -> list[float]:
    """The member written as `mu=50,sigma=3`, in the order of the parameters; the standard member for None.

    Raises `DesignError`.
    """
    if text is None:
        return [float(value) for value in family.standard]
    form = ",".join(f"{name}=NUMBER" for name in family.names)
    given = parse_numbers(text, f"theta must be {form}, with a number for each")
    if set(given) != set(family.names):
        raise DesignError(f"theta of the family {family.name} must be {form}")
    return [given[name] for name in family.names]


def parse_numbers(text: str, allowed: str) -> dict[str, float]:
    """Parse numbers by name, such as `mu=0.5,sigma=0.3`. Raises `DesignError` with the message `allowed`."""
    numbers: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = (piece.strip() for piece in part.partition("="))
        if name in numbers:
            raise DesignError(f"{allowed}, each once")
        try:
            numbers[name] = float(number)
        except ValueError:
            raise DesignError(allowed) from None
    return numbers
