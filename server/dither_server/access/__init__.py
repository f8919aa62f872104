"""Access control: tokens and roles, sessions, invitations, gateways, ticket keys, and rate limits.

May import: `answers`, `audit`, `clock`, `database`, `errors`, `settings`, `tickets`.
"""
