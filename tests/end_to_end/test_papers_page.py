"""docs/papers.md: it shows every study, with its figure, its table and what its results say."""

import csv
import re
from pathlib import Path

import pytest
from tests.end_to_end.reader import blocks

from dither_estimator.studies.catalogue import studies
from dither_estimator.studies.study import Study

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = (DOCS / "papers.md").read_text()


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


def test_the_example_releases_an_estimate() -> None:
    [code] = blocks("docs/papers.md", "python")
    names: dict[str, object] = {}
    exec(compile(code, "papers.md", "exec"), names)
    release = names["release"]
    assert getattr(release, "epsilon", 0) <= 1
    assert 0 <= getattr(release, "estimate", -1) <= 1
