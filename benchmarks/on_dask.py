"""A benchmark whose repeated runs are done by the workers of a Dask scheduler: the same numbers, sooner.

dask scheduler & dask worker tcp://HOST:8786     (in this folder, on as many machines as there are)
python -m benchmarks.on_dask tcp://HOST:8786 accuracy [ITS ARGUMENTS]
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from inspect import signature

from dither_estimator.workers import workers_of

__all__ = ["main"]


def main(arguments: Sequence[str]) -> None:
    """Runs the benchmark that is named, which takes its arguments or reads them from `sys.argv`."""
    address, name, *own = arguments
    benchmark = import_module(f"benchmarks.{name}").main
    sys.argv[1:] = own
    with workers_of(address):
        benchmark(*[own][: len(signature(benchmark).parameters)])


if __name__ == "__main__":
    main(sys.argv[1:])
