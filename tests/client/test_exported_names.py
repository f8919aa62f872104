"""What `dither_client` offers is what its `__all__` says, sorted, and every error of the tree is there."""

import subprocess
import sys
from types import ModuleType

import pytest

import dither_client
from dither_client import DitherError, errors


def test_names() -> None:
    names = dither_client.__all__
    assert names == sorted(names)
    assert len(names) == len(set(names))
    public = {name: getattr(dither_client, name) for name in dir(dither_client) if name[0] != "_"}
    there = {name for name, thing in public.items() if not isinstance(thing, ModuleType)}
    assert there - {"TYPE_CHECKING", "import_module"} == set(names)
    with pytest.raises(AttributeError, match="module 'dither_client' has no attribute 'Cilent'"):
        _ = dither_client.Cilent  # type: ignore[attr-defined]


def test_http_is_imported_by_those_who_use_it() -> None:
    """Neither the estimator nor a command about local files waits for it."""
    there = "print('httpx2' in sys.modules)"
    code = f"import sys, dither_client; {there}; dither_client.Client; {there}"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["False", "True"]


def test_every_error_is_public_and_in_one_tree() -> None:
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), DitherError)
        assert name in dither_client.__all__


def test_what_is_bad_input_is_a_value_error() -> None:
    bad = {name for name in errors.__all__ if issubclass(getattr(errors, name), ValueError)}
    assert bad == {name for name in errors.__all__ if name.startswith("Invalid")}
