"""Sends a reply's head together with its body: each write is a system call, and mostly a packet, of its own."""

import asyncio

__all__ = ["JoinedReply"]

_CONTINUE = b"HTTP/1.1 100 "
_LENGTH = b"\r\ncontent-length: "
_LARGEST_COPY = 64 * 1024
"""Bytes of a body beyond which copying it would cost more than a write."""


class JoinedReply(asyncio.Transport):
    """A connection's transport, as uvicorn uses it for one reply: it writes the head, and then the body.

    A head that announces the body's length is held until the first part of that body; any other goes out at once, since
    an event stream's first event may be long in coming. Not for replies to `HEAD`, to which uvicorn writes no body.
    """

    __slots__ = ("_head", "_head_is_over", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head = b""
        """What is held."""
        self._head_is_over = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Sends or holds what uvicorn writes at once: a head, or a part of the body."""
        if self._head_is_over:
            self._transport.write(data)
        elif self._head:
            self._head_is_over = True
            if len(data) <= _LARGEST_COPY:
                self._transport.write(b"".join((self._head, data)))
            else:
                self._transport.write(self._head)
                self._transport.write(data)
        elif isinstance(data, bytes) and _LENGTH in data:
            self._head = data
        else:
            self._head_is_over = not bytes(data).startswith(_CONTINUE)
            self._transport.write(data)

    def close(self) -> None:
        """Sends what is held, and closes the connection."""
        if self._head and not self._head_is_over and not self._transport.is_closing():
            self._head_is_over = True
            self._transport.write(self._head)
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether the connection is closed or closing."""
        return self._transport.is_closing()
