"""Storing answers: once, permanently, and before anyone is told so.

`rules.py` has the checks of an answer and their order, `sql.py` the same in SQL for batches, `closing.py` for both when
a collection accepts none, and `writer.py` the one thread that commits.

May import: `database`, `errors`, `metrics`, `tickets`.
"""
