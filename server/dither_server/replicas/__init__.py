"""The processes that share a database: which are alive, and which of them learns which collection.

May import: `database`.
"""
