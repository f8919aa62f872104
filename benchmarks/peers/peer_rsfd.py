"""Run by `several_numbers.py` in a virtual environment of its own: two numbers by the package `multi-freq-ldpy`.

Reads an archive of cells, a row for each run with a pair of cells for each person, and prints for each run how often
each pair of cells was reported: with ε split in halves, and by random sampling plus fake data.
"""

import json
import sys

import numpy as np
from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_GRR_Client
from multi_freq_ldpy.mdim_freq_est.SPL_solution import SPL_GRR_Client
from numba import njit


@njit
def seed_compiled(seed):
    np.random.seed(seed)


archive = np.load(sys.argv[1])
count, epsilon = int(archive["count"]), float(archive["epsilon"])
np.random.seed(1)
seed_compiled(1)
found = {"splitting": [], "RS+FD": []}
for run in archive["cells"].tolist():
    for name, client in (("splitting", SPL_GRR_Client), ("RS+FD", RSpFD_GRR_Client)):
        reports = np.array([client(pair, [count, count], 2, epsilon) for pair in run])
        table = np.zeros((count, count), dtype=int)
        np.add.at(table, tuple(reports.T), 1)
        found[name].append(table.tolist())
print(json.dumps(found))
