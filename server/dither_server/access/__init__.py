"""Who may do what: tokens and roles, sessions, invitations, gateways, ticket keys, and limits of rates.

May import: `answers`, `audit`, `clock`, `database`, `errors`, `settings`, `tickets`.
"""
