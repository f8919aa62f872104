"""The encapsulation of binary HTTP messages (RFC 9458): key configurations, requests and the replies to them.

There is one key encapsulation, X25519 with HKDF-SHA256, and HKDF-SHA256 with either AES-128-GCM or ChaCha20-Poly1305.
HPKE (RFC 9180) is pyhpke's. Whatever cannot be read or opened raises `ValueError`, whose text repeats nothing of it.
"""

import os
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    from pyhpke import CipherSuite, ContextInterface

__all__ = [
    "KEYS_TYPE",
    "PADDING",
    "REPLY_TYPE",
    "REQUEST_TYPE",
    "Exchange",
    "KeyConfiguration",
    "UnknownKey",
    "decapsulate",
    "encapsulate",
    "read_configurations",
    "write_configurations",
]

KEYS_TYPE = "application/ohttp-keys"
REQUEST_TYPE = "message/ohttp-req"
REPLY_TYPE = "message/ohttp-res"
PADDING = 256
"""Messages have a multiple of this many bytes, so that their sizes tell little."""

_KEM = 0x0020
_KDF = 0x0001
_KEY_SIZES = {0x0001: 16, 0x0003: 32}
"""Bytes of a key for each AEAD: AES-128-GCM and ChaCha20-Poly1305."""
_NONCE_SIZE = 12
_TAG_SIZE = 16
_PUBLIC_SIZE = 32
"""Bytes of a public key, and of the encapsulated secret."""
_HEADER = struct.Struct(">BHHH")
"""Key, KEM, KDF and AEAD, which an encapsulated request begins with."""
_CONFIGURATION = struct.Struct(f">BH{_PUBLIC_SIZE}sH")
_ALGORITHMS = struct.Struct(">HH")
_LENGTH = struct.Struct(">H")
_REQUEST_LABEL = b"message/bhttp request\0"
_REPLY_LABEL = b"message/bhttp response"


class UnknownKey(ValueError):
    """A request that no key of the gateway opens: its sender has to fetch the key configurations again."""


class KeyConfiguration(NamedTuple):
    """A gateway's public key. `aeads` are the algorithms that it takes, the preferred one first."""

    key_id: int
    public_key: bytes
    aeads: tuple[int, ...] = tuple(_KEY_SIZES)


class Exchange:
    """One request and its reply. Whoever sealed the request opens the reply, and whoever opened it seals the reply."""

    def __init__(self, context: "ContextInterface", secret: bytes, aead: int) -> None:
        self._size = _KEY_SIZES[aead]
        self._exported = context.export(_REPLY_LABEL, max(self._size, _NONCE_SIZE))
        self._secret = secret
        self._aead = aead

    def seal(self, message: bytes, nonce: bytes | None = None) -> bytes:
        """The encapsulated reply. `nonce` is random unless given."""
        nonce = nonce or os.urandom(max(self._size, _NONCE_SIZE))
        cipher, own_nonce = self._cipher(nonce)
        return nonce + cipher(own_nonce, message)

    def open(self, reply: bytes) -> bytes:
        """The message in an encapsulated reply. Raises `ValueError`."""
        from cryptography.exceptions import InvalidTag

        size = max(self._size, _NONCE_SIZE)
        if len(reply) < size + _TAG_SIZE:
            raise ValueError("the encapsulated reply is truncated")
        cipher, own_nonce = self._cipher(reply[:size], opening=True)
        try:
            return cipher(own_nonce, reply[size:])
        except InvalidTag:
            raise ValueError("the encapsulated reply does not belong to the request") from None

    def _cipher(self, nonce: bytes, opening: bool = False) -> tuple[Callable[[bytes, bytes], bytes], bytes]:
        """What seals or opens a reply, and the nonce that it is to be called with."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        def derived(label: bytes, size: int) -> bytes:
            return HKDF(SHA256(), size, self._secret + nonce, label).derive(self._exported)

        key = derived(b"key", self._size)
        cipher = AESGCM(key) if self._aead == 0x0001 else ChaCha20Poly1305(key)
        function = cipher.decrypt if opening else cipher.encrypt
        return lambda own_nonce, data: function(own_nonce, data, None), derived(b"nonce", _NONCE_SIZE)


def write_configurations(configurations: Sequence[KeyConfiguration]) -> bytes:
    """The configurations as `application/ohttp-keys`."""
    written = []
    for one in configurations:
        algorithms = b"".join(_ALGORITHMS.pack(_KDF, aead) for aead in one.aeads)
        head = _CONFIGURATION.pack(one.key_id, _KEM, one.public_key, len(algorithms))
        written.append(_LENGTH.pack(len(head + algorithms)) + head + algorithms)
    return b"".join(written)


def read_configurations(data: bytes) -> KeyConfiguration:
    """The first configuration that can be used, of those in `application/ohttp-keys`. Raises `ValueError`."""
    found = None
    while data:
        if len(data) < _LENGTH.size:
            raise ValueError("the key configurations are truncated")
        [size] = _LENGTH.unpack_from(data)
        one, data = data[_LENGTH.size : _LENGTH.size + size], data[_LENGTH.size + size :]
        if len(one) < size:
            raise ValueError("the key configurations are truncated")
        found = found or _configuration(one)
    if found is None:
        raise ValueError("no key configuration can be used")
    return found


def encapsulate(
    configuration: KeyConfiguration, message: bytes, ephemeral: "X25519PrivateKey | None" = None
) -> tuple[bytes, Exchange]:
    """The encapsulated request, and what opens the reply. `ephemeral` is a new key unless given."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from pyhpke import KEMKey, KEMKeyPair

    own = ephemeral or X25519PrivateKey.generate()
    pair = KEMKeyPair(*map(KEMKey.from_pyca_cryptography_key, (own, own.public_key())))
    public = KEMKey.from_pyca_cryptography_key(X25519PublicKey.from_public_bytes(configuration.public_key))
    aead = configuration.aeads[0]
    header = _HEADER.pack(configuration.key_id, _KEM, _KDF, aead)
    try:
        secret, context = _suite(aead).create_sender_context(public, _REQUEST_LABEL + header, eks=pair)
    except ValueError:  # a point of low order
        raise ValueError("the key of the configuration cannot be used") from None
    return header + secret + context.seal(message), Exchange(context, secret, aead)


def decapsulate(data: bytes, key_of: Callable[[int], "X25519PrivateKey | None"]) -> tuple[bytes, Exchange]:
    """The message in an encapsulated request, and what seals the reply. `key_of` has the private key for an id.

    Raises `UnknownKey`, and `ValueError` if the request is too short to be one.
    """
    from pyhpke import KEMKey, PyHPKEError

    if len(data) < _HEADER.size + _PUBLIC_SIZE + _TAG_SIZE:
        raise ValueError("the encapsulated request is truncated")
    key_id, kem, kdf, aead = _HEADER.unpack_from(data)
    private = key_of(key_id)
    if private is None or (kem, kdf) != (_KEM, _KDF) or aead not in _KEY_SIZES:
        raise UnknownKey("no key has this id, or not for these algorithms")
    header, rest = data[: _HEADER.size], data[_HEADER.size :]
    secret = rest[:_PUBLIC_SIZE]
    key = KEMKey.from_pyca_cryptography_key(private)
    try:
        context = _suite(aead).create_recipient_context(secret, key, _REQUEST_LABEL + header)
        message = context.open(rest[_PUBLIC_SIZE:])
    except (PyHPKEError, ValueError):
        raise UnknownKey("the key with this id does not open the request") from None
    return message, Exchange(context, secret, aead)


def _configuration(data: bytes) -> KeyConfiguration | None:
    """One configuration; None if it is for other algorithms than ours. Raises `ValueError`."""
    if len(data) < struct.calcsize(">BH"):
        raise ValueError("a key configuration is truncated")
    if struct.unpack_from(">BH", data)[1] != _KEM:
        return None
    if len(data) < _CONFIGURATION.size:
        raise ValueError("a key configuration is truncated")
    key_id, _, public_key, size = _CONFIGURATION.unpack_from(data)
    algorithms = data[_CONFIGURATION.size :]
    if not size or size != len(algorithms) or size % _ALGORITHMS.size:
        raise ValueError("a key configuration has algorithms of another length than it says")
    aeads = tuple(aead for kdf, aead in _ALGORITHMS.iter_unpack(algorithms) if kdf == _KDF and aead in _KEY_SIZES)
    return KeyConfiguration(key_id, public_key, aeads) if aeads else None


@cache
def _suite(aead: int) -> "CipherSuite":
    from pyhpke import AEADId, CipherSuite, KDFId, KEMId

    return CipherSuite.new(KEMId(_KEM), KDFId(_KDF), AEADId(aead))
