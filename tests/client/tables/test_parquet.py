"""Reading Parquet files leaves nothing behind that Python would have to end."""

import subprocess
import sys
from pathlib import Path

import pytest

from dither_client.tables.counts import counts_rows, write_table
from tests.client.tables.test_tables import COUNTS

READ = """
import os, sys
from pathlib import Path
from pyarrow import parquet
from dither_client.tables.counts import read_table
from dither_client.tables.values import read_column

before = len(os.listdir("/proc/self/task"))
path = Path(sys.argv[1])
{read}
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
@pytest.mark.parametrize("read", ["read_table(path)", "read_column(path, 'count')", "parquet.read_table(path)"])
def test_no_thread_outlives_the_reading(tmp_path: Path, read: str) -> None:
    """Such a thread aborts the process now and then when Python ends; Arrow's own default starts some."""
    path = tmp_path / "counts.parquet"
    write_table(path, counts_rows(COUNTS))
    run = [sys.executable, "-c", READ.format(read=read), str(path)]
    started = int(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
    assert (started > 0) == (read == "parquet.read_table(path)")
