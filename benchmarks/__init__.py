"""Measurements: `python -m benchmarks`.

Some use the harness of the tests. The folder `tests` is no package, and there are installed ones of that name, so it is
made one here.
"""

import sys
from pathlib import Path
from types import ModuleType

__all__: list[str] = []

_tests = ModuleType("tests")
_tests.__path__ = [str(Path(__file__).parent.parent / "tests")]
sys.modules.setdefault("tests", _tests)
