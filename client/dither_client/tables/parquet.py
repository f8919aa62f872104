"""Tables in Parquet files. Needs the extra `tables`.

Arrow reads with no thread of its own: one that outlives the reading may abort the process when Python ends, after all
its work is done (github.com/apache/arrow/issues/34314).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dither_client.errors import InvalidTable
from dither_client.extras import require_extra

if TYPE_CHECKING:
    import pyarrow

__all__ = ["is_parquet", "read_parquet"]


def is_parquet(path: Path) -> bool:
    """Whether the path of a table ends in .parquet rather than .csv. Raises `InvalidTable` and `MissingExtra`."""
    ending = path.suffix.lower()
    if ending not in (".csv", ".parquet"):
        raise InvalidTable(f"{path.name} must end in .csv or .parquet")
    if ending == ".parquet":
        require_extra("tables", "pyarrow")
    return ending == ".parquet"


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> "pyarrow.Table":
    """Reads all columns of a file, or some. Raises `InvalidTable` and `OSError`."""
    import pyarrow
    from pyarrow import parquet

    try:
        with path.open("rb") as file:
            table = parquet.ParquetFile(file, pre_buffer=False)  # `parquet.read_table` would import pandas
            for column in columns or ():
                if column not in table.schema_arrow.names:
                    raise InvalidTable(f"{path.name} has no column {column}")
            return table.read(columns, use_threads=False)
    except pyarrow.ArrowException:
        raise InvalidTable(f"{path.name} is not a Parquet file") from None
