"""docs/papers.md: it shows every study, with its figure, its table and what its results say."""

import csv
import re

import pytest

from dither_papers.studies.catalogue import studies
from dither_papers.studies.study import Study
from testing.reader import blocks
from testing.repository import DOCS

PAGE = (DOCS / "papers.md").read_text()
NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
RUNS = r"([\d,]+|" + "|".join(NUMBERS) + r") runs?\b"


@pytest.mark.parametrize("study", studies, ids=lambda study: study.name)
def test_every_study_is_shown(study: Study) -> None:
    assert f"`{study.name}`" in PAGE
    for ending in ("md", "png"):
        assert f"](papers/{study.name}.{ending})" in PAGE
    assert (DOCS / "papers" / f"{study.name}.png").stat().st_size > 5_000
    with (DOCS / "papers" / f"{study.name}.csv").open(newline="") as file:
        columns = next(csv.reader(file))
    assert "| " + " | ".join(columns) + " |" in (DOCS / "papers" / f"{study.name}.md").read_text()


def test_nothing_is_left_of_studies_that_are_gone() -> None:
    names = {study.name for study in studies}
    assert {file.stem for file in (DOCS / "papers").rglob("*.*")} == names
    assert set(re.findall(r"\]\(papers/([^.]+)\.", PAGE)) == names


def stated_runs() -> list[tuple[str, int]]:
    """Studies with numbers of runs: in bold where a study begins the paragraph, and in links to a study's files."""
    bold = (
        (paragraph.split("`")[1], number)
        for paragraph in PAGE.split("\n\n")
        if paragraph.startswith("`")
        for number in re.findall(rf"\*\*{RUNS}\*\*", paragraph)
    )
    links = ((name, number) for number, name in re.findall(rf"\[[^]]*\b{RUNS}[^]]*\]\(papers/([^.]+)\.", PAGE))
    return [(name, NUMBERS.get(number) or int(number.replace(",", ""))) for name, number in (*bold, *links)]


def test_the_numbers_of_runs_are_those_of_the_tables() -> None:
    stated = stated_runs()
    assert {"truncation-figure-1", "truncation-figure-2-exact"} <= {name for name, _ in stated}
    for name, number in stated:
        [shown] = re.findall(r"`, runs: ([\d,]+), in full ", (DOCS / "papers" / f"{name}.md").read_text())
        assert number == int(shown.replace(",", "")), f"{name}: the page says {number} runs, its table {shown}"


def test_the_example_releases_an_estimate() -> None:
    [code] = blocks("docs/papers.md", "python")
    names: dict[str, object] = {}
    exec(compile(code, "papers.md", "exec"), names)
    release = names["release"]
    assert getattr(release, "epsilon", 0) <= 1
    assert 0 <= getattr(release, "estimate", -1) <= 1
