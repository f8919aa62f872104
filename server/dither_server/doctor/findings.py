"""The findings of `dither doctor`."""

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Finding", "State", "fine", "mend", "unknown"]

State = Literal["ok", "mend", "unknown"]


@dataclass(frozen=True)
class Finding:
    """The result of one check: its name, its state, what was found, and a sentence on how to fix it if necessary."""

    check: str
    state: State
    found: str
    advice: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The finding as an object of `--json`."""
        return {"check": self.check, "state": self.state, "found": self.found, "advice": self.advice}


def fine(check: str, found: str) -> Finding:
    """A finding that needs no action."""
    return Finding(check, "ok", found)


def mend(check: str, found: str, advice: str) -> Finding:
    """A finding that needs a fix, which `advice` describes."""
    return Finding(check, "mend", found, advice)


def unknown(check: str, found: str) -> Finding:
    """A check that could not be made, which is not a fault in itself."""
    return Finding(check, "unknown", found)
