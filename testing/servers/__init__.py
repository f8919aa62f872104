"""Real servers for tests: one process, several, behind proxies, or in the process of the test."""
