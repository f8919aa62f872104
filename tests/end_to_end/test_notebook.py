"""The notebook of the documentation runs from start to end on a real server."""

import os
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from testing.patience import PATIENCE
from testing.repository import DOCS
from testing.servers.process import forked

pytestmark = pytest.mark.slow

NOTEBOOK = DOCS / "notebook.ipynb"


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    assert not any(cell.get("outputs") for cell in notebook.cells), "it is kept without outputs"
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    with forked(f"sqlite:///{tmp_path / 'dither.sqlite'}") as [server]:
        monkeypatch.setenv("DITHER_URL", server.url)
        monkeypatch.setenv("DITHER_TOKEN", "the-admin-token")
        NotebookClient(notebook, timeout=PATIENCE, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("<caption>Posterior of" in output.get("data", {}).get("text/html", "") for output in shown)
