"""How a flow reaches a server: HTTP without cookies, through a relay too, deadlines, server-sent events.

May import: `addresses`, `errors`, `extras`, `oblivious`, `protocol`, `strict_json`.
"""
