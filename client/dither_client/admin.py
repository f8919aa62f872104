"""What an admin does to a server: makes and steers collections, gives and takes tokens."""

import json
from collections.abc import Mapping
from typing import Any

import httpx2

from dither_client.addresses import collection_path
from dither_client.api import Api
from dither_client.errors import InvalidAddress
from dither_client.flow import Retry

__all__ = ["Admin"]


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

    def create_token(self, role: str, name: str) -> dict[str, Any]:
        """Makes a token of the role `admin`, `analyst` or `gateway`; its secret is in this result and nowhere else."""
        return self._api.post("/v1/tokens", json.dumps({"role": role, "name": name}).encode())

    def tokens(self) -> dict[str, Any]:
        """Every token, without its secret, under `tokens`."""
        return self._api.get("/v1/tokens")

    def revoke_token(self, token_id: str) -> None:
        """Ends a token."""
        if not token_id.isascii() or not token_id.replace("-", "").replace("_", "").isalnum():
            raise InvalidAddress("a token's id has only letters, digits, - and _")
        self._api.delete(f"/v1/tokens/{token_id}")

    def close(self) -> None:
        self._api.close()
