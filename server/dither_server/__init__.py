"""The server of Dither: collections, tickets, answers and posteriors over HTTP."""
