"""Random specifications with populations that they fit, how their posteriors are judged, and what of it stands out."""
