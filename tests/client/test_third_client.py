"""What the protocol's page says is enough for a client: one written from it alone meets every vector."""

import ast
import json
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import third_client
from tests.client.make_vectors import FOLDER
from third_client import Refused, cell, channel, check, least_epsilon, micro, read, read_ticket, sample


def vectors(file: str, name: str) -> list[Any]:
    found: list[Any] = json.loads((FOLDER / file).read_text(encoding="utf-8"))[name]
    return found


def question(text: str) -> dict[str, Any]:
    return check(read(text))


def test_it_has_nothing_of_ours() -> None:
    tree = ast.parse(Path(third_client.__file__).read_text(encoding="utf-8"))
    named = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    named += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert {name.partition(".")[0] for name in named} <= sys.stdlib_module_names


def test_cells() -> None:
    for case in vectors("cells.json", "cells"):
        assert [cell(question(case["query"]), value) for value in case["values"]] == case["cells"]


def test_channels() -> None:
    for case in vectors("channels.json", "channels"):
        found = list(chain(*channel(question(case["query"]))))
        assert found == pytest.approx(list(chain(*case["channel"])), rel=1e-11, abs=0)


def test_samples() -> None:
    for case in vectors("samples.json", "samples"):
        calls = iter(case["calls"])

        def uniform(n: int, calls: Any = calls) -> int:
            below, drawn = map(int, next(calls))
            assert n == below
            return drawn

        assert sample(question(case["query"]), case["cell"], uniform) == case["answer"]
        assert list(calls) == []


def test_refusals() -> None:
    for case in vectors("refusals.json", "tickets"):
        with pytest.raises(Refused, match=case["error"]):
            read_ticket(case["body"])


def test_charges() -> None:
    for case in vectors("charges.json", "epsilons"):
        if case["micro"] is None:
            with pytest.raises(Refused):
                micro(read(case["json"]))
        else:
            assert micro(read(case["json"])) == case["micro"]
    for case in vectors("charges.json", "gaussian"):
        assert least_epsilon(case["levels"], micro(case["rho"])) == micro(case["epsilon"])
