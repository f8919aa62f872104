"""A benchmark whose repeated runs are done by the workers of a Dask scheduler: the same numbers, sooner.

dask scheduler & dask worker tcp://HOST:8786     (in this folder, on as many machines as there are)
python -m benchmarks.on_dask tcp://HOST:8786 accuracy
"""

import sys
from importlib import import_module

from dither_papers.studies.workers import workers_of

__all__ = ["main"]


def main() -> None:
    """Runs the benchmark that is named."""
    address, name = sys.argv.pop(1), sys.argv.pop(1)
    with workers_of(address):
        import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
