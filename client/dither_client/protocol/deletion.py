"""The receipt that a server gives when a collection is removed for good, and how it is verified."""

import json
from collections.abc import Mapping
from typing import Any

from dither_client.errors import BadResponse
from dither_client.extras import require_extra

__all__ = ["check_receipt", "signed_text"]

_UNSIGNED = ("public_key", "signature")


def signed_text(receipt: Mapping[str, Any]) -> bytes:
    """What the signature of a receipt is over: its other fields as JSON, with sorted names and without blanks."""
    facts = {name: value for name, value in receipt.items() if name not in _UNSIGNED}
    return json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()


def check_receipt(receipt: Mapping[str, Any], public_key: str) -> None:
    """Raises `BadResponse` unless the server with this Ed25519 key (hexadecimal) has signed the receipt as it is."""
    require_extra("receipts", "cryptography")
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        key.verify(bytes.fromhex(str(receipt["signature"])), signed_text(receipt))
    except (InvalidSignature, ValueError, KeyError):
        raise BadResponse("the receipt was not signed with this key, or it was changed") from None
