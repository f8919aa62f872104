"""Dither's learner against IBIS of the PyPI package `particles` 0.4: same model, prior, questions, answers and N.

    python -m benchmarks.peer_particles [ANSWERS ...]

The peer gets the answers twice: one by one, as its users write a model, and with a likelihood from counts, which is
Dither's own idea written for the peer. Makes a virtual environment for it, which needs NumPy below 2, in
`benchmarks/.peer` on first use. One core each, one after the other, BLAS threads off. Dither's time has the choice of
every question in it; the peer's has not.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.peers import peer_python
from benchmarks.tables import print_table
from dither_client import Query
from dither_estimator.channels import channel_of
from dither_estimator.learner import Learner
from dither_estimator.specification import Specification

__all__ = ["main"]

HERE = Path(__file__).parent
SPEC = {
    "family": "normal",
    "epsilon": 1,
    "prior": {
        "mu": {"dist": "norm", "loc": 0, "scale": 100},
        "sigma": {"dist": "invgamma", "a": 1, "scale": 1, "of": "variance"},
    },
}


def ours(n: int) -> tuple[dict[str, Any], list[Query], list[int]]:
    """Asks and learns n answers one by one, twice: to find the answers, and for the time of asking and learning."""
    rng = np.random.default_rng(1)
    values, uniforms = rng.normal(50, 10**0.5, n).tolist(), rng.random(n).tolist()
    spec = Specification.from_json(SPEC)
    learner = Learner(spec, 1)
    asked, answers = [], []
    for value, uniform in zip(values, uniforms, strict=True):
        query = learner.ask()
        answer = int(uniform < channel_of(query).matrix[query.cell(value), 1])
        learner.learn(query, answer)
        asked.append(query)
        answers.append(answer)
    learner = Learner(spec, 1)
    began = time.process_time()
    for answer in answers:
        learner.learn(learner.ask(), answer)
    posterior = learner.posterior()
    seconds = time.process_time() - began
    assert posterior.queries == len(set(asked))
    means = {name: summary.mean for name, summary in posterior.parameters.items()}
    sds = {name: summary.sd for name, summary in posterior.parameters.items()}
    return {"n": n, "seconds": seconds, "mean": means, "sd": sds, "ess": posterior.ess}, asked, answers


def main(sizes: Sequence[int] = (1_000, 10_000, 100_000)) -> None:
    """Prints the table."""
    ours(200)  # the first call of anything is slow, and neither side's time is to have it
    columns = ["answers", "Dither, s", "the peer is given", "particles 0.4, s", "ratio", "at equal ESS"]
    columns.append("means apart, sd: mu, sigma")
    print_table("One by one, against IBIS of the package particles", columns, _rows(sizes))


def _rows(sizes: Sequence[int]) -> Iterator[list[str]]:
    for n in sizes:
        with threadpool_limits(1):
            own, asked, answers = ours(n)
        for given in ("answers", "counts"):
            peer = _theirs(given, n, asked, answers)
            ratio = peer["seconds"] / own["seconds"]
            apart = [abs(peer["mean"][name] - own["mean"][name]) / own["sd"][name] for name in ("mu", "sigma")]
            yield [
                f"{n:,}",
                f"{own['seconds']:.2f}",
                given,
                f"{peer['seconds']:.2f}",
                f"{ratio:.1f}",
                f"{ratio * own['ess'] / peer['ess']:.1f}",
                f"{apart[0]:.2f}, {apart[1]:.2f}",
            ]


def _theirs(given: str, n: int, asked: Sequence[Query], answers: Sequence[int]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "answers.npz"
        np.savez(archive, cuts=[query.edges[0] for query in asked], answers=answers)
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        python = peer_python("particles", "numpy<2", "particles==0.4")
        command = [str(python), str(HERE / "peer_ibis.py"), str(archive), given, str(n)]
        result: dict[str, Any] = json.loads(
            subprocess.run(command, env=environment, check=True, capture_output=True).stdout
        )
        return result


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or (1_000, 10_000, 100_000))
