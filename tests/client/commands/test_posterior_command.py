"""`dither posterior` and `dither export`: what was learnt, in words and in files."""

import warnings
from pathlib import Path

import pandas
import pytest
from matplotlib.figure import Figure

from dither_client.mechanisms.registry import parse_query
from dither_client.posterior.plots import save_picture
from dither_client.posterior.wire import QUANTILES
from dither_client.tables.counts import read_table
from testing.command_line import Dither
from testing.servers.fake_server import LAPLACE, LAPLACE_ID, POSTERIOR, FakeServer


def test_posterior(dither: Dither, tmp_path: Path) -> None:
    assert dither("posterior", "laplace", "--json").json == POSTERIOR
    shown = dither("posterior", "laplace")
    basis = "  This rests on 1,234 answers at ε = 1, and holds if the values follow a normal distribution."
    assert shown.out.startswith(f"Posterior of laplace after 1,234 answers\n{basis}\n  mu ")
    assert shown.out.count("ε") == 1
    plotted = dither("posterior", "laplace", "--json", "--plot", tmp_path / "plot.svg")
    assert plotted.json == POSTERIOR
    assert (tmp_path / "plot.svg").read_text().startswith("<?xml")
    refused = dither("posterior", "laplace", "--plot", tmp_path / "plot.doc")
    assert refused.status == 2
    assert "doc" in refused.one_sentence()


SUMMARY = {"mean": 12.34, "sd": 0.02, "q05": 12.31, "q25": 12.33, "q50": 12.34, "q75": 12.35, "q95": 12.37}


BANDS = {name: [0.25 + 0.01 * i, 0.75] for i, name in enumerate(("mean", *QUANTILES))}


POPULATION = {
    "quantiles": {"0.1": SUMMARY, "0.5": SUMMARY, "0.9": SUMMARY},
    "mean_value": SUMMARY,
    "atoms": {"450.5": SUMMARY},
    "above": {"1000": SUMMARY},
    "distribution": {"x": [12.25, 12.5], "cdf": BANDS, "density": BANDS},
}


def test_a_picture_in_a_folder_that_is_missing_is_refused_before_the_server_is_asked(
    server: FakeServer, dither: Dither, tmp_path: Path
) -> None:
    asked = len(server.requests)
    refused = dither("posterior", "laplace", "--plot", tmp_path / "none" / "wages.png")
    assert refused.status == 2
    assert f"the folder {tmp_path / 'none'} does not exist: make it, or name another" in refused.one_sentence()
    assert len(server.requests) == asked


def test_a_sign_that_the_font_lacks_is_no_warning(tmp_path: Path) -> None:
    figure = Figure()
    figure.suptitle("Wages 🎉")
    with pytest.warns(UserWarning, match="Glyph"):
        figure.savefig(tmp_path / "warned.png")
    with warnings.catch_warnings(record=True) as told:
        save_picture(figure, tmp_path / "wages.png")
    assert told == []
    assert (tmp_path / "wages.png").exists()


def test_a_posterior_is_shown_in_the_surveys_unit(server: FakeServer, dither: Dither) -> None:
    path = "/v1/collections/laplace"
    server.refusals[f"{path}/posterior"] = (200, POSTERIOR | POPULATION)
    lines = dither("posterior", "laplace").out.splitlines()
    assert lines[1:13] == [
        "  Half of the people have 12.340 or less (90% sure: 12.310 to 12.370).",
        "  One in ten has 12.340 or less (12.310 to 12.370), and one in ten 12.340 or more (12.310 to 12.370).",
        "  The average is 12.340 (12.310 to 12.370).",
        "  1234.0% have exactly 450.5 (1231.0 to 1237.0%).",
        "  1234.0% have more than 1,000 (90% sure: 1231.0 to 1237.0%).",
        "  This rests on 1,234 answers at ε = 1, and holds if the values follow a normal distribution.",
        "  10% have at most   12.340  (90%: 12.310 to 12.370)",
        "  Half have at most  12.340  (90%: 12.310 to 12.370)",
        "  90% have at most   12.340  (90%: 12.310 to 12.370)",
        "  Average            12.340  (90%: 12.310 to 12.370)",
        "  mu                 50.0 ± 2  (90%: 46.7 to 53.3)",
        "  sigma              10.0 ± 1  (90%: 8.4 to 11.6)",
    ]
    assert "mu could be off by" in lines[13]
    terms = server.terms("laplace")
    server.refusals[path] = (200, terms | {"unit": "€", "period_of_value": "a week", "decimals": 1})
    lines = dither("posterior", "laplace").out.splitlines()
    assert [lines[1], lines[10]] == [
        "  Half of the people have 12.3 € a week or less (90% sure: 12.3 to 12.4).",
        "  Average            12.340 € a week  (90%: 12.310 to 12.370)",
    ]
    server.refusals[path] = (200, terms | {"transform": "log"})
    shown = dither("posterior", "laplace").out
    assert "holds if the values follow a lognormal distribution" in shown
    assert "the median could be off by 5.1%" in shown
    assert not {"mu", "sigma"} & set(shown.split())  # those of logarithms
    assert dither("posterior", "laplace", "--json").json == POSTERIOR | POPULATION


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_population_is_exported(server: FakeServer, dither: Dither, tmp_path: Path, ending: str) -> None:
    server.refusals["/v1/collections/laplace/posterior"] = (200, POSTERIOR | POPULATION)
    curve, numbers = tmp_path / f"curve.{ending}", tmp_path / f"numbers.{ending}"
    saved = dither("export", "laplace", "--distribution", curve, "--quantiles", numbers, "--json").json
    assert {name: one["rows"] for name, one in saved.items()} == {"distribution": 2, "quantiles": 6}
    read = pandas.read_csv if ending == "csv" else pandas.read_parquet
    points = read(curve)
    assert list(points) == ["x", *(f"{curve}_{part}" for curve in ("cdf", "density") for part in ("mean", *QUANTILES))]
    assert points["x"].tolist() == [12.25, 12.5]
    assert points["cdf_q95"].tolist() == BANDS["q95"]
    rows = read(numbers)
    assert rows["what"].tolist() == ["quantile"] * 3 + ["mean", "share_above", "share_at"]
    assert [float(of) for of in rows["of"] if of and of == of] == [0.1, 0.5, 0.9, 1000, 450.5]
    assert rows["q95"].tolist() == [SUMMARY["q95"]] * 6
    assert set(rows["rests_on"]) == {
        "This rests on 1,234 answers at ε = 1, and holds if the values follow a normal distribution."
    }


def test_tables_of_the_posterior_are_of_one_reading(server: FakeServer, dither: Dither, tmp_path: Path) -> None:
    server.refusals["/v1/collections/laplace/posterior"] = (200, POSTERIOR | POPULATION)
    files = ("--distribution", tmp_path / "curve.csv", "--quantiles", tmp_path / "numbers.csv")
    assert dither("export", "laplace", *files).status == 0
    assert len([request for request in server.requests if request.path.endswith("/posterior")]) == 1


@pytest.mark.parametrize(("below", "first"), [(0.0, 0.0), (0.1, -5e-324)])
def test_the_first_point_is_the_smallest_value(
    server: FakeServer, dither: Dither, tmp_path: Path, below: float, first: float
) -> None:
    """A jump is told by the share just before it, unless nobody is there."""
    heights = {name: [below, 0.3, 0.9] for name in ("mean", *QUANTILES)}
    jump = {"x": [-5e-324, 0.0, 9.5], "cdf": heights, "density": heights}
    server.refusals["/v1/collections/laplace/posterior"] = (200, POSTERIOR | POPULATION | {"distribution": jump})
    assert dither("export", "laplace", "--distribution", tmp_path / "curve.csv").status == 0
    points = [line.split(",") for line in (tmp_path / "curve.csv").read_text().splitlines()[1:]]
    assert float(points[0][0]) == first
    assert [float(mean) for _, mean, *_ in points][-2:] == [0.3, 0.9]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("parts", "basis"),
    [
        ("groups", "of all groups, which borrow from each other, and holds if the values in each group follow"),
        ("periods", "of all weeks, which borrow from each other, and holds if the values of each week follow"),
    ],
)
def test_groups_and_periods_are_exported_beside_the_population(
    server: FakeServer, dither: Dither, tmp_path: Path, parts: str, basis: str, ending: str
) -> None:
    own = {
        "posterior": {},
        "covariance": [],
        **{name: POPULATION[name] for name in ("quantiles", "mean_value", "above")},
    }
    borrowed = {"borrowed": {"mu": 0.5}} if parts == "groups" else {"start": "2026-02-09"}
    known = {parts: {"west": {"answers": 5, **borrowed, **own}, "-1": {"answers": 0, **borrowed, **own}}}
    server.refusals["/v1/collections/laplace/posterior"] = (200, POSTERIOR | POPULATION | known)
    server.refusals["/v1/collections/laplace"] = (200, server.terms("laplace") | {"unit": "€", "period": "week"})
    file, beside = tmp_path / f"wages.{ending}", tmp_path / f"wages-{parts}.{ending}"
    saved = dither("export", "laplace", "--quantiles", file, "--json").json
    assert saved == {"quantiles": {"file": str(file), "rows": 6}, parts: {"file": str(beside), "rows": 10}}
    assert len([request for request in server.requests if request.path.endswith("/posterior")]) == 1
    said = dither("export", "laplace", "--quantiles", file).err
    assert said == f"6 rows are in {file}.\n10 rows by {parts[:-1]} are in {beside}.\n"
    read = pandas.read_csv if ending == "csv" else pandas.read_parquet
    whole, rows = read(file), read(beside)
    assert list(rows) == [parts[:-1], "answers", *whole]
    assert rows[parts[:-1]].tolist() == ["west"] * 5 + ["-1"] * 5
    assert rows["answers"].tolist() == [5] * 5 + [0] * 5
    assert rows["what"].tolist() == [*["quantile"] * 3, "mean", "share_above"] * 2
    assert rows["q95"].tolist() == [SUMMARY["q95"]] * 10
    assert rows["unit"][:4].tolist() == ["€"] * 4
    assert set(rows["rests_on"]) == {f"This rests on 1,234 answers at ε = 1 {basis} a normal distribution."}


def test_groups_take_no_file_that_is_named_for_something_else(
    server: FakeServer, dither: Dither, tmp_path: Path
) -> None:
    taken = tmp_path / "wages-groups.csv"
    refused = dither("export", "laplace", "--quantiles", tmp_path / "wages.csv", "--counts", taken)
    assert refused.status == 2
    assert "wages-groups.csv is where --quantiles saves groups or periods: name another file" in refused.one_sentence()
    assert server.requests == []


def test_a_missing_folder_is_named_before_the_server_is_asked(server: FakeServer, dither: Dither) -> None:
    for option in ("counts", "parquet-by-day", "quantiles", "report", "everything"):
        ending = {"report": "/a.html", "everything": "/a.zip", "parquet-by-day": "/days"}.get(option, "/a.csv")
        refused = dither("export", "laplace", f"--{option}", f"/nowhere{ending}")
        assert refused.status == 2
        assert "the folder /nowhere does not exist: make it, or name another" in refused.one_sentence()
    assert server.requests == []


def test_several_numbers_are_exported_with_their_names(server: FakeServer, dither: Dither, tmp_path: Path) -> None:
    """And their correlation: a table without rows would say that nothing is known."""
    alone = {"answers": 5, "posterior": {}, "covariance": [], **POPULATION}
    several = {"components": {"wage": alone, "age": alone}, "correlations": {"wage,age": SUMMARY}, "regressions": {}}
    server.refusals["/v1/collections/laplace/posterior"] = (200, POSTERIOR | several)
    curve, numbers = tmp_path / "curve.csv", tmp_path / "numbers.csv"
    saved = dither("export", "laplace", "--distribution", curve, "--quantiles", numbers, "--json").json
    assert {name: one["rows"] for name, one in saved.items()} == {"distribution": 4, "quantiles": 13}
    assert pandas.read_csv(curve)["component"].tolist() == ["wage", "wage", "age", "age"]
    rows = pandas.read_csv(numbers)
    assert rows["component"].tolist()[:-1] == ["wage"] * 6 + ["age"] * 6
    assert rows[["what", "of", "q95"]].iloc[-1].tolist() == ["correlation", "wage,age", SUMMARY["q95"]]


def test_what_has_no_distribution_exports_nothing(server: FakeServer, dither: Dither, tmp_path: Path) -> None:
    counts = tmp_path / "counts.csv"
    asked = ("export", "laplace", "--counts", counts, "--distribution", tmp_path / "x.csv")
    refused = dither(*asked)
    assert refused.status == 1
    assert "the posterior is still too wide to have a distribution" in refused.one_sentence()
    server.refusals["/v1/collections/laplace"] = (200, server.terms("laplace") | {"categories": ["yes", "no"]})
    refused = dither(*asked)
    assert refused.status == 2
    assert "categories have no distribution: leave --distribution out" in refused.one_sentence()
    assert not counts.exists()


def test_a_posterior_of_several_epsilons(server: FakeServer, dither: Dither) -> None:
    reply = {**POSTERIOR, "answers_by_epsilon": {"0.5": 234, "2": 1000}}
    server.refusals["/v1/collections/laplace/posterior"] = (200, reply)
    assert dither("posterior", "laplace").out.endswith("\n  answers at ε = 0.5: 234, 2: 1,000\n")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_export(dither: Dither, tmp_path: Path, ending: str) -> None:
    files = {name: tmp_path / f"{name}.{ending}" for name in ("counts", "answers", "particles")}
    options = [part for name, file in files.items() for part in (f"--{name}", file)]
    saved = dither("export", "laplace", *options, "--json").json
    assert {name: one["rows"] for name, one in saved.items()} == {"counts": 8, "answers": 25, "particles": 4}
    assert [sum(counts) for counts in read_table(files["counts"]).queries.values()] == [15, 6]
    if ending == "csv":
        canonical = parse_query(LAPLACE).canonical.replace('"', '""')
        assert files["answers"].read_text().splitlines()[:2] == [
            "collection,ticket,query_id,query,purpose,answer,received_at",
            f'laplace,{0:032x},{LAPLACE_ID},"{canonical}",training,0,2026-01-01T00:00:00Z',
        ]
        assert files["particles"].read_text().splitlines()[:2] == ["mu,sigma,weight", "52.0,11.0,0.1"]


def test_export_of_hidden_counts(server: FakeServer, dither: Dither, tmp_path: Path) -> None:
    item = {"id": "a", "query": server.questions["laplace"], "answers": 3}
    server.refusals["/v1/collections/laplace/queries"] = (200, {"queries": [item]})
    shown = dither("export", "laplace", "--counts", tmp_path / "counts.csv")
    assert shown.status == 2
    assert "give an analyst's token with --token" in shown.one_sentence()
    assert list(tmp_path.iterdir()) == []
