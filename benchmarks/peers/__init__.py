"""Methods of others, written from their papers or run by their packages, that Dither is measured against."""
