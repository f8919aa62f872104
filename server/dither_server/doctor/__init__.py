"""`dither doctor`: checks an installation and says what to fix. It changes nothing and creates no file.

May import: `database`, `dither_client`, `dither_migrations`, `errors`, `replicas`, `settings`, `tickets`.
"""
