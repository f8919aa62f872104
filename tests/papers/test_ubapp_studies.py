"""What the studies of Lakshminarayanan & Rojas find, with one run each: no draw matters but LBaPP's."""

import numpy as np
import pytest

from dither_estimator.families import FloatArray
from dither_papers.studies.catalogue import find_study
from dither_papers.studies.runner import run_study
from dither_papers.studies.study import Findings


def findings(name: str, runs: int = 1) -> Findings:
    study = find_study(name)
    return study.summarise(run_study(study, runs))


def column(found: Findings, name: str) -> FloatArray:
    return np.array([row[name] for row in found.rows], dtype=np.float64)


@pytest.mark.parametrize("name", ["ubapp-figure-3", "ubapp-figure-4"])
def test_ubapp_is_ahead_at_every_epsilon(name: str) -> None:
    """On the paper's 5,000 points and exactly; no estimator is better; Algorithm 2 agrees with the closed form.

    One thousand draws within six standard errors (2e-9) of the exact error, the same draws at every ε.
    """
    found = findings(name)
    lbapp, ubapp = column(found, "LBaPP, exact"), column(found, "UBaPP, exact")
    assert (ubapp < 0.97 * lbapp).all()
    assert (column(found, "UBaPP, 5,000 points") < 0.97 * lbapp).all()
    assert (np.abs(ubapp - column(found, "lower bound")) < 1e-8).all()
    assert (np.abs(column(found, "UBaPP, 5,000 points") - ubapp) < 1e-4).all()
    assert (np.abs(column(found, "LBaPP, Algorithm 2") - lbapp) < 6 / 1.96 * column(found, "± (95%)")).all()
    assert (column(found, "without a curator") > ubapp).all()


def test_high_privacy() -> None:
    """UBaPP's error tends to the prior's variance, LBaPP's grows as 1/ε²."""
    found = findings("ubapp-figure-3")
    assert column(found, "UBaPP, exact") == pytest.approx(1 / 12, rel=1e-3)
    lbapp = column(found, "LBaPP, exact")
    assert lbapp[0] / lbapp[-1] == pytest.approx(100, rel=1e-3)


def test_discretisation_is_what_puts_ubapp_behind() -> None:
    """K = 10 at ε = 5: 0.0140 against 0.0144 without a grid; behind on coarse grids alone, 1e-8 on 5,000 points."""
    found = findings("ubapp-discretisation")
    rows = {row["points"]: row for row in found.rows if row["ε"] == 5.0}
    assert rows[5_000]["UBaPP, exact"] == pytest.approx(0.013975, abs=1e-6)
    assert rows[5_000]["LBaPP, exact"] == pytest.approx(0.014444, abs=1e-6)
    assert 0.0005 < rows[10]["UBaPP, θ uniform"] - rows[10]["LBaPP, exact"] < 0.003, "a difference as the paper's"
    for points, row in rows.items():
        assert (row["UBaPP, θ uniform"] > row["LBaPP, exact"]) == (points < 20)
        assert row["estimates in use"] <= 11
    assert abs(rows[5_000]["UBaPP, θ uniform"] - rows[5_000]["UBaPP, exact"]) < 1e-7
    assert "15 points or fewer" in found.sentence


@pytest.mark.parametrize("name", ["ubapp-figure-5", "ubapp-figure-7"])
def test_trials(name: str) -> None:
    found = findings(name)
    lbapp, ubapp = column(found, "LBaPP, exact"), column(found, "UBaPP, exact")
    assert (ubapp < lbapp).all()
    assert (np.abs(ubapp - column(found, "lower bound")) < 1e-8).all()
    if name == "ubapp-figure-5":  # hardly dependent on K, LBaPP's as 1/K²
        assert np.ptp(ubapp) < 1e-4
        assert lbapp[0] / lbapp[-1] > 100
    else:  # similar
        assert (ubapp > 0.9 * lbapp).all()


def test_heat_maps() -> None:
    """One estimate at low ε, randomness between, one estimate for each count at high ε."""
    found = findings("ubapp-figure-6")
    likeliest = column(found, "probability of the likeliest")
    assert likeliest[0] == pytest.approx(1)
    assert (likeliest[1:3] < 0.9).all()
    assert likeliest[3] == pytest.approx(1, abs=1e-3)
    assert found.rows[0]["estimates in use"] == 1
    assert found.rows[-1]["estimates in use"] == 11
    assert found.rows[-1]["mean at y = 0"] == pytest.approx(1 / 12, abs=0.01)
