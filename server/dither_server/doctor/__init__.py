"""`dither doctor`: looks at an installation and says what to mend. It changes nothing and makes no file.

May import: `database`, `dither_client`, `dither_migrations`, `errors`, `replicas`, `settings`, `tickets`.
"""
