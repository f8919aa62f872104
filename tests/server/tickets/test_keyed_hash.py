import hmac
import os

from dither_server.tickets.keyed_hash import KeyedHash


def test_digests_are_those_of_the_standard_library() -> None:
    keyed = KeyedHash()
    for size in (1, 32, 64, 65, 200):  # below, at and above the length of a block
        key, other = os.urandom(size), os.urandom(size)
        for message in (b"", b"x", os.urandom(1_000)):
            for some in (key, other, key):
                assert keyed.digest(some, message) == hmac.digest(some, message, "sha256")
