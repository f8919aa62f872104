"""The files that a collection's page has to save: they say what the API says."""

import io
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dither_client.tables.counts import COUNT_COLUMNS
from dither_server.pages import exports, tables
from testing.patience import until
from testing.servers.pages import answered, sign_in
from testing.servers.site import Site


def test_what_is_saved_is_the_count_table_and_the_history(site: Site) -> None:
    sign_in(site)
    collection = answered(site)
    path = f"/collections/{collection}/export"
    as_csv = site.client.get(f"{path}/counts.csv")
    assert as_csv.headers["content-disposition"] == f'attachment; filename="{collection}-counts.csv"'
    table = pd.read_csv(io.BytesIO(as_csv.content))
    assert tuple(table.columns) == COUNT_COLUMNS
    assert table["count"].sum() == 60
    same = pd.read_parquet(io.BytesIO(site.client.get(f"{path}/counts.parquet").content))
    assert same["count"].tolist() == table["count"].tolist()
    rows = pd.read_csv(io.BytesIO(site.client.get(f"{path}/history.csv").content))
    history = site.client.get(f"/v1/collections/{collection}/posterior/history").json()["history"]
    assert rows["answers"].tolist() == [item["answers"] for item in history]
    assert rows["mu_q95"].tolist() == [item["posterior"]["mu"]["q95"] for item in history]
    assert site.client.get(f"{path}/answers.csv").status_code == 422


def test_the_history_of_logarithms_is_that_of_the_median(site: Site) -> None:
    sign_in(site)
    collection = answered(site, transform="log", range=[1, 1000])
    rows = pd.read_csv(io.BytesIO(site.client.get(f"/collections/{collection}/export/history.csv").content))
    assert list(rows) == [
        "answers",
        "at",
        "ess",
        *(f"quantile_0.5_q{level}" for level in ("05", "25", "50", "75", "95")),
    ]
    history = site.client.get(f"/v1/collections/{collection}/posterior/history").json()["history"]
    logarithms = np.array([item["posterior"]["mu"]["q25"] for item in history])
    told = np.where(logarithms < 700, np.exp(np.minimum(logarithms, 700)), np.nan)  # what floating point cannot hold
    assert rows["quantile_0.5_q25"].to_numpy() == pytest.approx(told, nan_ok=True)


def test_the_population_is_downloaded_with_its_unit_and_what_it_rests_on(site: Site) -> None:
    sign_in(site)
    collection = answered(site, unit="€")
    rows = pd.read_csv(io.BytesIO(site.client.get(f"/collections/{collection}/export/population.csv").content))
    assert set(rows["unit"]) == {"€"}
    assert set(rows["rests_on"]) == {
        "This rests on 60 answers at ε = 1, and holds if the values follow a normal distribution."
    }


def test_numbers_that_go_together_are_downloaded_in_either_format(site: Site) -> None:
    parts = [{"name": "wage", "family": "normal", "unit": "€"}, {"name": "age", "family": "normal"}]
    collection = site.create(family=None, range=None, visibility="public", components=parts)
    path = f"/collections/{collection}/export/population"
    by_csv, by_parquet = (io.BytesIO(site.client.get(f"{path}.{end}").content) for end in ("csv", "parquet"))
    rows = pd.read_parquet(by_parquet)
    assert set(rows["component"]) == {"wage", "age", ""}
    assert list(pd.read_csv(by_csv, keep_default_na=False)["component"]) == list(rows["component"])


WHOLE = ["what", "of", "mean", "sd", "q05", "q25", "q50", "q75", "q95", "unit", "rests_on"]


def answered_by_groups(site: Site, **fields: Any) -> str:
    """A public collection with answers of two regions, 12 and 8, and of a third none."""
    labels = ["north", "=1+1", "west"]
    collection = site.create(**fields, groups={"name": "region", "labels": labels}, visibility="public", unit="€")
    for label, count in (("north", 12), ("=1+1", 8)):
        reply = site.client.post(f"/v1/collections/{collection}/tickets", json={"count": count, "group": label})
        site.batch(collection, *((each["ticket"], i % 2) for i, each in enumerate(reply.json()["tickets"])))
    site.learnt(collection, 20)
    return collection


def test_groups_are_downloaded_with_a_row_for_each_of_their_numbers(site: Site) -> None:
    collection = answered_by_groups(site, goal={"above": [60]}, range=[0, 100])
    path = f"/collections/{collection}/export"
    as_csv = site.client.get(f"{path}/groups.csv")
    assert as_csv.headers["content-disposition"] == f'attachment; filename="{collection}-groups.csv"'
    rows = pd.read_csv(io.BytesIO(as_csv.content), dtype={"of": str}, keep_default_na=False)
    assert list(rows) == ["group", "answers", *WHOLE]
    assert dict(zip(rows["group"], rows["answers"], strict=True)) == {"north": 12, "'=1+1": 8, "west": 0}
    groups = site.client.get(f"/v1{path.removesuffix('/export')}/posterior").json()["groups"]
    told = [
        (what, level and f"{float(level):g}", *summary.values())
        for group in groups.values()
        for what, summaries in (
            ("quantile", group["quantiles"]),
            ("mean", {"": group["mean_value"]}),
            ("share_above", group["above"]),
        )
        for level, summary in summaries.items()
    ]
    assert len(told) == 3 * 9
    assert [tuple(row) for row in rows[WHOLE[:-2]].itertuples(index=False)] == told
    assert set(rows["unit"][rows["what"] != "share_above"]) == {"€"}
    assert set(rows["unit"][rows["what"] == "share_above"]) == {""}
    assert set(rows["rests_on"]) == {
        "This rests on 20 answers at ε = 1 of all groups, which borrow from each other, and holds if the values in "
        "each group follow a normal distribution."
    }
    same = pd.read_parquet(io.BytesIO(site.client.get(f"{path}/groups.parquet").content))
    assert list(same) == list(rows)
    assert same["group"].tolist() == [label for label in groups for _ in range(9)]
    assert same["q50"].tolist() == rows["q50"].tolist()
    assert list(pd.read_csv(io.BytesIO(site.client.get(f"{path}/population.csv").content))) == WHOLE


def test_groups_that_are_estimated_alone_say_so(site: Site) -> None:
    collection = answered_by_groups(site, family="nonparametric")
    rows = pd.read_csv(io.BytesIO(site.client.get(f"/collections/{collection}/export/groups.csv").content))
    smooth = "The distribution may have any shape that is fairly smooth."
    assert dict(zip(rows["group"], rows["rests_on"], strict=True)) == {
        "north": f"This rests on 12 answers of this group alone. {smooth}",
        "'=1+1": f"This rests on 8 answers of this group alone. {smooth}",
        "west": "Before any answer this is only what was assumed.",
    }


@pytest.mark.parametrize(
    ("fields", "assumed"),
    [
        ({}, ", and holds if the values of each week follow a normal distribution."),
        ({"drift": True}, ", and holds if the values of each week follow a normal distribution."),
        ({"family": "bernoulli", "range": None}, ", and on no assumption about the share."),
    ],
)
def test_periods_are_downloaded_with_what_all_of_them_rest_on(site: Site, fields: dict[str, Any], assumed: str) -> None:
    """The population's sentence is, with drift, about the newest period alone."""
    collection = site.create(period="week", visibility="public", **fields)
    path = f"/collections/{collection}/export/periods.csv"
    before = pd.read_csv(io.BytesIO(site.client.get(path).content))
    assert (list(before), len(before)) == (["period", "answers", *WHOLE], 0)
    for _ in range(2):
        site.batch(collection, *((ticket, i % 2) for i, ticket in enumerate(site.tickets(collection, 10))))
        site.clock.now += 14 * 86_400
    periods = site.learnt(collection, 20)["periods"]
    rows = pd.read_csv(io.BytesIO(site.client.get(path).content))
    assert len(periods) == 3
    assert rows["period"].unique().tolist() == list(periods)
    assert rows.groupby("period")["answers"].first().tolist() == [10, 0, 10]
    means = rows[rows["what"] == "mean"]["mean"].tolist()
    assert means == [each["mean_value"]["mean"] for each in periods.values()]
    assert set(rows["rests_on"]) == {
        f"This rests on 20 answers at ε = 1 of all weeks, which borrow from each other{assumed}"
    }


def test_without_groups_or_periods_there_is_no_table_of_them_and_no_link(site: Site) -> None:
    plain = site.create(visibility="public")
    for parts in ("groups", "periods"):
        for ending in ("csv", "parquet"):
            refused = site.client.get(f"/collections/{plain}/export/{parts}.{ending}")
            assert (refused.status_code, refused.json()["detail"]) == (404, f"This collection has no {parts}.")
    private = site.create(groups={"name": "region", "labels": ["north", "south"]})
    assert site.client.get(f"/collections/{private}/export/groups.csv").status_code == 401
    regions = site.create(groups={"name": "region", "labels": ["north", "south"]}, visibility="public")
    weeks = site.create(period="week", visibility="public")
    for collection, linked in ((plain, set()), (regions, {"groups"}), (weeks, {"periods"})):
        page = site.client.get(f"/collections/{collection}").text
        assert {parts for parts in ("groups", "periods") if f"/export/{parts}.csv" in page} == linked


def test_tables_are_written_once_until_they_change(any_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever downloads them: anybody may, of a public collection."""
    written = []
    write = exports._written

    def count(*given: Any) -> bytes:
        written.append(given[1])
        return write(*given)

    monkeypatch.setattr(exports, "_written", count)
    collection = any_site.create(visibility="public")
    other = any_site.create(visibility="public", unit="€")
    names = ["population.csv", "population.parquet", "counts.csv", "history.csv"]

    def read(which: str = collection) -> dict[str, bytes]:
        return {name: any_site.client.get(f"/collections/{which}/export/{name}").content for name in names}

    def answer(sent: int, more: int) -> None:
        any_site.answer_in_turns(collection, more)
        any_site.learnt(collection, sent + more)
        any_site.history(collection)

    answer(0, 40)
    until(lambda: any_site.history(collection)[-1]["answers"] == 40)
    first = read()
    assert read() == first
    assert written == names
    assert read(other) != first
    assert read() == first
    assert written == 2 * names
    answer(40, 40)
    until(lambda: any_site.history(collection)[-1]["answers"] == 80)
    until(lambda: any(first[name] != table for name, table in read().items()))
    newest = read()
    assert all(first[name] != newest[name] for name in names)
    assert pd.read_csv(io.BytesIO(newest["counts.csv"]))["count"].sum() == 80
    monkeypatch.setattr(tables, "_MOST_BYTES", 1)
    read()
    written.clear()
    assert (read(), read()) == (newest, newest)
    assert written == 2 * names


def test_the_table_of_500_groups_takes_well_below_a_second(site: Site) -> None:
    labels = [f"g{number}" for number in range(500)]
    collection = site.create(groups={"name": "region", "labels": labels}, visibility="public", range=[0, 100])
    path = f"/collections/{collection}/export"
    site.client.get(f"{path}/population.csv")  # it describes the groups, once for all who ask
    began = time.process_time()
    table = site.client.get(f"{path}/groups.csv").content
    taken = time.process_time() - began
    assert len(pd.read_csv(io.BytesIO(table))) == 500 * 8
    assert taken < 0.5
