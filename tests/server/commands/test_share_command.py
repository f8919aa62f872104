"""`dither share`: an institution's file on one side, a real server on the other, and no member's value in between."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import httpx2
import pandas
import pytest

from dither_client import Ledger
from dither_client.commands import run
from testing.command_line import check_refusal
from testing.patience import PATIENCE
from testing.repository import DOCS
from testing.servers.defaults import ADMIN_TOKEN
from testing.servers.served import serving

VALUES = [31415.9265, -31415.9265, 31415.5, 3.1415e4, 31415, 31415.25]
"""One of six is below both cuts, the others are above."""
DIGITS = re.compile(rb"(?<![0-9a-f])3\.?1415")
"""A value's first digits, but for those inside an identifier, which has some by chance."""

Share = Callable[..., tuple[int, str, str]]


class Served:
    """A collection of a running server that asks institutions, a token of one, and what was stored."""

    def __init__(self, url: str, admin: httpx2.Client) -> None:
        self.url, self.admin = url, admin
        self.collection = self.create(range=[0, 1000], member_cuts=[300, 500])
        self.token = self.new_token("gateway")

    def create(self, **fields: Any) -> str:
        spec = {"name": "Wages", "family": "normal", "epsilon": 30, "particles": 100, **fields}
        return str(self.admin.post("/v1/collections", json=spec).raise_for_status().json()["id"])

    def new_token(self, role: str) -> str:
        return str(self.admin.post("/v1/tokens", json={"role": role}).raise_for_status().json()["token"])

    def stored(self) -> list[tuple[int, list[int]]]:
        reply = self.admin.get(f"/v1/collections/{self.collection}/member-counts").raise_for_status().json()
        return [(item["size"], item["counts"]) for item in reply["member_counts"]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, httpx2.Client]]:
    with (
        serving(f"sqlite:///{tmp_path_factory.mktemp('server') / 'dither.sqlite'}") as (url, _),
        httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {ADMIN_TOKEN}"}, timeout=PATIENCE) as admin,
    ):
        yield url, admin


@pytest.fixture
def served(server: tuple[str, httpx2.Client]) -> Served:
    return Served(*server)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "clinic.sqlite"


@pytest.fixture
def share(served: Served, ledger: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Share:
    """Runs `dither share ID` with the rest of its arguments: its status, standard output and standard error."""
    monkeypatch.setenv("DITHER_URL", served.url)
    monkeypatch.setenv("DITHER_TOKEN", served.token)

    def call(*arguments: str | Path, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(stdin)))
        status = run(["share", served.collection, *map(str, arguments), "--ledger", str(ledger)])
        out, err = capsys.readouterr()
        assert not DIGITS.search((out + err).encode())
        return status, out, err

    return call


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.txt"
    path.write_text("\n".join(map(str, VALUES)) + "\n")
    return path


def spent(ledger: Path) -> float:
    with Ledger(ledger) as account:
        return float(account.spent())


@pytest.mark.parametrize("ending", ["csv", "parquet", "txt", "-"])
def test_a_file_is_counted_and_shared(served: Served, share: Share, ledger: Path, tmp_path: Path, ending: str) -> None:
    """At ε = 30 noise is not seen (1e-13 a count): five of the six are above whichever cut they are dealt to."""
    path, text = tmp_path / f"clinic.{ending}", "\n".join(map(str, VALUES))
    frame = pandas.DataFrame({"name": list("abcdef"), "wage": VALUES})
    column = ["--column", "wage"] if ending in ("csv", "parquet") else []
    if ending == "csv":
        frame.to_csv(path, index=False)
    elif ending == "parquet":
        frame.to_parquet(path)
    else:
        path.write_text(text)
    file = "-" if ending == "-" else path
    status, out, _ = share(file, *column, "--max-epsilon", "30", "--yes", "--json", stdin=text.encode())
    assert status == 0
    shown = json.loads(out)
    assert shown.keys() == {"collection", "receipt", "epsilon", "spent", "query", "counts"}
    assert (shown["collection"], shown["epsilon"], shown["spent"]) == (served.collection, 30, 30)
    assert shown["query"]["cuts"] == [300, 500]
    assert shown["query"]["size"] == 6
    assert sum(shown["counts"]) == 5
    assert served.stored() == [(6, shown["counts"])]
    assert spent(ledger) == 30
    assert not DIGITS.search(ledger.read_bytes())


def test_people_are_told_what_was_sent(share: Share, lines: Path) -> None:
    status, out, err = share(lines, "--yes", "--max-epsilon", "30")
    assert (status, err) == (0, "")
    assert out.startswith("Counts of 6 members were sent: ")
    assert "It cost ε = 30; you have spent 30 in total.\nReceipt: " in out


def test_it_is_shared_once(served: Served, share: Share, lines: Path, ledger: Path, tmp_path: Path) -> None:
    assert share(lines, "--yes", "--max-epsilon", "30")[0] == 0
    check_refusal(share(lines, "--yes", "--max-epsilon", "30"), 1, "already has your members' counts")
    assert spent(ledger) == 30
    assert len(served.stored()) == 1


def test_another_ledger_does_not_share_again(served: Served, share: Share, lines: Path, tmp_path: Path) -> None:
    assert share(lines, "--yes", "--max-epsilon", "30")[0] == 0
    before = served.stored()
    lines.write_text("1\n2\n")
    status = run(
        ["share", served.collection, str(lines), "--yes", "--max-epsilon", "30", "--ledger", str(tmp_path / "two")]
    )
    assert status == 1
    assert served.stored() == before


def test_without_yes_and_without_a_terminal_nothing_is_spent(
    served: Served, share: Share, lines: Path, ledger: Path
) -> None:
    status, out, err = share(lines)
    assert (status, out) == (2, "")
    assert "Wages: the values of 6 members stay on this machine; 2 noisy counts are sent." in err
    assert "It costs ε = 30; you have spent 0 and allow 10 in total. An institution shares once." in err
    assert "give --yes" in err
    assert spent(ledger) == 0
    assert served.stored() == []


def agree(served: Served, ledger: Path, file: Path, typed: str) -> tuple[int, str, str]:
    """Runs `dither share` on a terminal of its own: its status, the screen, and its standard output."""
    main, other = os.openpty()
    command = [sys.executable, "-c", "from dither_client.commands import main; main()", "share", served.collection]
    process = subprocess.Popen(
        [*command, str(file), "--ledger", str(ledger), "--max-epsilon", "30", "--json"],
        env={**os.environ, "DITHER_URL": served.url, "DITHER_TOKEN": served.token},
        stdin=other,
        stderr=other,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    os.close(other)
    screen = b""
    while b"Share them? [y/N]: " not in screen:
        screen += os.read(main, 1000)
    os.write(main, typed.encode() + b"\n")
    out, _ = process.communicate(timeout=PATIENCE)
    os.close(main)
    return process.returncode, screen.decode(), out.decode()


def test_a_terminal_is_asked_first(served: Served, lines: Path, ledger: Path) -> None:
    status, screen, out = agree(served, ledger, lines, "n")
    assert (status, out) == (1, "")
    assert "It costs ε = 30; you have spent 0 and allow 30 in total." in screen
    assert spent(ledger) == 0
    status, screen, out = agree(served, ledger, lines, "y")
    assert status == 0
    assert not DIGITS.search((screen + out).encode())
    assert served.stored() == [(6, json.loads(out)["counts"])]


def test_caps_and_states(served: Served, share: Share, lines: Path, ledger: Path) -> None:
    check_refusal(share(lines, "--yes"), 1, "and 2 is allowed for one answer; set --max-epsilon to allow more")
    check_refusal(share(lines, "--yes", "--max-epsilon", "much"), 2, "epsilon must be")
    served.admin.patch(f"/v1/collections/{served.collection}", json={"state": "paused"}).raise_for_status()
    check_refusal(share(lines), 1, "the collection is paused")
    assert spent(ledger) == 0
    assert served.stored() == []


def test_tokens(served: Served, share: Share, lines: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a token that may not share, counts are drawn and kept; the right one sends these, and nothing is charged."""
    monkeypatch.delenv("DITHER_TOKEN")
    check_refusal(share(lines, "--yes"), 2, "an institution needs its token")
    analyst = served.new_token("analyst")
    check_refusal(share(lines, "--yes", "--max-epsilon", "30", "--token", analyst), 2, "")
    assert served.stored() == []
    with Ledger(ledger) as account:
        [entry] = account.unsent(served.url)
    # They are on their way, so nothing is asked.
    assert share(lines, "--max-epsilon", "30", "--token", served.token)[0] == 0
    assert served.stored() == [(6, list(entry.answer if isinstance(entry.answer, tuple) else ()))]
    assert spent(ledger) == 30


def test_a_collection_that_asks_no_institutions(
    served: Served, lines: Path, ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    single = served.create()
    arguments = ["share", single, str(lines), "--url", served.url, "--token", served.token, "--ledger", str(ledger)]
    assert run([*arguments, "--yes"]) == 1
    assert "it has no member_cuts" in capsys.readouterr().err
    assert spent(ledger) == 0


@pytest.mark.parametrize(
    ("name", "content", "column", "says"),
    [
        ("clinic.txt", "1\nx31415\n", None, "line 2 of clinic.txt is not a finite number"),
        ("clinic.txt", "1\n\n31415\n", None, "line 2 of clinic.txt is blank"),
        ("clinic.txt", "1\nnan\n", None, "line 2 of clinic.txt is not a finite number"),
        ("clinic.txt", "31,415\n", None, "line 1 of clinic.txt has a comma that may separate thousands or begin"),
        ("clinic.txt", "\n \n", None, "clinic.txt has no values"),
        ("clinic.txt", "31415", None, "there must be 2 to 1000000 members, at least one for each cut"),
        ("clinic.txt", b"31415\n\xff\n", None, "clinic.txt is not UTF-8 text"),
        (
            "clinic.csv",
            "wage,age\n31415,31\n",
            None,
            "name the column of clinic.csv that holds the values with --column",
        ),
        ("clinic.csv", "wage\n31415\n", "pay", "clinic.csv has no column pay"),
        (
            "clinic.csv",
            "wage\n31415\n314_15\n",
            "wage",
            "row 2 of the column wage of clinic.csv is not a finite number",
        ),
        ("clinic.csv", "wage\n1,31415\n", "wage", "row 1 of clinic.csv has more cells than there are columns"),
        ("clinic.txt", "31415\n", "wage", "only .csv and .parquet files have columns"),
    ],
)
def test_bad_files_are_refused_in_one_sentence(
    served: Served,
    share: Share,
    ledger: Path,
    tmp_path: Path,
    name: str,
    content: str | bytes,
    column: str | None,
    says: str,
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    outcome = share(path, "--yes", "--max-epsilon", "30", *(["--column", column] if column else []))
    check_refusal(outcome, 1 if "members" in says else 2, says)
    assert spent(ledger) == 0
    assert served.stored() == []


def test_usage_errors_repeat_nothing(served: Served, share: Share, ledger: Path) -> None:
    for arguments in (["31415.9"], ["-31415.9"], ["31415", "31415"], ["--nonsense=31415"], []):
        check_refusal(share(*arguments, "--yes"), 2, "use: dither share ID FILE --url URL")
    assert not ledger.exists()


def test_the_command_of_the_documentation_works_as_written(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (DOCS / "special-collections.md").read_text()
    [line] = [line for line in page.splitlines() if line.startswith("dither share ")]
    names = {"ID": served.collection, "https://survey.example.org": served.url}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DITHER_TOKEN", served.token)
    pandas.DataFrame({"wage": VALUES}).to_csv("clinic.csv", index=False)
    words = [names.get(word, word) for word in shlex.split(line)[1:]]
    assert run([*words, "--yes", "--max-epsilon", "30"]) == 0
    assert "Counts of 6 members were sent" in capsys.readouterr().out
    assert len(served.stored()) == 1
