"""HMAC-SHA256 (RFC 2104) with what depends on the key alone done once: a third of the time for a short message."""

import hashlib

__all__ = ["KeyedHash"]

_BLOCK = 64


class KeyedHash:
    """The same digests as `hmac.digest(key, message, "sha256")`."""

    def __init__(self) -> None:
        self._prepared: dict[bytes, tuple[hashlib._Hash, hashlib._Hash]] = {}

    def digest(self, key: bytes, message: bytes) -> bytes:
        """The digest of `message` under `key`, 32 bytes."""
        prepared = self._prepared.get(key)
        if prepared is None:
            prepared = self._prepared[key] = _prepare(key)
        inner, outer = prepared[0].copy(), prepared[1].copy()
        inner.update(message)
        outer.update(inner.digest())
        return outer.digest()


def _prepare(key: bytes) -> tuple["hashlib._Hash", "hashlib._Hash"]:
    short = hashlib.sha256(key).digest() if len(key) > _BLOCK else key
    block = short.ljust(_BLOCK, b"\0")
    return hashlib.sha256(bytes(byte ^ 0x36 for byte in block)), hashlib.sha256(bytes(byte ^ 0x5C for byte in block))
