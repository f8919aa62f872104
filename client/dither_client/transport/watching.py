"""The changes of a collection's posterior and state, each reported once, from the server's stream."""

from collections.abc import Iterator
from typing import Any

from dither_client.addresses import collection_path
from dither_client.transport.json_api import Api

__all__ = ["watch"]


def watch(api: Api, collection: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The collection's state and its posterior as JSON, now and after every change of either.

    The state is "" until the server has reported it. Ends after "closed", which comes once every answer is learnt.
    """
    state = ""
    posterior: dict[str, Any] | None = None
    for kind, data in api.follow(collection_path(collection, "posterior", "stream")):
        before = state, posterior
        if kind == "posterior":
            posterior = data
        elif kind == "state":
            state = str(data.get("state", ""))
        if posterior is not None and (state, posterior) != before:
            yield state, posterior
        if state == "closed":
            return
