"""Several numbers of one person: questions about their dependence, their limit, and the posterior of the dependence.

`normal_pairs` has the probabilities of a Gaussian copula; `questions` what is asked about pairs and triples; `normals`
the population for which questions are made, and `boxes` its probabilities in many dimensions. `limit` bounds every
mechanism, `cells_channel` has the best question about the cells of two numbers, `design` who is asked what.
`margins` has what is known of each number alone, `correlations` correlation matrices and their prior,
`joint_likelihood` the likelihood of answers, and `posterior` the particles of the margins and the correlations.

May import: `design`, `dither_client`, `families`, `likelihood`, `mechanisms`, `particles`, `weighted`.
"""
