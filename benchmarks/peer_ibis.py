"""Run by `peer_particles.py` in a virtual environment of its own: IBIS of the package `particles` on given answers.

Reads an archive of thresholds and answers, prints one JSON line for each length asked for. N = 1,000, three
random-walk Metropolis steps a move, resampling at half the effective sample size. With `answers` the package computes
the likelihood of everything seen so far itself, answer by answer; with `counts` the model computes it from counts by
threshold, as Dither does.
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
    """The same with the likelihood of a table."""

    def __init__(self, cuts, answers, prior):
        super().__init__(cuts, answers, prior)
        self.unique, self.index = np.unique(cuts, return_inverse=True)

    def loglik(self, theta, t=None):
        seen = slice(0, self.T if t is None else t + 1)
        n = len(self.unique)
        ones = np.bincount(self.index[seen], weights=self.data[seen], minlength=n)
        zeros = np.bincount(self.index[seen], minlength=n) - ones
        above = self._above(theta, self.unique)
        return np.log(above) @ ones + np.log1p(-above) @ zeros


class LogScale(dists.ProbDist):
    """log σ when σ² is inverse gamma (1, 1)."""

    def logpdf(self, x):
        return np.log(2) - 2 * x - np.exp(-2 * x)

    def rvs(self, size=None):
        return -0.5 * np.log(np.random.gamma(1.0, 1.0, size=size))


def main():
    archive, kind = np.load(sys.argv[1]), {"answers": Answers, "counts": Counts}[sys.argv[2]]
    prior = dists.StructDist({"mu": dists.Normal(scale=100.0), "log_sigma": LogScale()})
    for n in map(int, sys.argv[3:]):
        np.random.seed(1)
        model = kind(archive["cuts"][:n], archive["answers"][:n], prior)
        move = ssp.AdaptiveMCMCSequence(len_chain=4, adaptive=False)
        began = time.process_time()
        smc = particles.SMC(fk=ssp.IBIS(model, wastefree=False, move=move), N=1_000, ESSrmin=0.5)
        smc.run()
        seconds = time.process_time() - began
        weights, theta = smc.W, smc.X.theta
        values = {"mu": theta["mu"], "sigma": np.exp(theta["log_sigma"])}
        means = {name: float(weights @ x) for name, x in values.items()}
        sds = {name: float(np.sqrt(weights @ (x - means[name]) ** 2)) for name, x in values.items()}
        print(json.dumps({"n": n, "seconds": seconds, "mean": means, "sd": sds, "ess": smc.wgts.ESS}), flush=True)


main()
