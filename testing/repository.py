"""Where the parts of the repository are."""

from pathlib import Path

__all__ = ["DOCS", "ROOT", "TESTS"]

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
TESTS = ROOT / "tests"
