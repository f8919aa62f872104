"""The calls of the HTTP interface. They hold no SQL and no mathematics."""
