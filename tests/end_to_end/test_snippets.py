"""Every fenced block of the documentation is run by a test; here those of the pages that no other test runs."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from testing.reader import ROOT, Shell, blocks, fenced, reading

PAGES = [ROOT / "README.md", ROOT / "benchmarks" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
WRITTEN = "https://survey.example.org"
WAGES = "wage\n" + "".join(f"{200 + 7 * (i % 150)}\n" for i in range(600))
SPEC = {"name": "Wages", "family": "normal", "transform": "log", "range": [100, 2000], "epsilon": 1, "particles": 200}

ELSEWHERE = {
    "pip install '.[cli]'": "what is installed is what is tested",
    "dither reproduce all --runs full --out results --jobs 2": "hours; every study has a test of its own",
    "dither reproduce truncation-table-1 --data incomes.csv": "a test of the studies reads a file of incomes",
    "dither reproduce war-logs-states --data entries.csv": "a test of the studies reads a file of entries",
}
"""Lines that are not run here, and why."""

SMALLER = {
    "--respondents 100000": "--respondents 400",
    "--respondents 300000": "--respondents 400",
    "--repeats 20": "--repeats 2",
    "results": "o --runs 1",
}
"""What would take long, made small."""


def uses(page: str, language: str) -> bool:
    """Whether some test runs the page's blocks of a language."""
    call = f'blocks("{page}", "{language}")'
    return any(call in file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_is_run_by_a_test(page: Path) -> None:
    name = page.relative_to(ROOT).as_posix()
    for language, content in fenced(page.read_text(encoding="utf-8")):
        assert language, f"a block without a language: {content[:40]}"
        assert uses(name, language), f"no test runs the {language} of {name}"


def test_a_block_that_no_test_runs_is_found() -> None:
    assert fenced("a\n```brainfuck\n+\n```\n") == [("brainfuck", "+\n")]
    assert not uses("README.md", "brainfuck")


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with reading(tmp_path) as shell:
        (tmp_path / "wages.json").write_text(json.dumps(SPEC))
        (tmp_path / "clinic.csv").write_text(WAGES)
        (tmp_path / "pilot.csv").write_text(WAGES)
        yield shell


def lines(found: list[str]) -> list[str]:
    """What is typed, made small."""
    typed = [line for block in found for line in block.splitlines() if line not in ELSEWHERE]
    for large, small in SMALLER.items():
        typed = [line.replace(large, small) for line in typed]
    return typed


def create(shell: Shell, **fields: object) -> str:
    """A new collection's id."""
    (shell.folder / "spec.json").write_text(json.dumps({**SPEC, **fields}))
    return str(json.loads(shell.run("dither collection create spec.json --json"))["id"])


def own(shell: Shell, text: str, collection: str) -> str:
    """What a page says, with this server and a collection of it."""
    return re.sub(r"\bID\b", collection, text.replace(WRITTEN, shell.url))


def test_what_is_left_out_is_on_the_pages() -> None:
    text = "\n".join(page.read_text() for page in PAGES)
    assert [line for line in ELSEWHERE if line not in text] == []


@pytest.mark.slow
def test_the_commands_of_analysts_work_as_written(shell: Shell) -> None:
    for block in blocks("docs/analysts.md", "json"):
        (shell.folder / "written.json").write_text(block)
        shell.run("dither collection create written.json")
    for line in lines(blocks("docs/analysts.md", "bash")):
        shell.run(line)


@pytest.mark.slow
def test_the_commands_of_special_collections_work_as_written(shell: Shell) -> None:
    collection = create(shell, member_cuts=[300, 500, 800])
    gateway = json.loads(shell.run(f"dither token create gateway --name Clinic --collection {collection} --json"))
    [several] = [block for block in blocks("docs/special-collections.md", "json") if '"components"' in block]
    (shell.folder / "several.json").write_text(several)
    for line in lines(blocks("docs/special-collections.md", "bash")):
        before = f"export DITHER_TOKEN={gateway['token']}; " if line.startswith("dither share") else ""
        shell.run(before + own(shell, line, collection), typed="y\n")


@pytest.mark.slow
def test_the_commands_of_results_work_as_written(shell: Shell) -> None:
    collection = create(shell, misfit_check=True)
    shell.run(f"dither simulate --collection {collection} --truth mu=6.2,sigma=0.7 --respondents 300")
    for line in lines(blocks("docs/results.md", "bash")):
        shell.run(own(shell, line, collection))
    [families] = blocks("docs/results.md", "json")
    (shell.folder / "families.json").write_text(families)
    assert json.loads(shell.run("dither collection create families.json --json"))["family"] == "normal"


@pytest.mark.slow
def test_the_python_of_analysts_works_as_written(shell: Shell) -> None:
    [share], [read] = blocks("docs/special-collections.md", "python"), blocks("docs/results.md", "python")
    collection = create(shell, member_cuts=[300, 500, 800])
    gateway = json.loads(shell.run(f"dither token create gateway --name Clinic --collection {collection} --json"))
    wages = "wages = [200.0 + 7 * (i % 150) for i in range(600)]\n"
    shell.run_python(wages + own(shell, share, collection).replace('token="…"', f'token="{gateway["token"]}"'))
    shell.run(f"dither simulate --collection {collection} --truth mu=6.2,sigma=0.7 --respondents 300")
    shell.run(f"dither collection close {collection}")
    token = shell.environment["DITHER_TOKEN"]
    printed = shell.run_python(own(shell, read, collection).replace('token="…"', f'token="{token}"'))
    assert printed.splitlines()[-1].startswith("300 ")
    without = re.sub(r".*# with a family.*\n", "", read)
    assert without != read
    free = create(shell, family=None, transform=None)
    shell.run(f"dither simulate --collection {free} --data clinic.csv --column wage --respondents 100")
    shell.run(f"dither collection close {free}")
    printed = shell.run_python(own(shell, without, free).replace('token="…"', f'token="{token}"'))
    assert printed.splitlines()[-1].startswith("100 ")


@pytest.mark.slow
def test_the_python_of_statistics_works_as_written(shell: Shell) -> None:
    [studied] = blocks("docs/statistics.md", "python")
    assert "ParameterSummary(mean=" in shell.run_python(studied)


@pytest.mark.slow
def test_what_respondents_are_told_works_as_written(shell: Shell) -> None:
    for line in lines(blocks("docs/respondents.md", "bash")):
        assert "Receipt" in shell.run(own(shell, line, create(shell)), typed="540\n")
    app, panel = blocks("docs/apps.md", "python")
    often = {"period": "month", "panel": {"answers": 2, "periods": 2}}
    for number, (block, fields) in enumerate([(app, {}), (panel, often)]):
        collection = create(shell, **fields)
        block = block.replace("ledger.sqlite", f"ledger-{number}.sqlite")
        shell.run_python("value = 540.0\n" + own(shell, block, collection))
        assert json.loads(shell.run(f"dither collection show {collection} --json"))["answers"] == 1


@pytest.mark.slow
def test_the_commands_of_the_other_pages_work_as_written(shell: Shell) -> None:
    counts = "mechanism,low,high,levels,cuts,epsilon,transform,answer,count\nlaplace,6,7,1,,1,log,1,30\n"
    (shell.folder / "counts.csv").write_text(counts)
    (shell.folder / "collection.json").write_text(json.dumps(SPEC))
    (shell.folder / "wages.csv").write_text(WAGES)
    found = [*blocks("docs/limits.md", "bash"), *blocks("docs/papers.md", "bash"), *blocks("docs/scale.md", "bash")]
    found += blocks("docs/statistics.md", "bash")
    assert len(lines(found)) >= 7
    for line in lines(found):
        assert shell.run(line)
