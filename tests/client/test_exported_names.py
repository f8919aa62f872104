"""What `dither_client` offers is what its `__all__` says, sorted, and every error of the tree is there."""

from types import ModuleType

import dither_client
from dither_client import DitherError, errors


def test_names() -> None:
    names = dither_client.__all__
    assert names == sorted(names)
    assert len(names) == len(set(names))
    there = {
        name for name, thing in vars(dither_client).items() if name[0] != "_" and not isinstance(thing, ModuleType)
    }
    assert there == set(names)


def test_every_error_is_public_and_in_one_tree() -> None:
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), DitherError)
        assert name in dither_client.__all__


def test_what_is_bad_input_is_a_value_error() -> None:
    bad = {name for name in errors.__all__ if issubclass(getattr(errors, name), ValueError)}
    assert bad == {name for name in errors.__all__ if name.startswith("Invalid")}
