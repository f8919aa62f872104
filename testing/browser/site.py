"""A server process for the tests of pages, and what they ask of it all the time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from testing.servers.calls import call
from testing.servers.process import forked

__all__ = ["WebSite", "open_web_site"]

_SPEC = {"name": "Weekly wages", "family": "normal", "epsilon": 1, "range": [0, 1000], "particles": 100}


class WebSite:
    """A running server."""

    def __init__(self, url: str) -> None:
        self.url = url

    def create(self, **fields: Any) -> str:
        """The id of a new collection."""
        collection = str(self._call("POST", "", json=_SPEC | fields)["id"])
        self._call("GET", f"/{collection}/posterior")  # from now on nobody has to wait for the estimator
        return collection

    def answers(self, collection: str) -> int:
        """How many answers it has."""
        return int(self._call("GET", f"/{collection}")["answers"])

    def set_state(self, collection: str, state: str) -> None:
        """Opens, pauses or closes it."""
        self._call("PATCH", f"/{collection}", json={"state": state})

    def invitation(self, collection: str) -> str:
        """A new code."""
        return str(self._call("POST", f"/{collection}/invitations", json={"count": 1})["invitations"][0])

    def page(self, collection: str) -> str:
        """Where a respondent answers."""
        return f"{self.url}/collections/{collection}/answer"

    def _call(self, method: str, path: str, **body: Any) -> Any:
        return call(method, f"{self.url}/v1/collections{path}", **body)


@contextmanager
def open_web_site(folder: Path, cors_origins: str = "", embed_origins: str = "") -> Iterator[WebSite]:
    """A server process on a database in `folder`."""
    url = f"sqlite:///{folder / 'test.sqlite'}"
    with forked(url, cors_origins=cors_origins, embed_origins=embed_origins) as [server]:
        yield WebSite(server.url)
