"""The posterior of a distribution without a family: a smooth density and declared points, from a count table alone.

`posterior` has the whole of it, `distribution` what it says about a population, `questions` what to ask next.

`support` says where values can lie, in which coordinate they are smooth, and which points many people have, `rounding`
which numbers are values where these have only so many decimals; `observations` are counts in that coordinate. `place`
finds where the population lies from few answers. Then `base` is the distribution that the population is compared with,
or `two_part_base` where some people are elsewhere, found by `fitting` where `base_posterior` is highest, and `heap`
finds a number that many people have. `deviations` has the prior of how the population differs; `likelihood` turns
counts into a function of masses; `approximation` finds where the posterior lies, `sampler` draws from it. `known` is a
population that is known, and `prospect` what answers of it will tell, beside the limit of any mechanism.

May import: `design`, `dither_client`, `families`, `likelihood`, `mechanisms`, `weighted`.
"""
