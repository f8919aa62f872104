"""The error that names the extra to install when a dependency is missing."""

from importlib.util import find_spec

__all__ = ["MissingExtra", "require_extra"]


class MissingExtra(ImportError):
    """A part of Dither was imported whose extra is not installed."""


def require_extra(extra: str, *modules: str) -> None:
    """Raises `MissingExtra`, which names the command that installs `extra`, unless all `modules` can be imported."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise MissingExtra(
            f"this needs {', '.join(missing)}: install the extra {extra!r} with: pip install 'dither[{extra}]'"
        )
