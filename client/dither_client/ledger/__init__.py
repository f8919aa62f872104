"""The respondent's ledger: every ε spent, and every answer until the server has it.

`protocol.py` is what any ledger promises; `sqlite.py` keeps one in a file that processes share, `memory.py` in memory.

May import: `addresses`, `errors`, `mechanisms`, `strict_json`.
"""
