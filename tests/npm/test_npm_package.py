"""The npm package, installed from its tarball: what it has, and what programs and pages do with it."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import expect

from dither_client import Ledger
from dither_client.conformance.run import run_scenarios
from testing.browser.site import WebSite, open_web_site
from testing.npm import NPM, Packed, install, install_from_registry, npm_package, sqlite_node
from testing.patience import PATIENCE
from testing.project import project
from testing.reader import blocks
from testing.repository import ROOT, TESTS
from testing.servers.listening import serving_folder
from testing.tools import find_tool
from tests.browser.conftest import OpenPage, browser, open_page

__all__ = ["browser", "open_page"]

WEB = ROOT / "client" / "dither_client" / "web"
README = "client/dither_client/web/README.md"
VITE, TYPESCRIPT = "vite@8", "typescript@6"


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Packed:
    return npm_package(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def installed(packed: Packed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that has the package, and the programs of this folder."""
    folder = tmp_path_factory.mktemp("project")
    install(packed, folder)
    for program in (TESTS / "npm").glob("*.mjs"):
        shutil.copy(program, folder)
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebSite]:
    with open_web_site(tmp_path_factory.mktemp("site")) as site:
        yield site


def run_node(folder: Path, *arguments: str, said: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sqlite_node(), *arguments],
        cwd=folder,
        env=os.environ | variables,
        input=said,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_it_has_the_version_of_the_project_and_no_dependencies() -> None:
    package = json.loads((WEB / "package.json").read_text(encoding="utf-8"))
    wanted = {name: project()[name] for name in ("version", "license")}
    assert {name: package[name] for name in wanted} == wanted
    assert not [name for name in package if name.endswith(("ependencies", "scripts"))]
    for entry in package["exports"].values():
        for file in entry.values() if isinstance(entry, dict) else [entry]:
            assert (WEB / file).is_file()


def test_its_files_are_those_that_the_server_serves(packed: Packed, site: WebSite) -> None:
    """So that somebody can compare: the sums in the package, as printed, are those of what comes from `/web/`."""
    with tarfile.open(packed.tarball) as tarball:
        files = {name: tarball.extractfile(name) for name in tarball.getnames()}
        content = {name.removeprefix("package/"): file.read() for name, file in files.items() if file}
    assert {"package.json", "README.md", "LICENSE", "SHA256SUMS"} < set(content)
    *lines, last = packed.printed.splitlines()
    assert content["SHA256SUMS"].decode().splitlines() == lines
    sums = {name: total for total, name in (line.split() for line in lines)}
    assert set(sums) == {name for name in content if name.endswith((".js", ".ts"))}
    for name, total in sums.items():
        assert hashlib.sha256(content[name]).hexdigest() == total
        assert httpx2.get(f"{site.url}/web/{name}").content == content[name]
    assert last.split() == [hashlib.sha256(packed.tarball.read_bytes()).hexdigest(), packed.tarball.name]


def test_anybody_can_compare_as_the_documentation_says(installed: Path, site: WebSite) -> None:
    [commands] = blocks("docs/apps.md", "sh")
    commands = commands.replace("https://survey.example.org", site.url)
    said = subprocess.run(
        ["sh", "-euc", commands], cwd=installed, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    *checked, served = said.stdout.splitlines()
    assert checked
    assert all(line.endswith(": OK") for line in checked)
    sums = (installed / "node_modules" / "dither-client" / "SHA256SUMS").read_text().split()
    assert served.split()[0] == sums[sums.index("client.js") - 1]


def test_packing_again_gives_the_same_bytes(packed: Packed, tmp_path: Path) -> None:
    assert npm_package(tmp_path).tarball.read_bytes() == packed.tarball.read_bytes()


def test_its_ledgers_keep_what_ledgers_promise(installed: Path) -> None:
    vectors = str(ROOT / "client" / "vectors" / "charges.json")
    tested = run_node(installed, "--test", "check_ledgers.mjs", CHARGES=vectors)
    assert tested.returncode == 0, tested.stdout
    assert "tests 16" in tested.stdout


@pytest.mark.parametrize(("when", "state"), [("drawn", "charged"), ("sent", "drawn")])
def test_a_program_that_is_killed_continues_without_a_second_charge(
    installed: Path, site: WebSite, tmp_path: Path, when: str, state: str
) -> None:
    collection, path = site.create(), tmp_path / "ledger.sqlite"
    answer = ["client_program.mjs", "answer", "--url", site.url, "--ledger", str(path), collection, "-"]
    killed = run_node(installed, "--import", "./kill_when.mjs", *answer, said="483.25", KILL_WHEN=when)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with Ledger(path) as ledger:  # the Python client reads the same file
        [charge] = ledger.entries()
        before = ledger.find(site.url, collection)
    assert before
    assert [charge.state, charge.epsilon, site.answers(collection)] == [state, 1, 0]
    continued = run_node(installed, *answer, said="483.25")
    assert continued.returncode == 0, continued.stderr
    again = run_node(installed, *answer, said="483.25")
    assert "AlreadyAnswered" in again.stderr
    with Ledger(path) as ledger:
        [charge] = ledger.entries()
        after = ledger.find(site.url, collection)
    assert after
    assert [charge.state, charge.epsilon, charge.receipt] == ["sent", 1, continued.stdout.strip()]
    assert after.ticket == before.ticket
    if state == "drawn":
        assert (after.answer, after.retry_key) == (before.answer, before.retry_key)
    assert site.answers(collection) == 1
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_ledger_of_the_python_client_is_the_same_file(installed: Path, site: WebSite, tmp_path: Path) -> None:
    collection, path = site.create(), tmp_path / "ledger.sqlite"
    with Ledger(path, max_epsilon="1") as ledger:
        assert ledger.spent() == 0
    answer = ["client_program.mjs", "answer", "--url", site.url, "--ledger", str(path), "--max-epsilon", "1"]
    assert run_node(installed, *answer, collection, "-", said="483.25").returncode == 0
    with Ledger(path, max_epsilon="1") as ledger:
        assert ledger.spent() == 1
        assert ledger.price(site.url, collection)
    refused = run_node(installed, *answer, site.create(), "-", said="483.25")
    assert "OverCap" in refused.stderr


def test_a_node_without_sqlite_says_what_to_do(installed: Path) -> None:
    code = (
        "import { registerHooks } from 'node:module';"
        "registerHooks({ resolve(name, context, next) {"
        "  if (name === 'node:sqlite') throw new Error('none'); return next(name, context); } });"
        "const { SqliteLedger } = await import('dither-client/ledgers/node-sqlite');"
        "await SqliteLedger.open('nowhere').catch((error) => console.log(String(error)));"
    )
    said = run_node(installed, "--input-type=module", "-e", code)
    assert "LedgerError: this Node has no node:sqlite: use 22.13 or later" in said.stdout, said.stderr
    assert not (installed / "nowhere").exists()


REACT_NATIVE = """
const { fetch: ownFetch, Response } = globalThis;
delete AbortSignal.timeout;
globalThis.fetch = async (...given) => {
  const reply = await ownFetch(...given);
  const { status, headers } = reply;
  return { status, headers, type: "default", arrayBuffer: () => reply.arrayBuffer() };
};
const { Client } = await import("dither-client");
const { StorageLedger } = await import("dither-client/ledgers/async-storage");
const texts = new Map();
const storage = {
  getItem: async (key) => texts.get(key) ?? null,
  setItem: async (key, text) => void texts.set(key, text),
};
const [, url, collection] = process.argv;
const { receipt } = await new Client(url, { ledger: new StorageLedger(storage) }).answer(collection, 483.25);
console.log(receipt, texts.get("dither-ledger").includes("483"));
"""


def test_an_answer_where_a_body_is_no_stream(installed: Path, site: WebSite) -> None:
    """As in React Native, whose fetch reads a body only as a whole, and which has no `AbortSignal.timeout`."""
    collection = site.create()
    said = run_node(installed, "--input-type=module", "-e", REACT_NATIVE, site.url, collection)
    receipt, has_value = said.stdout.split()
    assert (len(receipt), has_value, site.answers(collection)) == (32, "false", 1), said.stderr


def test_the_example_of_its_readme_runs(installed: Path, site: WebSite) -> None:
    [example] = blocks(README, "js")
    collection = site.create()
    example = example.replace("https://survey.example.org", site.url).replace('"ID"', f'"{collection}"')
    (installed / "example.mjs").write_text(example, encoding="utf-8")
    said = run_node(installed, "example.mjs")
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("Weekly wages 1\nIs your value above")
    assert site.answers(collection) == 1


@pytest.mark.slow
def test_the_hostile_server_finds_nothing(installed: Path) -> None:
    broken = run_scenarios([sqlite_node(), str(installed / "client_program.mjs")])
    assert {name: reason for name, reason in broken.items() if reason is not None} == {}


PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Another site</title>
<h1>Another site</h1><p id="said"></p><script type="module" src="./main.ts"></script></html>"""
MAIN = """
import { Client, Problem, answerText, questionText, type SentEntry } from "dither-client";
import { Ledger } from "dither-client/ledgers/indexeddb";

const ledger = new Ledger({ maxEpsilon: "2" });
const client = new Client("SERVER", { ledger });
const said = document.getElementById("said") as HTMLElement;
client.answer("COLLECTION", 483.25).then(
  ({ query, answer, receipt }: SentEntry) => {
    said.textContent = `${questionText(query)} ${answerText(query, answer)} ${receipt}`;
  },
  (error: unknown) => {
    said.textContent = error instanceof Problem ? error.reason : String(error);
  },
);
client.answer("COLLECTION", "nothing").catch((error: unknown) => {
  document.title = error instanceof Error ? error.name : "no error";
});
"""
TYPED = """
import { Client } from "dither-client";
import { StorageLedger, type AsyncStorageLike } from "dither-client/ledgers/async-storage";
import { SqliteLedger, type SqliteDatabase } from "dither-client/ledgers/node-sqlite";

declare const storage: AsyncStorageLike;
declare const database: SqliteDatabase;
export const clients: Client[] = [
  new Client("https://a.example", { ledger: new StorageLedger(storage, { key: "mine", maxEpsilon: 2 }) }),
  new Client("https://a.example", { ledger: new SqliteLedger(database) }),
  new Client("https://a.example", { ledger: await SqliteLedger.open("ledger.sqlite") }),
];
// @ts-expect-error a value is a number or a text
void clients[0]?.answer("c", true);
// @ts-expect-error a database is no ledger
void new Client("https://a.example", { ledger: database });
"""
GIVEN = """
import type { AsyncStorageLike } from "dither-client/ledgers/async-storage";

declare const url: string;
declare const AsyncStorage: AsyncStorageLike;
"""
OPTIONS = {
    "strict": True,
    "noEmit": True,
    "target": "es2022",
    "module": "nodenext",
    "moduleResolution": "nodenext",
    "lib": ["es2022", "dom"],
    "types": [],
}


@pytest.mark.slow
def test_a_bundle_of_vite_answers_and_its_types_hold(packed: Packed, open_page: OpenPage, tmp_path: Path) -> None:
    find_tool("node")
    install(packed, tmp_path)
    install_from_registry(tmp_path, VITE, TYPESCRIPT)
    built = tmp_path / "dist"
    with serving_folder(built) as origin, open_web_site(tmp_path, cors_origins=origin) as site:
        collection = site.create()
        (tmp_path / "index.html").write_text(PAGE, encoding="utf-8")
        main = MAIN.replace("SERVER", site.url).replace("COLLECTION", collection)
        (tmp_path / "main.ts").write_text(main, encoding="utf-8")
        (tmp_path / "typed.ts").write_text(TYPED, encoding="utf-8")
        [example] = blocks("docs/apps.md", "ts")
        (tmp_path / "example.ts").write_text(GIVEN + example, encoding="utf-8")
        (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": OPTIONS, "include": ["*.ts"]}))
        for command in (["tsc"], ["vite", "build"]):
            done = subprocess.run(
                [*NPM, "exec", "--", *command],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
        [bundle] = (built / "assets").glob("*.js")
        assert b"node:sqlite" not in bundle.read_bytes()
        page = open_page()
        page.goto(origin)
        expect(page.locator("#said")).to_contain_text("Is your value above")
        expect(page).to_have_title("InvalidValue")  # the bundle gives the class another name
        assert site.answers(collection) == 1
