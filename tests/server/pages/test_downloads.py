"""The files that a collection's page has to save: they say what the API says."""

import io

import numpy as np
import pandas as pd
import pytest

from dither_client.tables.counts import COUNT_COLUMNS
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
