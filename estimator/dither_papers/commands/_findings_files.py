"""Writes a study's findings to files: the table with the sentence in Markdown, the table in CSV, and the figure."""

import csv
from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from dither_papers.studies.study import Findings, Scalar, Study

__all__ = ["shown", "write_findings"]


def shown(value: Scalar) -> str:
    """Format a table's cell for display: four significant digits; integers in full."""
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else value
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def write_findings(
    study: Study, findings: Findings, runs: int, asked: str, seed: int, folder: Path
) -> Mapping[str, Path]:
    """Write NAME.md, NAME.csv and NAME.png and return them by kind. `asked` is option `--runs`. Raises `OSError`."""
    smaller = ", which has larger cells, too" if study.larger else ""
    of = f"runs: {runs:,} of {study.full_runs:,} in full{smaller}"
    files = {"table": folder / f"{study.name}.md", "csv": folder / f"{study.name}.csv"}
    files["figure"] = folder / f"{study.name}.png"
    files["table"].write_text(_markdown(study, findings, of, asked, seed), encoding="utf-8")
    with files["csv"].open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(findings.rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(findings.rows)
    figure = Figure(figsize=study.figure_size, dpi=130, layout="constrained", facecolor="white")
    findings.draw(figure)
    figure.supxlabel(of, x=0.99, ha="right", fontsize=6, color="gray")
    figure.savefig(files["figure"])
    return files


def _markdown(study: Study, findings: Findings, of: str, asked: str, seed: int) -> str:
    columns = list(findings.rows[0])
    table = [columns, ["---"] * len(columns), *([shown(value) for value in row.values()] for row in findings.rows)]
    lines = "\n".join("| " + " | ".join(cells) + " |" for cells in table)
    return (
        f"# {study.name}\n\n{study.paper}: {study.reproduces}\n\n![{study.reproduces}]({study.name}.png)\n\n"
        f"{findings.sentence}\n\n{lines}\n\n"
        f"`dither reproduce {study.name} --runs {asked} --seed {seed}`, {of}\n"
    )
