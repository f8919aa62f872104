"""`dither doctor`: looks at an installation and says what to mend. It changes nothing and makes no file."""
