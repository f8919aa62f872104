"""What tests of `dither simulate` share."""

import json
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _no_server_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DITHER_URL", "DITHER_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def checked(tmp_path: Path) -> str:
    """The name of a file with a specification that has a misfit check."""
    spec = {"family": "normal", "epsilon": 1, "range": [0, 100], "misfit_check": 0.5, "misfit_looks": [50, 60, 9_999]}
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    return str(tmp_path / "spec.json")
