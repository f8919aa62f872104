"""An analyst who was given a server's address and a token: from a question to a picture and a table."""

import json

from testing.walks.walk import Walk

__all__ = ["walk"]


def walk(stranger: Walk) -> None:
    """Creates a collection, lets people answer, and reads what is known of them, three times the same."""
    stranger.write("wages.json", '{"name": "Weekly wages", "unit": "€", "minimum": 0, "epsilon": 1}')
    created = json.loads(stranger.type("dither collection create wages.json --json"))
    stranger.shell.environment["ID"] = created["id"]
    stranger.type('dither simulate --collection "$ID" --family gamma --truth shape=2,scale=290 --respondents 500')
    printed = stranger.type('dither posterior "$ID"')
    assert "500 answers" in printed
    assert "Half of the people have" in printed
    found = json.loads(stranger.type('dither posterior "$ID" --json --plot wages.png'))
    assert found["answers"] == 500
    assert (stranger.shell.folder / "wages.png").stat().st_size > 10_000
    stranger.type('dither export "$ID" --counts counts.csv')
    assert "Half of the people have" in stranger.type("dither estimate --spec wages.json --counts counts.csv")
