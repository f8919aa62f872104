"""Mechanisms, policies, ε and numbers of respondents side by side: how far simulated posteriors are from the truth.

Every setting is simulated `repeats` times, in this process alone (`in_process`). Each repetition draws its people, its
noise and its questions from seeds of its own, so that results depend neither on the number of processes nor on what
else is compared; people are the same for all settings with as many of them.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
from threadpoolctl import threadpool_limits

from dither_client import Transform
from dither_client.extras import require_extra
from dither_client.posterior.wire import ParameterSummary, PosteriorReply
from dither_estimator.design.design import DesignError, optimal_design
from dither_estimator.design.goal import parse_goal
from dither_estimator.families import Family, FloatArray
from dither_estimator.learning.learners import new_learner
from dither_estimator.specification.specification import Specification
from dither_estimator.workers import workers_of
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.in_process import simulate_in_process

__all__ = ["DISTRIBUTION", "Compared", "People", "Setting", "Summary", "compare", "limits_of"]

DISTRIBUTION = "distribution"
"""The name of the largest distance between the posterior mean of the distribution function and the truth."""
QUANTILES = ("0.1", "0.5", "0.9")
"""The quantiles that are compared where there is no family."""


@dataclass(frozen=True)
class People:
    """A population to draw people from: `member` of `family` on a scale, or the `values` of a file.

    `truth` has the numbers that are compared: parameters on the transformed scale, or quantiles of values by level.
    """

    truth: Mapping[str, float]
    family: Family | None = None
    member: tuple[float, ...] = ()
    transform: Transform = "identity"
    values: FloatArray | None = field(default=None, repr=False)
    """The values of a file in increasing order; None for a member."""

    def draw(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Values of `size` people, each of a file's at most once, in their own units, shape (size,)."""
        if self.values is not None:
            return rng.permutation(self.values)[:size]
        assert self.family is not None
        drawn = self.family.sample(rng, np.array(self.member), size)
        return np.exp(drawn) if self.transform == "log" else drawn

    def cdf(self, x: FloatArray) -> FloatArray:
        """The share of people at or below each of `x` (n,), in their own units."""
        if self.values is not None:
            return np.searchsorted(self.values, x, side="right") / len(self.values)
        assert self.family is not None
        if self.transform == "log":
            with np.errstate(divide="ignore", invalid="ignore"):
                x = np.where(x > 0, np.log(x), -np.inf)
        return self.family.cdf(np.array([self.member]), x)[0]


@dataclass(frozen=True)
class Setting:
    """One thing to try: a specification, and how many people answer."""

    mechanism: str
    policy: str
    epsilon: str
    respondents: int
    fields: Mapping[str, Any] = field(repr=False)
    """The specification, as JSON."""

    @property
    def key(self) -> str:
        """The text that the setting's seeds are made from."""
        return f"{self.mechanism} {self.policy} {self.epsilon} {self.respondents}"


@dataclass(frozen=True)
class Summary:
    """How well one number is known over all repetitions."""

    truth: float
    bias: float
    """The mean of the posterior means, less the truth."""
    rmse: float
    """The root of the mean squared error of the posterior mean."""
    sd: float
    """The mean of the posterior standard deviations."""
    coverage: float
    """The share of the central 90% intervals that hold the truth."""
    limit: float | None
    """The standard deviation that no ε-LDP mechanism can go below with as many people, even if it knew the truth."""


@dataclass(frozen=True)
class Compared:
    """A setting and its results."""

    setting: Setting
    numbers: Mapping[str, Summary]
    distance: float | None
    """The mean over repetitions of the largest distance between distribution functions; None where one has none."""


_Found = tuple[Mapping[str, ParameterSummary], float | None]


def compare(
    settings: Sequence[Setting],
    people: People,
    repeats: int,
    seed: int | None,
    jobs: int = 1,
    progress: Callable[[int], None] = lambda done: None,
    scheduler: str | None = None,
) -> list[Compared]:
    """Simulates every setting `repeats` times in `jobs` processes; -1 means one for each core.

    With `scheduler`, the address of a Dask scheduler, its workers do that. `progress` receives the number of
    simulations that are done. Raises `MissingExtra` for several jobs without joblib, and what `workers_of` raises.
    """
    root = secrets.randbits(128) if seed is None else seed
    runs = [(place, repeat) for repeat in range(repeats) for place in range(len(settings))]
    found: dict[tuple[int, int], _Found] = {}
    with workers_of(scheduler):
        results = _simulated(settings, people, runs, root, jobs if scheduler is None else -1)
        for done, (run, result) in enumerate(results, 1):
            found[run] = result
            progress(done)
    limits: dict[str, Mapping[str, float]] = {}
    compared = []
    for place, setting in enumerate(settings):
        if setting.epsilon not in limits:
            limits[setting.epsilon] = limits_of(people, setting)
        mine = [found[place, repeat] for repeat in range(repeats)]
        compared.append(_summarised(setting, people, mine, limits[setting.epsilon]))
    return compared


def limits_of(people: People, setting: Setting) -> dict[str, float]:
    """The smallest standard deviation of one answer that any mechanism with this ε leaves, for each parameter.

    Empty for a population that is no member of the specified family; a parameter whose limit floating point cannot
    find is left out.
    """
    spec = Specification.from_json(setting.fields)
    if people.family is None or spec.family.name != people.family.name or spec.transform != people.transform:
        return {}
    member = np.array([people.member])
    coordinates, units = spec.family.unconstrain(member)[0], spec.family.units(member)[0].tolist()
    found = {}
    for parameter, coordinate, unit in zip(spec.family.parameters, coordinates, units, strict=True):
        try:
            goal = parse_goal(parameter.name, spec.family)
            limit = optimal_design(spec.family, people.member, "randomized_response", spec.epsilon, goal).limit
        except DesignError:
            continue
        location_scale = spec.family.location_scale
        slope = 1.0 if location_scale else float(np.exp(parameter.log_jacobian(np.array([coordinate]))[0]))
        found[parameter.name] = unit * slope * float(np.sqrt(limit))
    return found


def _simulated(
    settings: Sequence[Setting], people: People, runs: Sequence[tuple[int, int]], root: int, jobs: int
) -> Iterator[tuple[tuple[int, int], _Found]]:
    """The result of each run, in any order."""
    if jobs == 1:
        yield from ((run, _simulate(settings[run[0]], people, root, run[1])) for run in runs)
        return
    require_extra("papers", "joblib")
    from joblib import Parallel, delayed

    tasks = (delayed(_labelled)(run, settings[run[0]], people, root) for run in runs)
    yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks)


def _labelled(run: tuple[int, int], setting: Setting, people: People, root: int) -> tuple[tuple[int, int], _Found]:
    return run, _simulate(setting, people, root, run[1])


def _simulate(setting: Setting, people: People, root: int, repeat: int) -> _Found:
    """What the posterior says of each number, and how far its distribution function is from the truth."""
    asked = np.random.default_rng(np.random.SeedSequence([root, repeat, setting.respondents]))
    noise, learning = np.random.SeedSequence([root, repeat, crc32(setting.key.encode())]).spawn(2)
    values = people.draw(asked, setting.respondents)
    with threadpool_limits(1, user_api="blas"):
        learner = new_learner(Specification.from_json(setting.fields), learning)
        roles = draw_roles(np.random.default_rng(0), Behaviours(), len(values))
        reply = simulate_in_process(learner, values, roles, np.random.default_rng(noise)).posterior
    return _numbers(reply), _distance(reply, people)


def _numbers(reply: PosteriorReply) -> dict[str, ParameterSummary]:
    """The parameters; without any, some quantiles."""
    quantiles = reply.quantiles or {}
    return reply.posterior or {level: quantiles[level] for level in QUANTILES if level in quantiles}


def _distance(reply: PosteriorReply, people: People) -> float | None:
    """The largest difference at the points of the posterior's distribution."""
    if reply.distribution is None:
        return None
    truth = people.cdf(np.array(reply.distribution.x))
    return float(np.abs(np.array(reply.distribution.cdf.mean) - truth).max())


def _summarised(setting: Setting, people: People, found: Sequence[_Found], limits: Mapping[str, float]) -> Compared:
    names = [name for name in people.truth if all(name in numbers for numbers, _ in found)]
    distances = [distance for _, distance in found]
    known = [distance for distance in distances if distance is not None]
    return Compared(
        setting,
        {
            name: _summary(
                people.truth[name],
                [numbers[name] for numbers, _ in found],
                limits[name] / setting.respondents**0.5 if name in limits else None,
            )
            for name in names
        },
        float(np.mean(known)) if len(known) == len(distances) else None,
    )


def _summary(truth: float, found: Sequence[ParameterSummary], limit: float | None) -> Summary:
    errors = np.array([each.mean for each in found]) - truth
    return Summary(
        truth=truth,
        bias=float(errors.mean()),
        rmse=float(np.sqrt((errors**2).mean())),
        sd=float(np.mean([each.sd for each in found])),
        coverage=float(np.mean([each.q05 <= truth <= each.q95 for each in found])),
        limit=limit,
    )
