"""The trees that the modules of errors draw are those of their classes."""

import re
from types import ModuleType

import pytest

from dither_client import errors as client_errors
from dither_server import errors as server_errors

_BRANCH = re.compile(r"^    (?P<indent>(?:│   |    )*)(?:├── |└── )?(?P<name>[A-Z]\w+)(?:\s|$)")


def drawn(docstring: str) -> dict[str, str | None]:
    """Each class that is drawn, and the one that it hangs from; None for a root."""
    parents: dict[str, str | None] = {}
    above: list[str] = []
    for line in docstring.splitlines():
        found = _BRANCH.match(line)
        if found is None:
            continue
        depth = len(found["indent"]) // 4 + ("── " in line)
        parents[found["name"]] = above[depth - 1] if depth else None
        above[depth:] = [found["name"]]
    return parents


def built(module: ModuleType) -> dict[str, str | None]:
    """The same of the module's exceptions."""
    own = {
        name: thing
        for name, thing in vars(module).items()
        if isinstance(thing, type) and thing.__module__ == module.__name__
    }
    return {
        name: next((base.__name__ for base in thing.__bases__ if base.__name__ in own), None)
        for name, thing in own.items()
    }


@pytest.mark.parametrize("module", [client_errors, server_errors], ids=lambda module: module.__name__)
def test_the_drawing_is_true(module: ModuleType) -> None:
    assert drawn(module.__doc__ or "") == built(module)
    assert sorted(built(module)) == module.__all__


def test_a_wrong_drawing_is_found_out() -> None:
    text = client_errors.__doc__ or ""
    assert drawn(text.replace("    ├── InvalidEpsilon ", "    ├── Unsaid         ")) != built(client_errors)
    assert drawn(text.replace("    │   ├── OverCap", "    ├── OverCap")) != built(client_errors)
