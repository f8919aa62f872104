"""Tickets, which are signed permissions to answer one question once, and the keys that sign them.

May import: `clock`, `dither_client`, `errors`, `settings`.
"""
