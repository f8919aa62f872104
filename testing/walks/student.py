"""A student with a laptop and no server: what privacy costs, tried out on simulated people."""

import json

from testing.walks.walk import Walk

__all__ = ["walk"]


def walk(stranger: Walk) -> None:
    """Looks around, simulates, plans, compares two mechanisms, and reads a question's design."""
    stranger.shell.environment.pop("DITHER_URL", None)
    assert "simulate" in stranger.type("dither --help")
    printed = stranger.type(
        "dither simulate --in-process --truth mu=50,sigma=10 --respondents 500 --epsilon 1 --seed 1"
    )
    assert "500 answers from 500 respondents" in " ".join(printed.split())
    planned = json.loads(stranger.type("dither plan --theta mu=50,sigma=10 --epsilon 0.5,1,2 --sd mu=1 --json"))
    assert [row["respondents"] for row in planned["rows"]] == sorted(
        (row["respondents"] for row in planned["rows"]), reverse=True
    )
    compare = "dither compare --truth mu=50,sigma=10 --mechanisms laplace,randomized_response --respondents 300"
    stranger.type(f"{compare} --repeats 3 --seed 1 --plot compared.png")
    assert (stranger.shell.folder / "compared.png").stat().st_size > 10_000
    designed = json.loads(stranger.type("dither design --epsilon 1 --theta mu=50,sigma=10 --json"))
    assert 0 < designed["efficiency"] <= 1
