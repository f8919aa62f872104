"""A real browser: Chromium, a survey that it opens, and the accessibility rules that pages are held to."""
