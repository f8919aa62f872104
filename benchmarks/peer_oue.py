"""Run by `peer_histogram.py` in a virtual environment of its own: optimised unary encoding of the package `pure-ldp`.

Reads an archive of bins, one a person, and prints the estimated share of each bin as one JSON list. Estimates are
projected on the probabilities, by the package itself.
"""

import json
import random
import sys

import numpy as np
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

archive = np.load(sys.argv[1])
bins, count, epsilon, seed = archive["bins"], int(archive["count"]), float(archive["epsilon"]), int(archive["seed"])
random.seed(seed)
np.random.seed(seed)
client = UEClient(epsilon=epsilon, d=count, use_oue=True)
server = UEServer(epsilon=epsilon, d=count, use_oue=True)
for number in bins.tolist():
    server.aggregate(client.privatise(number + 1))
estimates = server.estimate_all(range(1, count + 1), suppress_warnings=True, normalization=2)
print(json.dumps((estimates / len(bins)).tolist()))
