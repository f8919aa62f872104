"""Binary HTTP against the examples of RFC 9292, section 5, and against whatever else a message may hold."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither_client.oblivious.binary_http import (
    Request,
    Response,
    read_request,
    read_response,
    write_request,
    write_response,
)

FIGURE_8 = bytes.fromhex(
    "0003474554056874747073000a2f68656c6c6f2e747874406c0a757365722d6167656e74346375726c2f372e31362e33206c69626375726c2f"
    "372e31362e33204f70656e53534c2f302e392e376c207a6c69622f312e322e3304686f73740f7777772e6578616d706c652e636f6d0f616363"
    "6570742d6c616e677561676506656e2c206d690000"
)
"""A request with known lengths."""
FIGURE_9 = bytes.fromhex(
    "0203474554056874747073000a2f68656c6c6f2e7478740a757365722d6167656e74346375726c2f372e31362e33206c69626375726c2f372e"
    "31362e33204f70656e53534c2f302e392e376c207a6c69622f312e322e3304686f73740f7777772e6578616d706c652e636f6d0f6163636570"
    "742d6c616e677561676506656e2c206d6900000000000000000000000000"
)
"""The same with indeterminate lengths, and ten bytes of padding."""
FIGURE_11 = bytes.fromhex(
    "0340660772756e6e696e670a22736c65657020313522004067046c696e6b233c2f7374796c652e6373733e3b2072656c3d7072656c6f61643b"
    "2061733d7374796c65046c696e6b243c2f7363726970742e6a733e3b2072656c3d7072656c6f61643b2061733d7363726970740040c8046461"
    "74651d4d6f6e2c203237204a756c20323030392031323a32383a353320474d5406736572766572064170616368650d6c6173742d6d6f646966"
    "6965641d5765642c203232204a756c20323030392031393a31353a353620474d5404657461671422333461613338372d642d31353638656230"
    "30220d6163636570742d72616e6765730562797465730e636f6e74656e742d6c656e67746802353104766172790f4163636570742d456e636f"
    "64696e670c636f6e74656e742d747970650a746578742f706c61696e003348656c6c6f20576f726c6421204d7920636f6e74656e7420696e63"
    "6c75646573206120747261696c696e672043524c462e0d0a0000"
)
"""A response with indeterminate lengths, after two informational ones."""
FIGURE_13 = bytes.fromhex(
    "0140c8001d5468697320636f6e74656e7420636f6e7461696e732043524c462e0d0a0d07747261696c65720474657874"
)
"""A response with known lengths, and a trailer."""
HELLO = Request(
    "GET",
    "https",
    "",
    "/hello.txt",
    (
        ("user-agent", "curl/7.16.3 libcurl/7.16.3 OpenSSL/0.9.7l zlib/1.2.3"),
        ("host", "www.example.com"),
        ("accept-language", "en, mi"),
    ),
)


def raw(name: bytes = b"accept", value: bytes = b"*/*", method: bytes = b"GET", path: bytes = b"/x") -> bytes:
    """A request with these parts, which need not be valid."""
    control = b"".join(bytes([len(part)]) + part for part in (method, b"https", b"", path))
    section = bytes([len(name)]) + name + bytes([len(value)]) + value
    return b"\0" + control + bytes([len(section)]) + section + b"\0\0"


def test_the_examples_of_requests() -> None:
    assert read_request(FIGURE_8) == HELLO
    assert write_request(HELLO) == FIGURE_8
    assert read_request(FIGURE_9) == HELLO


def test_what_is_empty_at_the_end_may_be_left_out() -> None:
    for cut in range(1, 3):
        assert read_request(FIGURE_8[:-cut]) == HELLO
    for cut in range(1, 13):
        assert read_request(FIGURE_9[:-cut]) == HELLO
    assert read_response(bytes.fromhex("0140c8")) == Response(200)


def test_the_examples_of_responses() -> None:
    found = read_response(FIGURE_11)
    assert (found.status, found.body) == (200, b"Hello World! My content includes a trailing CRLF.\r\n")
    assert dict(found.headers)["etag"] == '"34aa387-d-1568eb00"'
    assert read_response(FIGURE_13) == Response(200, (), b"This content contains CRLF.\r\n")


@pytest.mark.parametrize(
    ("message", "ends"),
    [
        (FIGURE_8, {23, -2, -1}),
        (FIGURE_9, {23, *range(-12, 0)}),
        (FIGURE_11, {111, -54, -1}),
        (FIGURE_13, {3, 4, -14}),
    ],
    ids=["8", "9", "11", "13"],
)
def test_a_message_ends_after_a_section_alone(message: bytes, ends: set[int]) -> None:
    """Negative numbers count from the end."""
    read = read_request if message in (FIGURE_8, FIGURE_9) else read_response
    taken = set()
    for size in range(len(message)):
        with suppress(ValueError):
            read(message[:size])
            taken.add(size)
    assert taken == {end % len(message) for end in ends}


@pytest.mark.parametrize(
    "message",
    [
        b"",
        FIGURE_13,
        b"\x05",
        FIGURE_8 + b"\1",
        raw(b":method", b"POST"),
        raw(b"Accept"),
        raw(b"a name"),
        raw(b""),
        raw(value=b"a\r\nb: c"),
        raw(value=b"a\0b"),
        raw(value=b" a"),
        raw(value=b"a "),
        raw(method=b"GE T"),
        raw(path=b"/a b"),
        raw(path=b"/\xe4"),
        raw(path=b""),
        raw(path=b"http://elsewhere/"),
        raw()[:-2] + b"\xff" + b"\xff" * 7,
        raw()[:-2] + b"\x09\0",
    ],
)
def test_what_is_no_request_is_refused(message: bytes) -> None:
    assert read_request(raw()).headers == (("accept", "*/*"),)
    with pytest.raises(ValueError, match=r"message|request|length|section"):
        read_request(message)


def test_the_number_of_parts_is_bounded() -> None:
    many = tuple((f"x{i}", "") for i in range(101))
    with pytest.raises(ValueError, match="too many fields"):
        read_request(write_request(HELLO._replace(headers=many)))
    chunks = b"\2" + FIGURE_8[1:23] + b"\0" + b"\1a" * 257 + b"\0"
    with pytest.raises(ValueError, match="too many chunks"):
        read_request(chunks)
    assert read_request(chunks.replace(b"\1a", b"", 1)).body == b"a" * 256


names = st.from_regex(r"[a-z0-9-]{1,70}", fullmatch=True)
values = st.from_regex(r"([!-~]([ -~]{0,80}[!-~])?)?", fullmatch=True)
headers = st.lists(st.tuples(names, values), max_size=5).map(tuple)
bodies = st.binary(max_size=20_000)


@given(headers, bodies, st.sampled_from([1, 256]))
def test_what_is_written_is_read(headers: tuple[tuple[str, str], ...], body: bytes, multiple: int) -> None:
    request = Request("POST", "https", "survey.example.org", "/v1/x", headers, body)
    response = Response(201, headers, body)
    assert read_request(write_request(request, multiple)) == request
    assert read_response(write_response(response, multiple)) == response
    assert len(write_request(request, multiple)) % multiple == 0


@given(st.data())
def test_changed_messages_are_read_or_refused(data: st.DataObject) -> None:
    message = bytearray(data.draw(st.sampled_from([FIGURE_8, FIGURE_9, FIGURE_11, FIGURE_13])))
    for at in data.draw(st.lists(st.integers(0, len(message) - 1), max_size=4)):
        message[at] = data.draw(st.integers(0, 255))
    for read in (read_request, read_response):
        try:
            read(bytes(message))
        except ValueError:
            continue
