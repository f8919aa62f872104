"""Benchmarks whose runs the workers of a Dask scheduler do."""

import sys

import pytest
from distributed import Client, LocalCluster

import benchmarks.accuracy
import benchmarks.on_dask


@pytest.mark.long
def test_the_workers_of_a_scheduler_find_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["python"])
    monkeypatch.setattr(benchmarks.accuracy, "_EPSILONS", ("1",))
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        benchmarks.on_dask.main([cluster.scheduler_address, "accuracy", "2"])
        took_part = client.run(lambda: "benchmarks.accuracy" in sys.modules)
    on_workers = capsys.readouterr().out
    assert list(took_part.values()) == [True, True]
    benchmarks.accuracy.main(["2"])
    assert on_workers == capsys.readouterr().out
    assert "50" in on_workers
