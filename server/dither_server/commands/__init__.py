"""The commands that the server adds to `dither`.

May import: `dither_client`, `dither_estimator`, `doctor`, `errors`, `serving`, `settings`, `simulate`.
"""
