"""The vectors that clients in other languages are tested with are those of the Python client, and they can fail."""

import json
from typing import Any

import pytest
from make_vectors import FOLDER, texts


@pytest.mark.parametrize("name", sorted(texts()))
def test_vectors_are_what_the_client_does(name: str) -> None:
    """`make vectors` writes them anew. Libraries may differ in an exponential's last digit, and in nothing else."""
    kept = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    assert same(kept, json.loads(texts()[name]))


def test_a_changed_vector_is_noticed() -> None:
    assert not same({"a": [1, 0.5]}, {"a": [1, 0.5001]})
    assert not same({"a": [1, 0.5]}, {"a": [2, 0.5]})
    assert not same({"a": [1]}, {"a": [1, 2]})


def same(first: Any, second: Any) -> bool:
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same(first[name], second[name]) for name in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return first == pytest.approx(second, rel=1e-12, abs=0)
    return bool(first == second)
