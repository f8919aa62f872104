"""Run by `peer_particles.py` in a virtual environment of its own: IBIS of the package `particles` on given answers.

Reads an archive of thresholds and answers, each of shape (runs, n), and of medians, (runs, 2), and prints one JSON line
for each run: seconds, posterior means, and shares of the posterior below the medians. 1,000 particles, random-walk
Metropolis steps, resampling at half the effective sample size. Moves are `standard`, the last states of 1,000 chains,
or `waste-free`, all states of 125 (Dau & Chopin 2022); both as the package has them. With `answers` the package
computes the likelihood of everything seen so far itself, answer by answer; with `counts` the model computes it from
counts by threshold, as Dither does.
"""

import json
import sys
import time

import numpy as np
import particles
from particles import distributions as dists
from particles import smc_samplers as ssp
from scipy.special import ndtr


class Answers(ssp.StaticModel):
    """Randomised response at ε = 1 on the side of a threshold, for a normal population."""

    low, high = 1 / (1 + np.e), np.e / (1 + np.e)

    def __init__(self, cuts, answers, prior):
        super().__init__(data=answers, prior=prior)
        self.cuts = cuts

    def _above(self, theta, cuts):
        below = ndtr((cuts - theta["mu"][..., None]) / np.exp(theta["log_sigma"])[..., None])
        return self.high + (self.low - self.high) * below

    def logpyt(self, theta, t):
        above = self._above(theta, self.cuts[t : t + 1])[:, 0]
        return np.log(above if self.data[t] else 1 - above)


class Counts(Answers):
    """The same model with the likelihood of a table."""

    def __init__(self, cuts, answers, prior):
        super().__init__(cuts, answers, prior)
        self.unique, self.index = np.unique(cuts, return_inverse=True)

    def loglik(self, theta, t=None):
        seen = slice(0, self.T if t is None else t + 1)
        n = len(self.unique)
        ones = np.bincount(self.index[seen], weights=self.data[seen], minlength=n)
        zeros = np.bincount(self.index[seen], minlength=n) - ones
        asked = ones + zeros > 0
        above = self._above(theta, self.unique[asked])
        return np.log(above) @ ones[asked] + np.log1p(-above) @ zeros[asked]


class LogScale(dists.ProbDist):
    """log σ when σ² is inverse gamma (1, 1)."""

    def logpdf(self, x):
        return np.log(2) - 2 * x - np.exp(-2 * x)

    def rvs(self, size=None):
        return -0.5 * np.log(np.random.gamma(1.0, 1.0, size=size))


MODELS = {"answers": Answers, "counts": Counts}
MOVES = {"standard": (1_000, 4), "waste-free": (125, 8)}
"""How many chains, and their length: one more than their Metropolis steps."""


def run(model, moves):
    chains, length = MOVES[moves]
    fk = ssp.IBIS(model, wastefree=moves == "waste-free", len_chain=length)
    smc = particles.SMC(fk=fk, N=chains, ESSrmin=0.5)
    smc.run()
    return smc.W, np.column_stack([smc.X.theta["mu"], np.exp(smc.X.theta["log_sigma"])])


def main():
    archive, given, moves, runs = np.load(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    prior = dists.StructDist({"mu": dists.Normal(scale=100.0), "log_sigma": LogScale()})
    # The package compiles a part of itself on first use, for half a second: neither side's time has its first run.
    run(MODELS[given](archive["cuts"][0, :200], archive["answers"][0, :200], prior), moves)
    for seed in range(runs):
        np.random.seed(seed)
        model = MODELS[given](archive["cuts"][seed], archive["answers"][seed], prior)
        began = time.process_time()
        weights, theta = run(model, moves)
        figures = [*(weights @ theta), *(weights @ (theta < archive["medians"][seed]))]
        print(json.dumps({"seconds": time.process_time() - began, "figures": figures}), flush=True)


main()
