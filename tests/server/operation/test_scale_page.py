import csv
from pathlib import Path

import psycopg
import pytest

from dither_client.tables.counts import read_table
from testing.reader import blocks
from testing.servers.site import open_site


@pytest.mark.postgres
@pytest.mark.parametrize("mechanism", ["laplace", "randomized_response"])
def test_the_count_table_of_a_warehouse_is_what_the_server_counts(
    postgres_url: str, tmp_path: Path, mechanism: str
) -> None:
    *_, statement = blocks("docs/scale.md", "sql")
    with open_site(postgres_url) as site:
        collection = site.create(mechanism=mechanism)
        site.batch(collection, *((ticket, i % 2) for i, ticket in enumerate(site.tickets(collection, 40))))
        site.learnt(collection, 40)
        with psycopg.connect(postgres_url.replace("+psycopg", "")) as database:
            cursor = database.execute(statement.encode())
            assert cursor.description is not None
            with (tmp_path / "counts.csv").open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow([column.name for column in cursor.description])
                writer.writerows(cursor)
        found = {query.id: list(row) for query, row in read_table(tmp_path / "counts.csv").queries.items()}
        reply = site.client.get(f"/v1/collections/{collection}/queries", headers=site.admin).json()
        assert found == {item["id"]: item["counts"] for item in reply["queries"]}
        assert sum(map(sum, found.values())) == 40
