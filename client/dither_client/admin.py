"""What an admin does to a server: makes and steers collections, gives and takes tokens."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import httpx2

from dither_client.addresses import collection_path
from dither_client.errors import BadResponse, InvalidAddress
from dither_client.protocol.respondent import Retry
from dither_client.transport.json_api import Api

__all__ = ["Admin"]

_INVITATIONS_A_CALL = 10_000


class Admin:
    """Acts on the server at `url` as the holder of an admin's `token`; results are the server's JSON objects.

    Raises `InvalidAddress`; every call raises `ServerError`.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        retry: Retry | None = None,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._api = Api(url, token, retry=retry, transport=transport)

    def __enter__(self) -> "Admin":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def create_collection(self, spec: Mapping[str, Any] | bytes) -> dict[str, Any]:
        """Makes a collection from its specification, an object or the bytes of its JSON text; returns its terms."""
        return self._api.post("/v1/collections", spec if isinstance(spec, bytes) else json.dumps(spec).encode())

    def set_state(self, collection_id: str, state: str) -> dict[str, Any]:
        """Sets a collection `open`, `paused` or `closed` (for good); returns its terms."""
        return self._api.patch(collection_path(collection_id), {"state": state})

    def invite(self, collection_id: str, count: int) -> Iterator[str]:
        """So many new invitations to a collection whose `admission` is `invite`, in calls of up to 10,000.

        The codes are stored nowhere else.
        """
        path = collection_path(collection_id, "invitations")
        for begun in range(0, count, _INVITATIONS_A_CALL):
            asked = min(count - begun, _INVITATIONS_A_CALL)
            codes = self._api.post(path, json.dumps({"count": asked}).encode()).get("invitations")
            if not isinstance(codes, list) or not all(isinstance(code, str) for code in codes):
                raise BadResponse("the server's response lacks the list 'invitations'")
            yield from codes

    def invitations(self, collection_id: str) -> dict[str, Any]:
        """How many invitations to a collection were `made`, and how many of them `redeemed`."""
        return self._api.get(collection_path(collection_id, "invitations"))

    def create_token(
        self, role: str, name: str, collections: Sequence[str] = (), days: int | None = None
    ) -> dict[str, Any]:
        """Makes a token of the role `admin`, `analyst` or `gateway`; its secret is in this result and nowhere else.

        An analyst's or a gateway's is for `collections` alone, if there are any. It is valid for `days`, if given.
        """
        limits: dict[str, Any] = {"collections": list(collections)} if collections else {}
        if days is not None:
            limits["days"] = days
        return self._api.post("/v1/tokens", json.dumps({"role": role, "name": name, **limits}).encode())

    def tokens(self) -> dict[str, Any]:
        """Every token, without its secret, under `tokens`."""
        return self._api.get("/v1/tokens")

    def revoke_token(self, token_id: str) -> None:
        """Ends a token."""
        if not token_id.isascii() or not token_id.replace("-", "").replace("_", "").isalnum():
            raise InvalidAddress("a token's id has only letters, digits, - and _")
        self._api.delete(f"/v1/tokens/{token_id}")

    def keys(self) -> dict[str, Any]:
        """The keys that tickets are signed with, by number and state, under `keys`; nothing in it is secret."""
        return self._api.get("/v1/keys")

    def rotate_keys(self) -> dict[str, Any]:
        """Makes the next key, which signs as soon as every process of the server knows it; the keys, as `keys` does."""
        return self._api.post("/v1/keys", b"")

    def close(self) -> None:
        self._api.close()
