"""Products of settings: what stands out among collections whose specifications and populations are drawn at random.

    python -m benchmarks.products [SEEDS] [--first SEED] [--only WORDS] [--jobs N] [--keep FILE]

Each seed draws a valid specification from the whole space (family, scale, mechanism, levels, goal, policy, ε, range,
prior, bounds, atoms, groups, periods, components, categories), a population that it fits, in some unit and some
distance from 0, and how many people answer and how many at once. They are simulated in process, and all that is told
is held against the truth: 90% intervals, how far off medians are, and errors beside those that the design promises.

`WORDS` are settings such as `mechanism=staircase,structure=groups`; seeds that draw others are passed over. What is
done is kept in `FILE`, line by line, and not done again; after a change to the estimator it needs another file.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from benchmarks.random_collections.drawing import draw_collection
from benchmarks.random_collections.running import run
from benchmarks.random_collections.standing_out import (
    SLOW,
    false_claims,
    far_off,
    figures,
    pairs,
    promises,
    slow,
    troubles,
)
from testing.tables import print_table

__all__ = ["main"]

_SEEDS = 300


def main(arguments: Sequence[str]) -> None:
    """Prints what stands out; the arguments are those of the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.products")
    parser.add_argument("seeds", type=int, nargs="?", default=_SEEDS)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args(arguments)
    words = {word for word in given.only.split(",") if word}
    wanted = [seed for seed in range(given.first, given.first + given.seeds) if words <= _words(seed)]
    known = _kept(given.keep)
    found = [known[seed] for seed in wanted if seed in known]
    found += list(_run([seed for seed in wanted if seed not in known], given.jobs, given.keep))
    _print(found)


def _words(seed: int) -> set[str]:
    return {f"{name}={value}" for name, value in draw_collection(seed).settings.items()}


def _kept(file: Path | None) -> dict[int, dict[str, Any]]:
    lines = file.read_text().splitlines() if file is not None and file.exists() else []
    return {each["seed"]: each for each in map(json.loads, lines)}


def _run(seeds: Sequence[int], jobs: int, file: Path | None) -> Iterator[dict[str, Any]]:
    for number, each in enumerate(
        Parallel(n_jobs=jobs, return_as="generator")(delayed(run)(seed) for seed in seeds), 1
    ):
        if file is not None:
            with file.open("a") as kept:
                kept.write(json.dumps(each) + "\n")
        if number % 50 == 0:
            print(f"{number} of {len(seeds)}", file=sys.stderr, flush=True)
        yield each


def _print(found: Sequence[dict[str, Any]]) -> None:
    settings = "settings"
    print_table(
        f"{len(found):,} collections", ("setting", "collections", "held", "error / promise", "CPU s"), figures(found)
    )
    print_table("Coverage of 90% intervals", (settings, "of", "collections", "held", "p"), pairs(found))
    print_table(
        "Errors beside the design's", (settings, "of", "collections", "times the promise", "p"), promises(found)
    )
    print_table("Far off", ("seed", "what", "normal score", "nats missed", settings), far_off(found))
    print_table("Claims", ("claim", "collections", "made", "false", "which"), false_claims(found))
    print_table("Errors, refusals, warnings", ("kind", "text", "collections", "seeds"), troubles(found))
    print_table(f"More than {SLOW:g} s", ("seed", "CPU s", settings), slow(found))


if __name__ == "__main__":
    main(sys.argv[1:])
