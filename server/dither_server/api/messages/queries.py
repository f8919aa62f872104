"""The questions that are asked."""

from typing import Literal

from pydantic import BaseModel, Field

__all__ = ["EXAMPLE_QUERY", "GaussianQuery", "LaplaceQuery", "Query", "RandomizedResponseQuery", "StaircaseQuery"]

EXAMPLE_QUERY = {
    "mechanism": "laplace",
    "low": 6.0,
    "high": 6.25,
    "levels": 1,
    "epsilon": 1,
    "transform": "log",
}


class LaplaceQuery(BaseModel):
    """On which point of an interval, with discrete Laplace noise. Answers are `0..levels`."""

    mechanism: Literal["laplace"]
    low: float = Field(description="On the transformed scale.")
    high: float
    levels: int = Field(ge=1, le=1024)
    epsilon: int | float = Field(gt=0, le=50, description="The JSON number writes the exact decimal.")
    transform: Literal["identity", "log"]


class RandomizedResponseQuery(BaseModel):
    """In which cell, by randomised response. Answers are `0..len(cuts)`: how many cuts lie strictly below."""

    mechanism: Literal["randomized_response"]
    cuts: list[float] = Field(min_length=1, max_length=1023, description="Increasing, on the transformed scale.")
    epsilon: int | float = Field(gt=0, le=50, description="The JSON number writes the exact decimal.")
    transform: Literal["identity", "log"]


class StaircaseQuery(BaseModel):
    """One of some sets of cells, likelier one that holds the own cell. Answers are `0..len(sets) - 1`."""

    mechanism: Literal["staircase"]
    cuts: list[float] = Field(min_length=1, max_length=63, description="Increasing, on the transformed scale.")
    sets: list[list[int]] = Field(min_length=2, max_length=64, description="The cells of each answer, from 0.")
    weights: list[int] = Field(
        min_length=2, max_length=64, description="One for each set, such that those that hold a cell have one sum."
    )
    epsilon: int | float = Field(gt=0, le=50, description="The JSON number writes the exact decimal.")
    transform: Literal["identity", "log"]


class GaussianQuery(BaseModel):
    """On which point of an interval, with discrete Gaussian noise. Answers are `0..levels`."""

    mechanism: Literal["gaussian"]
    low: float = Field(description="On the transformed scale.")
    high: float
    levels: int = Field(ge=1, le=1024)
    rho: int | float = Field(gt=0, le=50, description="ρ of zero-concentrated privacy, the exact decimal.")
    epsilon: int | float = Field(gt=0, le=50, description="The pure ε of the clipped noise, or more: what it costs.")
    transform: Literal["identity", "log"]


Query = LaplaceQuery | RandomizedResponseQuery | StaircaseQuery | GaussianQuery
