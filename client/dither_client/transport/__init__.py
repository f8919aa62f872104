"""How a flow reaches a server: HTTP without cookies, deadlines that cut a hanging connection, server-sent events.

May import: `addresses`, `errors`, `protocol`, `strict_json`.
"""
