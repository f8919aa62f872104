"""Virtual environments for the packages that Dither is measured against, in `benchmarks/.peer`, made on first use."""

import subprocess
import venv
from pathlib import Path

__all__ = ["peer_python"]

_FOLDER = Path(__file__).parents[1] / ".peer"


def peer_python(name: str, *packages: str) -> Path:
    """The interpreter of the environment `name`, in which `packages` are installed."""
    folder = _FOLDER / name
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    return python
