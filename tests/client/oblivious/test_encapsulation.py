"""Oblivious HTTP against the whole example of RFC 9458, Appendix A, byte for byte."""

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from dither_client.oblivious.encapsulation import (
    KeyConfiguration,
    UnknownKey,
    decapsulate,
    encapsulate,
    read_configurations,
    write_configurations,
)

CONFIGURATION = bytes.fromhex(
    "01002031e1f05a740102115220e9af918f738674aec95f54db6e04eb705aae8e79815500080001000100010003"
)
GATEWAY = X25519PrivateKey.from_private_bytes(
    bytes.fromhex("3c168975674b2fa8e465970b79c8dcf09f1c741626480bd4c6162fc5b6a98e1a")
)
EPHEMERAL = X25519PrivateKey.from_private_bytes(
    bytes.fromhex("bc51d5e930bda26589890ac7032f70ad12e4ecb37abb1b65b1256c9c48999c73")
)
MESSAGE = bytes.fromhex("00034745540568747470730b6578616d706c652e636f6d012f")
ENCAPSULATED = bytes.fromhex(
    "010020000100014b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad19dec96c208b4726374e469135906992e1268c594d2a10c695d"
    "858c40a026e7965e7d86b83dd440b2c0185204b4d63525"
)
REPLY = bytes.fromhex("0140c8")
NONCE = bytes.fromhex("c789e7151fcba46158ca84b04464910d")
ENCAPSULATED_REPLY = bytes.fromhex("c789e7151fcba46158ca84b04464910d86f9013e404feea014e7be4a441f234f857fbd")
LISTED = len(CONFIGURATION).to_bytes(2, "big") + CONFIGURATION


def key_of(key_id: int) -> X25519PrivateKey | None:
    return GATEWAY if key_id == 1 else None


def own(**changes: object) -> KeyConfiguration:
    return read_configurations(LISTED)._replace(**changes)  # type: ignore[arg-type]


def test_the_example() -> None:
    configuration = read_configurations(LISTED)
    assert configuration == KeyConfiguration(1, GATEWAY.public_key().public_bytes_raw(), (1, 3))
    assert write_configurations([configuration]) == LISTED
    request, asked = encapsulate(configuration, MESSAGE, EPHEMERAL)
    assert request == ENCAPSULATED
    message, answered = decapsulate(ENCAPSULATED, key_of)
    assert message == MESSAGE
    assert answered.seal(REPLY, NONCE) == ENCAPSULATED_REPLY
    assert asked.open(ENCAPSULATED_REPLY) == REPLY


@pytest.mark.parametrize("aead", [1, 3])
@given(st.binary(max_size=3000), st.binary(max_size=3000))
def test_there_and_back(aead: int, message: bytes, reply: bytes) -> None:
    request, asked = encapsulate(own(aeads=(aead,)), message)
    opened, answered = decapsulate(request, key_of)
    assert opened == message
    assert asked.open(answered.seal(reply)) == reply


def test_no_two_requests_are_alike() -> None:
    assert len({encapsulate(own(), MESSAGE)[0][7:39] for _ in range(20)}) == 20


def test_a_reply_to_another_request_is_refused() -> None:
    (_, asked), (other, _) = (encapsulate(own(), MESSAGE) for _ in range(2))
    with pytest.raises(ValueError, match="does not belong"):
        asked.open(decapsulate(other, key_of)[1].seal(REPLY))
    for size in range(32):
        with pytest.raises(ValueError, match="reply"):
            asked.open(bytes(size))


@given(st.integers(0, len(ENCAPSULATED) - 1), st.integers(1, 255))
def test_any_changed_byte_is_found(at: int, change: int) -> None:
    changed = bytearray(ENCAPSULATED)
    changed[at] ^= change
    with pytest.raises(UnknownKey):
        decapsulate(bytes(changed), key_of)


@pytest.mark.parametrize("size", [0, 1, 7, 38, 39, 54])
def test_what_is_cut_short_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="truncated"):
        decapsulate(ENCAPSULATED[:size], key_of)


def test_keys_that_give_no_secret_are_refused() -> None:
    """With a point of low order anybody could read the message."""
    with pytest.raises(ValueError, match="cannot be used"):
        encapsulate(own(public_key=bytes(32)), MESSAGE)
    with pytest.raises(UnknownKey):
        decapsulate(ENCAPSULATED[:7] + bytes(32) + ENCAPSULATED[39:], key_of)


@pytest.mark.parametrize(
    "listed",
    [
        b"",
        b"\0",
        LISTED[:-1],
        LISTED + b"\0",
        b"\0\2\1\0",
        b"\0\3\1\0\x20",
        LISTED.replace(b"\0\x08\0\1", b"\0\x06\0\1"),
        LISTED.replace(b"\0\x20", b"\0\x21"),
        LISTED.replace(b"\0\1\0\1\0\1\0\3", b"\0\2\0\1\0\1\0\2"),
    ],
)
def test_configurations_that_cannot_be_used(listed: bytes) -> None:
    with pytest.raises(ValueError, match="configuration"):
        read_configurations(listed)


def test_configurations_of_other_kinds_are_passed_over() -> None:
    other = b"\0\x0a\7\0\x10\0\0\0\0\0\0\0"
    assert read_configurations(other + LISTED) == own()
