"""Test vectors for clients in any language: `python tests/vectors/make_vectors.py` writes them to `client/vectors`.

Each file is an object with a list of cases under each name; `client/vectors/README.md` says what a case means. Where a
case holds JSON as text, that is what a server might send, and reading it is part of the test.
"""

import json
from pathlib import Path
from typing import Any

from address_vectors import address_vectors
from charge_vectors import charges
from flow_vectors import flows
from message_vectors import problems, receipts, terms
from panel_vectors import panel_vectors
from price_vectors import price_vectors
from profile_vectors import json_texts
from question_vectors import cells, channels, draws, samples
from refusal_vectors import refusals
from typed_vectors import typed_vectors

__all__ = ["FOLDER", "texts"]

FOLDER = Path(__file__).parents[2] / "client" / "vectors"


def texts() -> dict[str, str]:
    """Each file's name and content."""
    files = {
        "cells.json": {"cells": cells()},
        "channels.json": {"channels": channels()},
        "samples.json": {"samples": samples()},
        "refusals.json": refusals(),
        "charges.json": charges(),
        "json.json": {"texts": list(json_texts())},
        "prices.json": price_vectors(),
        "draws.json": draws(),
        "messages.json": {"terms": list(terms()), "receipts": list(receipts()), "problems": list(problems())},
        "panels.json": panel_vectors(),
        "flows.json": {"flows": list(flows())},
        "addresses.json": {"addresses": address_vectors()},
        "typed.json": typed_vectors(),
    }
    return {name: _written(content) for name, content in files.items()}


def _written(content: dict[str, list[Any]]) -> str:
    """One case a line, so that a change is a few lines of a diff."""
    lists = []
    for name, cases in content.items():
        lines = ",\n".join("  " + json.dumps(case, ensure_ascii=False, allow_nan=False) for case in cases)
        lists.append(f"{json.dumps(name)}: [\n{lines}\n ]")
    return "{\n " + ",\n ".join(lists) + "\n}\n"


if __name__ == "__main__":
    for name, content in texts().items():
        (FOLDER / name).write_text(content, encoding="utf-8")
        print(f"{FOLDER / name}: {sum(map(len, json.loads(content).values())):,} cases")
