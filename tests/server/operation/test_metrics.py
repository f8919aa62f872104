"""Metrics: what they say, who may read them, how many series there can be, and that all of it is documented."""

import re
import time

import pytest
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from dither_estimator.learning.learner import Learner
from dither_server.metrics import _LATENCY_BUCKETS, MAX_SERIES, Metrics
from testing.repository import DOCS
from testing.servers.defaults import ADMIN
from testing.servers.site import FakeClock, Site, open_site, problem

LABELS = {"call", "collection", "generation", "le", "outcome", "status"}


def exposed(site: Site) -> str:
    reply = site.client.get("/metrics", headers=ADMIN)
    assert reply.status_code == 200, reply.text
    return reply.text


def value(text: str, sample: str) -> float:
    [found] = re.findall(rf"^{re.escape(sample)} (\S+)$", text, flags=re.MULTILINE)
    return float(found)


def test_metrics_tell_operators_how_it_goes(any_site: Site) -> None:
    collection = any_site.create()
    batch = any_site.batch(collection, *((ticket, 0) for ticket in any_site.tickets(collection, 700)))
    assert batch.status_code == 200, batch.text
    any_site.learnt(collection, 700)
    any_site.client.get("/v1/missing")
    text = exposed(any_site)
    for line in (
        "dither_ready 1.0",
        'dither_answers_total{outcome="stored"} 700.0',
        "dither_tickets_total 700.0",
        "dither_commit_rows_sum 700.0",
        "dither_commit_seconds_count 1.0",
        "dither_unlearnt_answers 0.0",
        "dither_learning_lag_seconds 0.0",
        "dither_owned_collections 1.0",
        f'dither_collection_owner{{collection="{collection}"}} 1.0',
        f'dither_learnt_answers{{collection="{collection}"}} 700.0',
        'dither_request_seconds_count{call="respond_batch",status="200"} 1.0',
        'dither_request_seconds_count{call="none",status="404"} 1.0',
    ):
        assert line in text.splitlines(), line
    posterior = any_site.client.get(f"/v1/collections/{collection}/posterior", headers=ADMIN).json()
    assert value(text, f'dither_effective_sample_size{{collection="{collection}"}}') == posterior["ess"]
    assert value(text, "dither_particle_moves_total") == posterior["moves"] > 0
    assert 0 < value(text, "dither_particle_move_seconds_total") <= value(text, "dither_learning_seconds_sum") < 60


def test_times_of_requests_are_told_as_by_the_histogram_of_the_library() -> None:
    registry, metrics = CollectorRegistry(), Metrics()
    theirs = Histogram("dither_request_seconds", "…", ("call", "status"), buckets=_LATENCY_BUCKETS, registry=registry)
    at_the_bounds = [bound * factor for bound in _LATENCY_BUCKETS for factor in (0.999, 1, 1.001)]
    for call, status, times in (("respond", 201, at_the_bounds), ("respond", 409, [0, 99]), ("none", 404, [0.02])):
        for seconds in times:
            metrics.requested(call, status, seconds)
            theirs.labels(call, str(status)).observe(seconds)

    def samples(text: str) -> list[str]:
        return sorted(line for line in text.splitlines() if re.match("dither_request_seconds_(bucket|count|sum)", line))

    assert samples(metrics.exposition(True).decode()) == samples(generate_latest(registry).decode()) != []


def test_the_width_is_that_of_the_questions(site: Site) -> None:
    collection = site.create(policy="fixed:10:35", levels=1)
    site.ticket(collection)
    query = site.client.post(f"/v1/collections/{collection}/tickets").json()["query"]
    assert query["levels"] == 1
    assert value(exposed(site), f'dither_question_width{{collection="{collection}"}}') == 0  # one cut, at the middle
    wide = site.create(mechanism="randomized_response", epsilon=1)
    tickets = site.client.post(f"/v1/collections/{wide}/tickets", json={"count": 2_000}).json()["tickets"]
    cuts = [cut for item in tickets for cut in item["query"]["cuts"]]
    width = value(exposed(site), f'dither_question_width{{collection="{wide}"}}')
    assert width == max(cuts) - min(cuts) > 0


def test_answers_that_are_not_learnt_are_the_lag(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = site.create()
    site.ticket(collection)
    with monkeypatch.context() as patch:
        patch.setattr(Learner, "learn_counts", lambda *_: 1 / 0)
        tickets, began = site.tickets(collection, 7), time.monotonic()
        site.batch(collection, *((ticket, 0) for ticket in tickets))
        time.sleep(0.05)
        text = exposed(site)
        assert value(text, "dither_unlearnt_answers") == 7
        assert 0.05 <= value(text, "dither_learning_lag_seconds") <= time.monotonic() - began
    site.respond(collection, site.ticket(collection))
    site.learnt(collection, 8)
    text = exposed(site)
    assert value(text, "dither_unlearnt_answers") == 0
    assert value(text, "dither_learning_lag_seconds") == 0


def test_answers_that_come_while_the_learner_is_at_work_wait_from_then_on() -> None:
    clock = FakeClock()
    metrics = Metrics(clock)
    metrics.holds({3: "c"})
    metrics.unlearnt({3: 10})
    clock.now += 1
    began = metrics.learning(3)
    metrics.unlearnt({3: 4})
    clock.now += 1
    metrics.learnt("c", 3, began, 10, 1.0, 1.0)
    text = metrics.exposition(ready=True).decode()
    assert value(text, "dither_unlearnt_answers") == 4
    assert value(text, "dither_learning_lag_seconds") == 1


def test_a_collection_that_another_process_takes_over_has_no_series_and_no_lag() -> None:
    metrics = Metrics()
    metrics.holds({0: "mine", 1: "theirs"})
    for number, name in enumerate(("mine", "theirs")):
        metrics.learnt(name, number, metrics.learning(number), 5, 1.0, 1.0)
    metrics.unlearnt({1: 7})
    metrics.holds({0: "mine"})
    text = metrics.exposition(ready=True).decode()
    assert value(text, "dither_owned_collections") == 1
    assert value(text, "dither_unlearnt_answers") == 0
    assert 'collection="mine"' in text
    assert "theirs" not in text


def test_many_collections_do_not_make_many_series() -> None:
    metrics = Metrics()
    metrics.holds({number: f"c{number}" for number in range(10 * MAX_SERIES)})
    for number in range(10 * MAX_SERIES):
        metrics.learnt(f"c{number}", number, metrics.learning(number), 1, 1.0, 1.0)
    text = metrics.exposition(ready=True).decode()
    assert value(text, "dither_owned_collections") == 10 * MAX_SERIES
    shown = set(re.findall(r'dither_learnt_answers\{collection="(\w+)"\}', text))
    assert shown == {f"c{number}" for number in range(9 * MAX_SERIES, 10 * MAX_SERIES)}


def test_labels_are_few_whatever_is_asked(site: Site) -> None:
    for n in range(30):
        site.client.get(f"/v1/zebra{n}")
        site.client.request("BREW", f"/v1/collections/zebra{n}")
        site.client.post(f"/v1/collections/zebra{n}/tickets")
    text = exposed(site)
    assert "zebra" not in text
    assert set(re.findall(r'[{,](\w+)="', text)) <= LABELS
    assert text.count("dither_request_seconds_count") <= 5


def test_metrics_are_for_their_token_and_for_admins(sqlite_url: str) -> None:
    with open_site(sqlite_url, metrics_token="token-of-prometheus") as site:
        for token in ("token-of-prometheus", "the-admin-token"):
            reply = site.client.get("/metrics", headers={"Authorization": f"Bearer {token}"})
            assert reply.status_code == 200
            assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
        for token in ("", "token-of-prometheu", "token-of-prometheus2", "tökën"):
            reply = site.client.get("/metrics", headers=[(b"authorization", f"Bearer {token}".encode())])
            assert problem(reply) == (401, "unauthorized")
        assert problem(site.client.get("/metrics")) == (401, "unauthorized")
        basic = site.client.get("/metrics", headers={"Authorization": "Basic token-of-prometheus"})
        assert problem(basic) == (401, "unauthorized")
        analyst = site.client.post("/v1/tokens", json={"role": "analyst"}, headers=ADMIN).json()["token"]
        reply = site.client.get("/metrics", headers={"Authorization": f"Bearer {analyst}"})
        assert problem(reply) == (403, "forbidden")
        # It reads metrics, and that is all.
        reply = site.client.get("/v1/tokens", headers={"Authorization": "Bearer token-of-prometheus"})
        assert problem(reply) == (401, "unauthorized")


def test_without_a_token_of_their_own_metrics_are_for_admins_alone(site: Site) -> None:
    assert problem(site.client.get("/metrics")) == (401, "unauthorized")
    assert site.client.get("/metrics", headers=ADMIN).status_code == 200


def test_one_setting_opens_the_metrics(sqlite_url: str) -> None:
    with open_site(sqlite_url, public_metrics=True) as site:
        assert site.client.get("/metrics").status_code == 200


def test_every_metric_is_documented_with_its_kind_and_labels(site: Site) -> None:
    collection = site.create()
    site.respond(collection, site.ticket(collection))
    site.learnt(collection, 1)
    exposed(site)
    kinds: dict[str, str] = {}
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(exposed(site)):
        if not family.name.startswith("dither_"):
            assert family.name.startswith(("process_", "python_gc_")), family.name
            continue
        name = f"{family.name}_total" if family.type == "counter" else family.name
        if name.endswith("_created"):
            continue
        assert family.documentation.endswith("."), name
        kinds[name] = family.type
        labels[name] = {label for sample in family.samples for label in sample.labels} - {"le"}
    section = (DOCS / "operators.md").read_text().partition("\n### Metrics\n")[2].partition("\n#")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `dither_")]
    documented = {
        re.findall(r"`(\w+)`", row[0])[0]: (row[1].strip(), set(re.findall(r"`(\w+)`", row[2]))) for row in rows
    }
    assert {name: kind for name, (kind, _) in documented.items()} == kinds
    assert {name: written for name, (_, written) in documented.items()} == labels
