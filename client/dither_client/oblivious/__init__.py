"""Oblivious HTTP (RFC 9458), for the respondent's side and the server's: binary HTTP messages, and their encapsulation.

The encapsulation needs the extra `relay`, which is imported when it is first used.

May import: nothing.
"""
