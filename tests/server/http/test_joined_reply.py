"""Which writes of uvicorn leave together."""

import asyncio

import pytest

from dither_server.http.joined_reply import JoinedReply

HEAD = b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LARGE = b"a" * 100_000


class Recorder(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.closed
        self.written.append(bytes(data))

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


@pytest.mark.parametrize(
    ("writes", "sent"),
    [
        ([HEAD, b"{}"], [HEAD + b"{}"]),
        ([HEAD, memoryview(b"{}")], [HEAD + b"{}"]),
        ([HEAD, b""], [HEAD]),
        ([HEAD, b"{", b"}"], [HEAD + b"{", b"}"]),
        ([HEAD, LARGE], [HEAD, LARGE]),
        ([CONTINUE, HEAD, b"{}"], [CONTINUE, HEAD + b"{}"]),
        ([STREAM], [STREAM]),
        ([STREAM, HEAD, HEAD], [STREAM, HEAD, HEAD]),  # a body may say anything
        ([HEAD], []),
    ],
)
def test_a_head_leaves_with_the_first_part_of_its_body(writes: list[bytes], sent: list[bytes]) -> None:
    transport = Recorder()
    reply = JoinedReply(transport)
    for data in writes:
        reply.write(data)
    assert transport.written == sent


def test_a_head_whose_body_does_not_come_is_sent_before_the_connection_is_closed() -> None:
    transport = Recorder()
    reply = JoinedReply(transport)
    reply.write(HEAD)
    reply.close()
    assert (transport.written, transport.closed, reply.is_closing()) == ([HEAD], True, True)


def test_nothing_is_written_to_a_connection_that_is_closed() -> None:
    transport = Recorder()
    reply = JoinedReply(transport)
    reply.write(HEAD)
    transport.close()
    reply.close()
    assert transport.written == []
