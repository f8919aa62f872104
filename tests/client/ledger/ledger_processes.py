"""What `test_ledger_processes.py` runs in processes of their own: `python ledger_processes.py JOB ARGUMENTS…`."""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable

import httpx2

from dither_client import Client, DitherError, Laplace, Ledger, OverCap, Retry

SERVER = "https://example.org"


def wait() -> None:
    """Until the test says that every process is there."""
    print("ready", flush=True)
    sys.stdin.readline()


def make(folder: str) -> None:
    """Makes ledgers that other processes are making at the same moment."""
    wait()
    for number in range(30):
        Ledger(os.path.join(folder, f"{number}.sqlite")).close()
    print("null")


def race(path: str, number: str) -> None:
    """Charges and draws every collection in its own order; prints the answers that it was told to use."""
    query, collections, used = Laplace(0, 1, 64, "0.1"), [f"c{n}" for n in range(30)], {}
    random.Random(number).shuffle(collections)
    with Ledger(path, max_epsilon="1.05") as ledger:
        wait()
        for collection in collections:
            time.sleep(random.uniform(0, 0.02))
            try:
                entry = ledger.charge(SERVER, collection, f"ticket-of-{number}", query)
            except OverCap:
                continue
            used[collection] = (entry.ticket, ledger.draw(SERVER, collection, int(number)).answer)
    print(json.dumps(used))


def answer(path: str, url: str, collection: str, value: str, deadly_step: str) -> None:
    """Answers, and dies by SIGKILL before its nth step: a statement of SQLite or either end of a request."""
    steps = 0

    def step(*_: object) -> None:
        nonlocal steps
        steps += 1
        if steps == int(deadly_step):
            os.kill(os.getpid(), signal.SIGKILL)

    class Transport(httpx2.HTTPTransport):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            step()
            response = super().handle_request(request)
            response.read()
            step()
            return response

    with Ledger(path) as ledger, Client(url, ledger, retry=Retry(attempts=1), transport=Transport()) as client:
        ledger._db.set_trace_callback(step)
        receipt = client.answer(collection, float(value))
    print(json.dumps({"receipt": receipt.receipt, "steps": steps}))


def fork(path: str) -> None:
    """A ledger that was open before a fork works on both sides of it."""
    with Ledger(path, max_epsilon=1) as ledger:
        ledger.charge(SERVER, "before", "ticket", Laplace(0, 1, 4, "0.5"))
        child = os.fork()
        if child == 0:
            parents = ledger._db
            ledger.charge(SERVER, "child", "ticket", Laplace(0, 1, 4, "0.5"))
            os._exit(0 if ledger._db is not parents else 1)
        assert os.waitpid(child, 0)[1] == 0
        try:
            ledger.charge(SERVER, "parent", "ticket", Laplace(0, 1, 4, "0.5"))
        except DitherError as error:
            print(json.dumps({"error": type(error).__name__, "spent": float(ledger.spent())}))


if __name__ == "__main__":
    jobs: dict[str, Callable[..., None]] = {"make": make, "race": race, "answer": answer, "fork": fork}
    jobs[sys.argv[1]](*sys.argv[2:])
