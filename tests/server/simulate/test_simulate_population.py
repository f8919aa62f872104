"""Populations: drawn from a family, or read from a file whose cells are nobody's business."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas
import pytest

from dither_client import Transform
from dither_client.mechanisms.bounds import Bounds
from dither_estimator.families import families, find_family
from dither_server.simulate.population import (
    InvalidPopulation,
    Population,
    check_bounds,
    draw_population,
    parse_truth,
    read_population,
)

NORMAL = families["normal"]
SECRET = "73519.25"


def read(path: Path, transform: Transform = "identity", size: int | None = None) -> Population:
    return read_population(np.random.default_rng(1), path, "wage", NORMAL, transform, size)


def test_values_are_drawn_from_the_truth() -> None:
    """Mean and sd of 40,000 draws within five standard errors: a false alarm in 1e6 for each."""
    people = draw_population(np.random.default_rng(2), NORMAL, {"mu": 50.0, "sigma": 3.0}, "identity", 40_000)
    assert abs(people.values.mean() - 50) < 5 * 3 / 200
    assert abs(people.values.std() - 3) < 5 * 3 / np.sqrt(80_000)
    assert people.truth == {"mu": 50.0, "sigma": 3.0}


def test_the_truth_is_on_the_transformed_scale() -> None:
    people = draw_population(np.random.default_rng(2), NORMAL, {"mu": 6.0, "sigma": 0.5}, "log", 40_000)
    assert abs(np.log(people.values).mean() - 6) < 5 * 0.5 / 200


def test_a_seed_draws_the_same_population_again() -> None:
    one, again, other = (
        draw_population(np.random.default_rng(seed), NORMAL, {"mu": 0.0, "sigma": 1.0}, "identity", 10).values.tolist()
        for seed in (1, 1, 2)
    )
    assert one == again != other


def test_truth_is_read_in_any_order() -> None:
    assert parse_truth(" sigma=3.16, mu=-5e1", NORMAL) == {"mu": -50.0, "sigma": 3.16}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mu=50", "mu=NUMBER,sigma=NUMBER"),
        ("mu=50,sigma=1,sigma=2", "mu=NUMBER,sigma=NUMBER"),
        ("mu=50,sigma=1,nu=2", "mu=NUMBER,sigma=NUMBER"),
        ("", "mu=NUMBER,sigma=NUMBER"),
        ("mu=fifty,sigma=1", "a number for each"),
        ("mu=50,sigma=0", "sigma must be a finite number above 0"),
        ("mu=50,sigma=-1", "sigma must be a finite number above 0"),
        ("mu=inf,sigma=1", "mu must be a finite number"),
        ("mu=nan,sigma=1", "mu must be a finite number"),
    ],
)
def test_a_wrong_truth_is_refused_with_the_right_form(text: str, says: str) -> None:
    with pytest.raises(InvalidPopulation, match=says):
        parse_truth(text, NORMAL)


def test_a_share_lies_between_0_and_1() -> None:
    assert parse_truth("p=0.25", families["bernoulli"]) == {"p": 0.25}
    for wrong in ("0", "1", "-0.5", "nan"):
        with pytest.raises(InvalidPopulation, match="p must be above 0 and below 1"):
            parse_truth(f"p={wrong}", families["bernoulli"])


def test_values_beyond_a_double_are_refused() -> None:
    with pytest.raises(InvalidPopulation, match="finite"):
        draw_population(np.random.default_rng(1), NORMAL, {"mu": 800.0, "sigma": 1.0}, "log", 10)


@pytest.mark.parametrize("ending", ["csv", "parquet", "CSV"])
def test_a_column_of_a_file_is_a_population(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"wages.{ending}"
    frame = pandas.DataFrame({"name": ["a", "b", "c", "d"], "wage": [1, 2.5, 4, 1e3]})
    if ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    people = read(path)
    assert sorted(people.values.tolist()) == [1, 2.5, 4, 1000]
    assert people.truth == {"mu": np.mean([1, 2.5, 4, 1e3]), "sigma": np.std([1, 2.5, 4, 1e3])}
    logs = np.log([1, 2.5, 4, 1e3])
    assert read(path, "log").truth == pytest.approx({"mu": logs.mean(), "sigma": logs.std()})


def test_fewer_respondents_than_rows_are_a_random_sample_with_the_truth_of_all(tmp_path: Path) -> None:
    path = tmp_path / "wages.csv"
    path.write_text("wage\n" + "\n".join(map(str, range(1000))) + "\n")
    people = read(path, size=10)
    assert len(people.values) == 10
    assert len(set(people.values.tolist())) == 10
    assert people.values.tolist() != list(range(10))
    assert people.truth["mu"] == 499.5


@pytest.mark.parametrize("name", [*families, "student_t:4"])
def test_the_truth_of_a_file_is_the_nearest_member_of_any_family(tmp_path: Path, name: str) -> None:
    """Within five standard errors of a maximum likelihood estimate: a tenth of the parameter at 30,000 values."""
    family = find_family(name)
    values = family.sample(np.random.default_rng(4), family.standard, 30_000)
    path = tmp_path / "wages.csv"
    pandas.DataFrame({"wage": values}).to_csv(path, index=False)
    truth = read_population(np.random.default_rng(1), path, "wage", family, "identity", None).truth
    assert list(truth) == list(family.names)
    for found, true in zip(truth.values(), family.standard.tolist(), strict=True):
        assert abs(found - true) < 0.1 * max(abs(true), 0.5)


def test_values_that_a_family_cannot_have_are_refused(tmp_path: Path) -> None:
    path = csv(f"wage\n{SECRET}\n-{SECRET}\n-1\n")(tmp_path)
    with pytest.raises(InvalidPopulation, match="no member of the family gamma can have") as refusal:
        read_population(np.random.default_rng(1), path, "wage", families["gamma"], "identity", None)
    assert "73519" not in str(refusal.value)


def csv(text: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / "wages.csv"
        path.write_text(text)
        return path

    return write


def csv_bytes(content: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / "wages.csv"
        path.write_bytes(content)
        return path

    return write


def parquet(values: list[object]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / "wages.parquet"
        pandas.DataFrame({"wage": values}).to_parquet(path)
        return path

    return write


def text_as_parquet(folder: Path) -> Path:
    path = folder / "wages.parquet"
    path.write_text(f"wage\n{SECRET}\n")
    return path


def a_folder(folder: Path) -> Path:
    path = folder / "wages.csv"
    path.mkdir()
    return path


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (csv(f"pay\n{SECRET}\n"), "wages.csv has no column wage"),
        (csv(f"wage\n{SECRET}\nx{SECRET}\n"), "row 2 of the column wage of wages.csv is not a finite number"),
        (csv(f"wage\n{SECRET}\n\n{SECRET}\n"), "row 2 of the column wage of wages.csv is blank"),
        (csv(f"name,wage\n{SECRET},1\n{SECRET},\n"), "row 2 of the column wage of wages.csv is blank"),
        (csv(f"name,wage\n{SECRET},1\n{SECRET},  \n"), "row 2 of the column wage of wages.csv is blank"),
        (csv(f"wage\n{SECRET}\nNaN\n"), "row 2 .* is not a finite number"),
        (csv(f"wage\n{SECRET}\ninf\n"), "row 2 .* is not a finite number"),
        (csv(f"wage\n{SECRET}\nTrue\n"), "row 2 .* is not a finite number"),
        (csv(f'wage\n{SECRET}\n"7,5"\n'), "numbers with commas and numbers with points"),
        (csv(f"name,wage\na,1\nb,{SECRET},9,9\n"), "row 2 of wages.csv has more cells than there are columns"),
        (csv(f"name,wage\na,1,{SECRET}\nb,2,{SECRET}\n"), "row 1 of wages.csv has more cells"),
        (csv_bytes(b"wage\n73519.25\n\xff\xfe\x00\n"), "wages.csv is not a CSV file in UTF-8"),
        (csv(""), "wages.csv is empty"),
        (csv("wage,wage\n73519.25,1\n"), "wages.csv has several columns of the name that is asked for"),
        (csv("wage\n"), "wages.csv has no rows"),
        (csv(f"wage\n{SECRET}\n0\n"), "values at or below 0"),
        (parquet([SECRET, SECRET]), "the column wage of wages.parquet must hold numbers"),
        (parquet([True, False]), "the column wage of wages.parquet must hold numbers"),
        (parquet([73519.25, None]), "row 2 of the column wage of wages.parquet is blank"),
        (text_as_parquet, "wages.parquet is not a Parquet file"),
        (a_folder, "wages.csv is a folder"),
        (lambda folder: folder / "none.csv", "none.csv does not exist"),
        (lambda folder: folder / "wages.txt", "only .csv and .parquet files have columns"),
    ],
)
def test_a_bad_file_is_refused_without_a_word_of_what_it_holds(
    tmp_path: Path, make: Callable[[Path], Path], says: str
) -> None:
    with pytest.raises(InvalidPopulation, match=says) as refusal:
        read(make(tmp_path), "log")
    assert "73519" not in str(refusal.value)
    assert refusal.value.__cause__ is None


def test_a_truth_whose_values_are_too_large_is_refused() -> None:
    heavy, rng = find_family("student_t"), np.random.default_rng(1)
    with pytest.raises(InvalidPopulation, match="are too large: values must be finite"):
        draw_population(rng, heavy, {"mu": 0, "sigma": 1, "df": 0.01}, "identity", 300)
    with pytest.raises(InvalidPopulation, match="with transform log the values themselves must be finite"):
        draw_population(rng, NORMAL, {"mu": 800, "sigma": 1}, "log", 3)


def test_more_respondents_than_rows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidPopulation, match="has 2 values: there cannot be more respondents"):
        read(csv("wage\n1\n2\n")(tmp_path), size=3)


def test_values_out_of_bounds_are_counted_and_refused() -> None:
    values = np.array([-1.0, 0.0, 5.0, 10.0, 73519.25])
    for bounds in (Bounds(), Bounds(-1.0), Bounds(maximum=1e5), Bounds(-1.0, 73519.25)):
        check_bounds(values, bounds)
    with pytest.raises(InvalidPopulation) as refusal:
        check_bounds(values, Bounds(0.0, 10.0))
    assert str(refusal.value) == (
        "2 of the 5 values lie outside the collection's bounds, and devices would refuse them: "
        "values must be from 0 to 10"
    )
    assert "73519" not in str(refusal.value)


def test_a_population_does_not_show_its_values() -> None:
    assert "73519" not in repr(Population(np.array([73519.25]), {"mu": 0.0, "sigma": 1.0}))
