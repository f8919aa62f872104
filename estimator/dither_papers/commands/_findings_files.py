"""Writes a study's findings to files: the table with the sentence in Markdown, the table in CSV, and the figure."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from dither_papers.studies.study import Findings, Scalar, Study

__all__ = ["Made", "shown", "write_findings"]


def shown(value: Scalar) -> str:
    """Format a table's cell for display: four significant digits; integers in full."""
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else value
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


@dataclass(frozen=True)
class Made:
    """How findings were made."""

    runs: int
    asked: str
    """Option `--runs`."""
    seed: int
    code: str
    """The version of the code."""

    def caption(self, study: Study) -> str:
        """The number of runs beside that of the full study, and the version."""
        smaller = ", and the full study has larger cells" if study.larger else ""
        runs = f"runs: {self.runs:,}, in full {study.full_runs:,}{smaller}"
        return "; ".join(filter(None, (runs, study.sizes, f"code {self.code}")))


def write_findings(study: Study, findings: Findings, made: Made, folder: Path) -> Mapping[str, Path]:
    """Write NAME.md, NAME.csv and NAME.png and return them by kind. Raises `OSError`."""
    caption = made.caption(study)
    files = {"table": folder / f"{study.name}.md", "csv": folder / f"{study.name}.csv"}
    files["figure"] = folder / f"{study.name}.png"
    files["table"].write_text(_markdown(study, findings, made, caption), encoding="utf-8")
    with files["csv"].open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(findings.rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(findings.rows)
    figure = Figure(figsize=study.figure_size, dpi=130, layout="constrained", facecolor="white")
    findings.draw(figure)
    figure.supxlabel(caption, x=0.99, ha="right", fontsize=6, color="gray")
    figure.savefig(files["figure"])
    return files


def _markdown(study: Study, findings: Findings, made: Made, caption: str) -> str:
    columns = list(findings.rows[0])
    table = [columns, ["---"] * len(columns), *([shown(value) for value in row.values()] for row in findings.rows)]
    lines = "\n".join("| " + " | ".join(cells) + " |" for cells in table)
    return (
        f"# {study.name}\n\n{study.paper}: {study.reproduces}\n\n![{study.reproduces}]({study.name}.png)\n\n"
        f"{findings.sentence}\n\n{lines}\n\n"
        f"`dither reproduce {study.name} --runs {made.asked} --seed {made.seed}`, {caption}\n"
    )
