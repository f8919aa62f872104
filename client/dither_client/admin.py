"""An admin's client of a server: creates and manages collections, invitations, tokens and keys."""

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import httpx2

from dither_client.addresses import collection_path
from dither_client.errors import BadResponse, InvalidAddress
from dither_client.protocol.flow import Retry
from dither_client.transport.json_api import Api

__all__ = ["Admin"]

_INVITATIONS_PER_CALL = 10_000


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
        """Creates a collection from its specification, a mapping or the bytes of its JSON text; returns its terms.

        Raises `TypeError` for what JSON has no form for; decimals and NumPy's numbers are numbers.
        """
        body = spec if isinstance(spec, bytes) else json.dumps(spec, default=_plain).encode()
        return self._api.post("/v1/collections", body)

    def set_state(self, collection_id: str, state: str) -> dict[str, Any]:
        """Sets a collection's state to `open`, `paused` or, permanently, `closed`; returns its terms."""
        return self._api.patch(collection_path(collection_id), {"state": state})

    def delete_collection(self, collection_id: str, for_good: bool = False) -> dict[str, Any]:
        """Deletes a collection, which can be restored until the time in the result.

        With `for_good` it is removed at once, with its answers, and the result is the server's signed receipt.
        """
        path = collection_path(collection_id)
        deleted = self._api.delete(path)
        return self._api.delete(f"{path}?purge=true") if for_good else deleted

    def restore_collection(self, collection_id: str) -> dict[str, Any]:
        """Restores a deleted collection with everything in it; returns its terms."""
        return self._api.post(collection_path(collection_id, "restore"), b"")

    def deletions(self) -> dict[str, Any]:
        """The collections that can be restored, under `deleted`, and the receipts of others, under `removed`."""
        return self._api.get("/v1/deletions")

    def receipt_key(self) -> str:
        """The public key of the server's receipts of removed collections, hexadecimal."""
        key = self._api.get("/v1/deletions/key").get("public_key")
        if not isinstance(key, str):
            raise BadResponse("the server's response lacks the text 'public_key'")
        return key

    def archive(self, collection_id: str) -> Iterator[bytes]:
        """The pieces of a ZIP file with everything about a collection."""
        return self._api.download(collection_path(collection_id, "archive"))

    def audit(self, collection_id: str | None = None) -> Iterator[dict[str, Any]]:
        """What was done with tokens, oldest first; only what was done to one collection if its id is given."""
        of = {} if collection_id is None else {"collection": collection_path(collection_id).rpartition("/")[2]}
        for page in self._api.pages("/v1/audit", of):
            yield from page.get("audit", [])

    def invite(self, collection_id: str, count: int) -> Iterator[str]:
        """Creates `count` invitations to a collection whose `admission` is `invite`, in calls of up to 10,000.

        The server keeps only their hashes.
        """
        path = collection_path(collection_id, "invitations")
        for begun in range(0, count, _INVITATIONS_PER_CALL):
            asked = min(count - begun, _INVITATIONS_PER_CALL)
            codes = self._api.post(path, json.dumps({"count": asked}).encode()).get("invitations")
            if not isinstance(codes, list) or not all(isinstance(code, str) for code in codes):
                raise BadResponse("the server's response lacks the list 'invitations'")
            yield from codes

    def invitations(self, collection_id: str) -> dict[str, Any]:
        """The number of invitations to a collection that were `made`, and the number of those `redeemed`."""
        return self._api.get(collection_path(collection_id, "invitations"))

    def create_token(
        self, role: str, name: str, collections: Sequence[str] = (), days: int | None = None
    ) -> dict[str, Any]:
        """Creates a token of the role `admin`, `analyst` or `gateway`; its secret is in this result and nowhere else.

        `collections` restricts the token of an analyst or a gateway to these. The token expires after `days`, if given.
        """
        limits: dict[str, Any] = {"collections": list(collections)} if collections else {}
        if days is not None:
            limits["days"] = days
        return self._api.post("/v1/tokens", json.dumps({"role": role, "name": name, **limits}).encode())

    def tokens(self) -> dict[str, Any]:
        """Every token, without its secret, under `tokens`."""
        return self._api.get("/v1/tokens")

    def revoke_token(self, token_id: str) -> None:
        """Revokes a token."""
        if not token_id.isascii() or not token_id.replace("-", "").replace("_", "").isalnum():
            raise InvalidAddress("a token's id may contain only letters, digits, - and _")
        self._api.delete(f"/v1/tokens/{token_id}")

    def keys(self) -> dict[str, Any]:
        """The number and state of each key that signs tickets, under `keys`; the result holds no secret."""
        return self._api.get("/v1/keys")

    def rotate_keys(self) -> dict[str, Any]:
        """Creates the next key, which signs once every process of the server knows it; returns the same as `keys`."""
        return self._api.post("/v1/keys", b"")

    def close(self) -> None:
        self._api.close()


def _plain(value: object) -> int | float:
    """A number of another type as JSON has it."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real | Decimal):
        return float(value)
    raise TypeError(f"a specification has texts, numbers, lists and objects, but no {type(value).__name__}")
