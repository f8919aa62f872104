"""Binary HTTP messages (RFC 9292): written with known lengths, and read with known or indeterminate ones.

Reading is strict, and its work is bounded whatever the message holds. Everything that is not a whole message raises
`ValueError`, whose text repeats nothing of the message.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Fields", "Request", "Response", "read_request", "read_response", "write_request", "write_response"]

Fields = tuple[tuple[str, str], ...]
"""Headers, in order; names are in lower case."""

_KNOWN_REQUEST, _KNOWN_RESPONSE, _REQUEST, _RESPONSE = range(4)
"""The framing indicators; the last two are those of indeterminate lengths."""
_MAX_FIELDS = 100
"""The most fields in all sections of a message together, those of informational responses among them."""
_MAX_PARTS = 256
"""The most chunks of content, or informational responses."""
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
_VALUE = re.compile(r"(?![ \t])[\t -~\x80-\xff]*(?<![ \t])")
_METHOD = re.compile(r"[A-Z]{1,16}")
_PATH = re.compile(r"/[!-~]*")
_VISIBLE = re.compile(r"[!-~]*")


class Request(NamedTuple):
    """A request. `authority` is the server's host and port, `path` may have a query."""

    method: str
    scheme: str
    authority: str
    path: str
    headers: Fields = ()
    body: bytes = b""


class Response(NamedTuple):
    """A final response."""

    status: int
    headers: Fields = ()
    body: bytes = b""


def write_request(request: Request, multiple: int = 1) -> bytes:
    """The request, padded with zero bytes to a multiple of `multiple` bytes."""
    control = (request.method, request.scheme, request.authority, request.path)
    head = b"".join(_text(part) for part in control)
    return _padded(_number(_KNOWN_REQUEST) + head + _sections(request.headers, request.body), multiple)


def write_response(response: Response, multiple: int = 1) -> bytes:
    """The response, padded with zero bytes to a multiple of `multiple` bytes."""
    head = _number(_KNOWN_RESPONSE) + _number(response.status)
    return _padded(head + _sections(response.headers, response.body), multiple)


def read_request(data: bytes) -> Request:
    """The request in `data`; trailers are dropped. Raises `ValueError`."""
    reader = _Reader(data)
    framing = reader.number()
    if framing not in (_KNOWN_REQUEST, _REQUEST):
        raise ValueError("not a binary HTTP request")
    method, scheme, authority, path = (reader.text(rule) for rule in (_METHOD, _VISIBLE, _VISIBLE, _PATH))
    headers, body = reader.rest(framing == _KNOWN_REQUEST)
    return Request(method, scheme, authority, path, headers, body)


def read_response(data: bytes) -> Response:
    """The final response in `data`; informational ones and trailers are dropped. Raises `ValueError`."""
    reader = _Reader(data)
    framing = reader.number()
    if framing not in (_KNOWN_RESPONSE, _RESPONSE):
        raise ValueError("not a binary HTTP response")
    known = framing == _KNOWN_RESPONSE
    for _ in range(_MAX_PARTS):
        status = reader.number()
        if not 100 <= status <= 199:
            break
        reader.fields(known)
    if not 200 <= status <= 599:
        raise ValueError("the status of a response is from 200 to 599")
    return Response(status, *reader.rest(known))


class _Reader:
    """Reads a message from its beginning. Every method raises `ValueError` where the message does not go on so."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._fields = 0

    def number(self) -> int:
        """A variable-length integer (RFC 9000, section 16), which need not be in its shortest form."""
        size = 1 << (self._data[self._at] >> 6) if self._at < len(self._data) else 1
        return int.from_bytes(self._take(size), "big") & ((1 << (8 * size - 2)) - 1)

    def text(self, rule: re.Pattern[str]) -> str:
        """A text with its length before it, of which `rule` matches all."""
        return self._matching(self._take(self.number()), rule)

    def fields(self, known: bool) -> Fields:
        """A section of fields; an empty one where the message has ended."""
        if self._ended:
            return ()
        return self._known_fields() if known else self._indeterminate_fields()

    def rest(self, known: bool) -> tuple[Fields, bytes]:
        """Headers and content, up to the end of the message, after which there may be zero bytes alone."""
        headers = self.fields(known)
        content = self._known_content() if known else self._indeterminate_content()
        self.fields(known)
        if self._data[self._at :].strip(b"\0"):
            raise ValueError("the padding of a message is zero")
        return headers, content

    @property
    def _ended(self) -> bool:
        return self._at == len(self._data)

    def _take(self, size: int) -> bytes:
        if size > len(self._data) - self._at:
            raise ValueError("the message is truncated")
        self._at += size
        return self._data[self._at - size : self._at]

    def _matching(self, found: bytes, rule: re.Pattern[str]) -> str:
        text = found.decode("latin-1")
        if not rule.fullmatch(text):
            raise ValueError("a part of the message has characters that it may not have")
        return text

    def _field(self, name_size: int) -> tuple[str, str]:
        self._fields += 1
        if self._fields > _MAX_FIELDS:
            raise ValueError("the message has too many fields")
        return self._matching(self._take(name_size), _NAME), self.text(_VALUE)

    def _known_fields(self) -> Fields:
        size = self.number()
        end = self._at + size
        found = []
        while self._at < end:
            found.append(self._field(self.number()))
        if self._at != end:
            raise ValueError("a section of fields is longer than it says")
        return tuple(found)

    def _indeterminate_fields(self) -> Fields:
        found = []
        while name_size := self.number():
            found.append(self._field(name_size))
        return tuple(found)

    def _known_content(self) -> bytes:
        return b"" if self._ended else self._take(self.number())

    def _indeterminate_content(self) -> bytes:
        chunks: list[bytes] = []
        if self._ended:
            return b""
        while size := self.number():
            if len(chunks) == _MAX_PARTS:
                raise ValueError("the content comes in too many chunks")
            chunks.append(self._take(size))
        return b"".join(chunks)


def _number(value: int) -> bytes:
    """A variable-length integer in its shortest form."""
    for power, size in enumerate((1, 2, 4, 8)):
        if value < 1 << (8 * size - 2):
            return (value | power << (8 * size - 2)).to_bytes(size, "big")
    raise ValueError("a length is below 2^62")


def _text(text: str) -> bytes:
    encoded = text.encode("latin-1")
    return _number(len(encoded)) + encoded


def _sections(headers: Iterable[tuple[str, str]], body: bytes) -> bytes:
    fields = b"".join(_text(name) + _text(value) for name, value in headers)
    return _number(len(fields)) + fields + _number(len(body)) + body + _number(0)


def _padded(message: bytes, multiple: int) -> bytes:
    return message + bytes(-len(message) % multiple)
