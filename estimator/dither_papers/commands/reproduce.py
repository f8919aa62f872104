"""Repeat an experiment of one of the papers, with Dither's results on the same task."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress

from dither_client.commands._shared import Json, console, fail, print_json, print_table
from dither_papers.commands._findings_files import Made, shown, write_findings
from dither_papers.commands._kept_runs import KeptRuns
from dither_papers.studies.catalogue import find_study, studies
from dither_papers.studies.code_version import code_version
from dither_papers.studies.runner import key_of, run_study
from dither_papers.studies.study import Findings, Run, RunResult, Study, StudyError

__all__ = ["app"]

EXTRA = "papers"

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class _Where:
    """How many runs at a time on this machine, or the scheduler of those that do them."""

    jobs: int
    scheduler: str | None


_ALL = "all"
_FULL = "full"


@app.command()
def reproduce(
    name: Annotated[str | None, typer.Argument(help="A study of --list, or all.", show_default=False)] = None,
    runs: Annotated[
        str | None, typer.Option(help="Runs of each cell, or full: the paper's.", show_default="a few")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for tables, figures and finished runs.")] = Path("reproduced"),
    seed: Annotated[int, typer.Option(min=0, help="The same seed, the same results.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Runs at a time.", show_default="one for each core")] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="A Dask scheduler whose workers do the runs, such as tcp://10.0.0.1:8786; the numbers are the same.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="A file of real data, for a study that takes one.", show_default=False)
    ] = None,
    list_studies: Annotated[bool, typer.Option("--list", help="List the studies and exit.")] = False,
    as_json: Json = False,
) -> None:
    """Repeat an experiment of one of the papers: a table, a figure, and the paper's result beside the one found here.

    Finished runs are kept in --out, so an interrupted study, or one run with fewer --runs, continues where it stopped.

    For example: dither reproduce ubapp-figure-4 --out results
    """
    if list_studies:
        _print_list(as_json)
        return
    if name is None:
        fail("name a study, or all; see dither reproduce --list", 2)
    chosen = studies if name == _ALL else (find_study(name),)
    if data is not None:
        chosen = (_on_data(chosen, data),)
    if runs == _FULL:
        chosen = tuple(study.in_full() for study in chosen)
    numbers = [_number_of_runs(study, runs) for study in chosen]
    objects = [
        _reproduce(
            study, number, runs or str(number), out, seed, _Where(-1 if jobs is None else jobs, scheduler), as_json
        )
        for study, number in zip(chosen, numbers, strict=True)
    ]
    if as_json:
        print_json({"studies": objects} if name == _ALL else objects[0])


def _on_data(chosen: Sequence[Study], data: Path) -> Study:
    if len(chosen) != 1 or chosen[0].with_data is None:
        takes = ", ".join(study.name for study in studies if study.with_data is not None)
        raise StudyError(f"data is for one of the studies that take a file: {takes}")
    try:
        return chosen[0].with_data(data.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise StudyError(f"{data} is not in UTF-8: save it as CSV in UTF-8") from None


def _number_of_runs(study: Study, runs: str | None) -> int:
    if runs is None:
        return study.runs
    if runs == _FULL:
        return study.full_runs
    if not runs.isascii() or not runs.isdigit() or not 0 < int(runs) <= 1_000_000:
        raise StudyError("runs must be a whole number from 1 to 1,000,000, or full")
    return int(runs)


def _reproduce(study: Study, runs: int, asked: str, out: Path, seed: int, where: _Where, quiet: bool) -> dict[str, Any]:
    (out / "runs").mkdir(parents=True, exist_ok=True)
    kept = KeptRuns(out / "runs" / f"{study.name}.jsonl", seed, code_version(study.run))
    findings = _run(study, runs, seed, where, kept)
    files = write_findings(study, findings, Made(runs, asked, seed, kept.code), out)
    if not quiet:
        _print(study, findings, list(files.values()))
    return {
        "study": study.name,
        "paper": study.paper,
        "reproduces": study.reproduces,
        "runs": runs,
        "seed": seed,
        "code": kept.code,
        "rows": findings.rows,
        "sentence": findings.sentence,
        "files": {kind: str(file) for kind, file in files.items()},
    }


def _run(study: Study, runs: int, seed: int, where: _Where, kept: KeptRuns) -> Findings:
    wanted = study.all_runs(runs)
    done = sum(key_of(run) in kept.results for run in wanted)
    if done < len(wanted):
        kept.check_present()
    with Progress(console=console) as progress:
        task = progress.add_task(study.name, total=len(wanted), completed=done)

        def finished(run: Run, result: RunResult) -> None:
            kept.add(run, result)
            progress.advance(task)

        results = run_study(study, runs, seed, where.jobs, kept.results, finished, where.scheduler)
    return study.summarise(results)


def _print(study: Study, findings: Findings, files: Sequence[Path]) -> None:
    typer.echo(f"{study.paper}: {study.reproduces}\n")
    print_table(list(findings.rows[0]), [[shown(value) for value in row.values()] for row in findings.rows])
    typer.echo(f"\n{findings.sentence}\n\nwritten: {', '.join(map(str, files))}\n")


def _print_list(as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "studies": [
                    {
                        "study": study.name,
                        "paper": study.paper,
                        "reproduces": study.reproduces,
                        "runs": study.runs,
                        "full_runs": study.full_runs,
                    }
                    for study in studies
                ]
            }
        )
        return
    print_table(
        ["study", "paper", "reproduces", "runs", "full"],
        [(study.name, study.paper, study.reproduces, study.runs, study.full_runs) for study in studies],
    )
