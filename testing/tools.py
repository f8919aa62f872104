"""Programs that tests need and `make test` installs: a missing one is a skip on somebody's machine, in CI a failure."""

import os
import shutil
from typing import NoReturn

import pytest

__all__ = ["find_tool", "skip_or_fail"]

_PLACES = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin"))


def find_tool(*names: str) -> str:
    """The path of the first of these programs that is installed."""
    found = next((place for name in names if (place := shutil.which(name, path=_PLACES))), None)
    if found is None:
        skip_or_fail(f"no {names[0]}: sh testing/install_tools.sh installs it, as root on Debian")
    return found


def skip_or_fail(message: str) -> NoReturn:
    """Ends a test that lacks something: in CI, where everything is to be there, as a failure."""
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)
