"""The respondent's ledger: every ε spent, and every answer until the server has it.

`protocol.py` defines what any ledger promises. `sqlite.py` keeps a ledger in a file that processes share, `memory.py`
keeps one in memory.

May import: `addresses`, `errors`, `mechanisms`, `strict_json`.
"""
