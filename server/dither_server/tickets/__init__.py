"""Tickets: signed permissions to answer one question once, and the secrets that they are signed with.

May import: `clock`, `dither_client`, `errors`, `settings`.
"""
