"""The error that names the extra to install when a dependency is missing."""

import re
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec

__all__ = ["MissingExtra", "require_extra", "require_whole_extra"]

_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)[^;]*; extra == ['\"](?P<extra>[^'\"]+)['\"]")
"""A line of this package's metadata that an extra brings everywhere; one for some platforms alone does not match.

The extras that an extra includes are resolved there already.
"""


class MissingExtra(ImportError):
    """A part of Dither was imported whose extra is not installed."""


def require_extra(extra: str, *modules: str) -> None:
    """Raises `MissingExtra`, which names the command that installs `extra`, unless all `modules` can be imported."""
    _refuse(extra, [module for module in modules if find_spec(module) is None])


def require_whole_extra(extra: str) -> None:
    """Raises `MissingExtra`, which names all that is missing, unless everything that `extra` brings is installed."""
    lines = filter(None, map(_REQUIREMENT.fullmatch, distribution("dither").requires or ()))
    brought = {line["name"] for line in lines if line["extra"] == extra}
    _refuse(extra, sorted(name for name in brought if not _is_installed(name)))


def _refuse(extra: str, missing: list[str]) -> None:
    if missing:
        raise MissingExtra(
            f"this needs {', '.join(missing)}: install the extra {extra!r} with: pip install 'dither[{extra}]'"
        )


def _is_installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True
