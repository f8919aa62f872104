"""Several numbers of one person: questions about their dependence, and how near these come to the limit.

`normal_pairs` has the probabilities of a Gaussian copula; `questions` what is asked about pairs and triples; `normals`
the population for which questions are made, and `boxes` its probabilities in many dimensions. `limit` bounds every
mechanism, `cells_channel` has the best question about the cells of two numbers, `design` who is asked what.

May import: `design`, `dither_client`, `families`, `mechanisms`.
"""
