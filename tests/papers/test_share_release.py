"""The release of a share: its law in exact terms, its estimates against the linear programme, and the command."""

import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, chi2

from dither_client import InvalidEpsilon
from dither_client.commands import run
from dither_estimator.families import FloatArray
from dither_papers.bayes_point.geometric import geometric_channel, geometric_estimator
from dither_papers.bayes_point.problem import InvalidProblem, chain, count_moments, squared_problem
from dither_papers.bayes_point.share import MOST_PEOPLE, release_share, share_given
from dither_papers.bayes_point.ubapp import solve

CaptureFixture = pytest.CaptureFixture[str]

PRIORS = [(1.0, 1.0), (0.5, 3.0)]


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("people", "epsilon"), [(1, 0.5), (6, 1.0), (12, 0.1), (12, 8.0)])
def test_the_estimates_are_the_best_for_a_count(people: int, epsilon: float, prior: tuple[float, float]) -> None:
    """Those of the closed form, whose risk no solution of the linear programme on a fine grid is below."""
    moments = count_moments(people, *prior)
    means, risk = geometric_estimator(moments, epsilon)
    found = [share_given(noisy, people, epsilon, prior) for noisy in range(people + 1)]
    assert np.allclose([mean for mean, _ in found], means, rtol=1e-12)
    shares = moments.zeroth @ geometric_channel(people, epsilon)
    assert shares @ np.square([sd for _, sd in found]) == pytest.approx(risk, rel=1e-9), "risk is the expected variance"
    grid = squared_problem(np.linspace(0, 1, 401), moments, chain(people + 1))
    assert solve(grid, epsilon).risk >= risk - 1e-9


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("noisy", [0, 2, 7])
def test_the_estimate_is_an_integral_over_a_continuous_share(noisy: int, prior: tuple[float, float]) -> None:
    """Quadrature over θ itself, which the closed form never sees; noise that is not clipped has another estimate."""
    people, epsilon = 7, 0.8
    counts = np.arange(people + 1)

    def found(law: FloatArray) -> tuple[float, float]:
        """The posterior mean and standard deviation; `law` has the chance of the noisy count given each count."""

        def moment(k: int) -> float:
            def density(share: float) -> float:
                return share**k * float(binom.pmf(counts, people, share) @ law)

            # The weight is the prior's density, singular at 0 for a = 1/2.
            whole, _ = quad(density, 0, 1, weight="alg", wvar=(prior[0] - 1, prior[1] - 1), epsabs=0, epsrel=1e-12)
            return float(whole)

        mean = moment(1) / moment(0)
        return mean, float(np.sqrt(moment(2) / moment(0) - mean**2))

    expected = found(geometric_channel(people, epsilon)[:, noisy])
    assert share_given(noisy, people, epsilon, prior) == pytest.approx(expected, rel=1e-9)
    if noisy == 2:
        cut_off = np.exp(-epsilon * np.abs(counts - noisy))
        beyond = np.exp(-epsilon * np.abs(counts - np.arange(people + 1)[:, np.newaxis])).sum(axis=0)
        assert share_given(noisy, people, epsilon, prior) != pytest.approx(found(cut_off / beyond), rel=1e-3)


def chance_of(draws: int, clipped: bool) -> float:
    """The p-value of noisy counts against the geometric mechanism; without `clipped` they are as if never clipped."""
    source = random.Random(1)
    counts = Counter(release_share(1, 4, "0.7", randbelow=source.randrange).noisy_count for _ in range(draws))
    law = geometric_channel(4, 0.7)[1]
    if not clipped:
        law = np.exp(-0.7 * np.abs(np.arange(5) - 1))
        law /= law.sum()
    seen = np.array([counts[noisy] for noisy in range(5)])
    return float(chi2.sf(((seen - draws * law) ** 2 / (draws * law)).sum(), 4))


def test_noisy_counts_have_the_geometric_law() -> None:
    """One fixed seed; another would fail once in 10⁴. Noise that is cut off instead of clipped has another law."""
    assert chance_of(4_000, clipped=True) > 1e-4
    assert chance_of(4_000, clipped=False) < 1e-12


def test_many_people_and_an_extreme_epsilon() -> None:
    mean, sd = share_given(300_000, 1_000_000, 0.01, (1.0, 1.0))
    assert mean == pytest.approx(0.3, abs=1e-5)
    assert sd == pytest.approx(np.hypot(np.sqrt(0.3 * 0.7 / 1e6), np.sqrt(2) / 0.01 / 1e6), rel=0.01)
    mean, sd = share_given(5, 5, 1e-6, (1.0, 1.0))
    assert mean == pytest.approx(0.5, abs=1e-5), "nothing is said"
    assert sd == pytest.approx(1 / np.sqrt(12), rel=1e-4)
    mean, _ = share_given(3, 5, 50.0, (1.0, 1.0))
    assert mean == pytest.approx(4 / 7), "without noise"


@pytest.mark.parametrize(
    ("count", "people", "prior", "sentence"),
    [
        (8, 7, (1.0, 1.0), "the count must be a whole number from 0 to the number of people"),
        (-1, 7, (1.0, 1.0), "the count must be a whole number from 0"),
        (0, 0, (1.0, 1.0), "people must be a whole number from 1 to 10,000,000"),
        (0, MOST_PEOPLE + 1, (1.0, 1.0), "people must be"),
        (3, 7, (0.0, 1.0), "the prior's two parameters must be above 0 and at most 10,000,000"),
        (3, 7, (1.0, float("nan")), "the prior's two parameters"),
    ],
)
def test_what_cannot_be_released(count: int, people: int, prior: tuple[float, float], sentence: str) -> None:
    with pytest.raises(InvalidProblem, match=sentence):
        release_share(count, people, "1", prior)


def test_an_epsilon_that_is_none() -> None:
    for epsilon in ("0", "-1", "nan", "1e-9", "x"):
        with pytest.raises(InvalidEpsilon):
            release_share(3, 7, epsilon)


def test_a_release_never_shows_the_data() -> None:
    found = repr(release_share(3, 7, "1"))
    assert found == "ShareRelease(epsilon=Fraction(1, 1))"


def test_the_command_releases_from_counts_and_from_a_file(capsys: CaptureFixture, tmp_path: Path) -> None:
    assert run(["release", "--count", "412", "--people", "1800", "--epsilon", "20", "--prior", "2,8", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["estimate", "sd", "noisy_count", "people", "epsilon"]
    assert found["people"] == 1800
    assert found["epsilon"] == 20
    assert found["noisy_count"] == 412, "noise at ε = 20 is 0 but once in 2·10⁸"
    assert found["estimate"] == pytest.approx(414 / 1810, abs=1e-6)
    (tmp_path / "visits.csv").write_text("age,smokes\n" + "40,1\n" * 30 + "50,0\n" * 70)
    line = ["release", "--data", str(tmp_path / "visits.csv"), "--column", "smokes", "--epsilon", "20"]
    assert run([*line, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["noisy_count"] == 30
    assert run(line) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("share 0.3039, standard deviation 0.045, of 100 people\n")
    assert printed.endswith("charge ε = 20 to everyone in the data\n")


def test_help_has_an_example(capsys: CaptureFixture) -> None:
    assert run(["release", "--help"]) == 0
    assert "For example: dither release --data visits.csv" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--epsilon", "1"], "give everyone's values with --data, or both --count and --people"),
        (["--epsilon", "1", "--count", "3"], "give everyone's values with --data, or both --count and --people"),
        (["--epsilon", "1", "--data", "v.csv", "--count", "3"], "give either --data, or --count and --people"),
        (["--epsilon", "1", "--count", "3", "--people", "2"], "the count must be a whole number from 0"),
        (["--epsilon", "0", "--count", "3", "--people", "7"], "epsilon must be above 0"),
        (["--epsilon", "1", "--count", "3", "--people", "7", "--prior", "2"], "prior must be two numbers such as 1,1"),
        (["--epsilon", "1", "--data", "v.csv"], "every value in v.csv must be 0 or 1"),
        (["--epsilon", "1", "--data", "missing.csv"], "missing.csv does not exist"),
        (["--count", "3", "--people", "7"], "--epsilon"),
    ],
)
def test_bad_input_gets_one_sentence(
    capsys: CaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.csv").write_text("yes\n0\n1\n7531\n")
    assert run(["release", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert sentence in printed.err
    assert printed.err.count("\n") == 1
    assert "7531" not in printed.err
