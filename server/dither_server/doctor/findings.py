"""What an examination found."""

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Finding", "State", "fine", "mend", "unknown"]

State = Literal["ok", "mend", "unknown"]


@dataclass(frozen=True)
class Finding:
    """One line: what was looked at, how it is, and one sentence on what to do if it is not well."""

    check: str
    state: State
    found: str
    advice: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The object of `--json`."""
        return {"check": self.check, "state": self.state, "found": self.found, "advice": self.advice}


def fine(check: str, found: str) -> Finding:
    """Nothing to do."""
    return Finding(check, "ok", found)


def mend(check: str, found: str, advice: str) -> Finding:
    """Something to do."""
    return Finding(check, "mend", found, advice)


def unknown(check: str, found: str) -> Finding:
    """It could not be looked at, which is no fault by itself."""
    return Finding(check, "unknown", found)
