"""A developer who puts a question into a program of their own: asks, answers and reads in Python, and sees the API."""

import json

from testing.walks.walk import Walk

__all__ = ["walk"]

_PROGRAM = """
import os
from dither_client import Admin, Analyst, Client, Ledger

url, token = os.environ["DITHER_URL"], os.environ["DITHER_TOKEN"]
with Admin(url, token) as admin:
    made = admin.create_collection({"name": "Sleep", "unit": "hours", "minimum": 0, "maximum": 24, "epsilon": 1})
for person, hours in enumerate([6.5, 7, 8.25]):
    with Ledger(f"{person}.sqlite") as ledger, Client(url, ledger) as client:
        print(client.answer(made["id"], hours).receipt)
with Analyst(url, token) as analyst:
    print(made["id"], analyst.posterior(made["id"]).quantile(0.5).mean)
"""


def walk(stranger: Walk) -> None:
    """Writes a program and runs it; then looks at the collection as a program in another language would."""
    stranger.write("ask.py", _PROGRAM)
    *receipts, last = stranger.type("python ask.py").splitlines()
    assert len(set(receipts)) == 3
    collection, median = last.split()
    assert 0 < float(median) < 24
    terms = json.loads(stranger.type(f'curl --silent --fail "$DITHER_URL/v1/collections/{collection}"'))
    assert terms["unit"] == "hours"
    described = json.loads(stranger.type('curl --silent --fail "$DITHER_URL/openapi.json"'))
    assert "/v1/collections/{collection_id}/tickets" in described["paths"]
