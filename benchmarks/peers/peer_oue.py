"""Run by `peer_histogram.py` in a virtual environment of its own: optimised unary encoding of the package `pure-ldp`.

Reads an archive of bins, a row for each run and a bin for each person, and prints the estimated shares of the bins, a
list for each run. Estimates are projected on the probabilities, by the package itself.
"""

import json
import random
import sys

import numpy as np
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

archive = np.load(sys.argv[1])
count, epsilon = int(archive["count"]), float(archive["epsilon"])
random.seed(1)
np.random.seed(1)
client = UEClient(epsilon=epsilon, d=count, use_oue=True)
shares = []
for run in archive["bins"].tolist():
    server = UEServer(epsilon=epsilon, d=count, use_oue=True)
    for number in run:
        server.aggregate(client.privatise(number + 1))
    estimates = server.estimate_all(range(1, count + 1), suppress_warnings=True, normalization=2)
    shares.append((estimates / len(run)).tolist())
print(json.dumps(shares))
