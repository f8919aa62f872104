"""The receipt of a deletion: what was removed, when, and at whose word, signed with Ed25519.

The key follows from the server's secret, so every process signs alike. A receipt is a JSON object: the facts, the
public key, and the signature of the facts as JSON with sorted names and without blanks.
"""

import json
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from dither_client.protocol.deletion import signed_text
from dither_server.clock import iso_time

__all__ = ["ReceiptSigner"]

_TIMES = ("created_at", "deleted_at", "removed_at")


class ReceiptSigner:
    """Signs with the key that this seed of 32 bytes makes."""

    def __init__(self, seed: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public_key = self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()

    def sign(self, facts: Mapping[str, Any]) -> str:
        """The receipt of these facts, whose times are milliseconds, as JSON."""
        shown = {name: iso_time(value) if name in _TIMES else value for name, value in facts.items()}
        signature = self._key.sign(signed_text(shown)).hex()
        return json.dumps({**shown, "public_key": self.public_key, "signature": signature})
