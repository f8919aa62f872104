"""How an answer is stored: once, for good, before anyone is told so.

`rules.py` says what an answer needs and in which order it is checked, `sql.py` says the same in SQL for batches,
`closing.py` says for both when a collection takes none, and `writer.py` is the one thread that commits.

May import: `database`, `errors`, `metrics`, `tickets`.
"""
