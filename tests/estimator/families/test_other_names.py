"""A distribution by another name than Dither's is answered with what to write."""

import re

import pytest

from dither_estimator.families import find_family
from dither_estimator.families.other_names import _MEANT, meant
from dither_estimator.specification.specification import Specification


@pytest.mark.parametrize("name", _MEANT)
def test_what_is_meant_makes_a_specification(name: str) -> None:
    found = re.fullmatch(r"(\S+)( with transform log| with a minimum and a maximum)?", str(meant(name)))
    assert found is not None
    extra = {"transform": "log"} if "log" in (found[2] or "") else {}
    extra |= {"categories": ["a", "b"]} if found[1] == "categorical" else {}  # type: ignore[dict-item]
    Specification.from_json({"family": found[1], "epsilon": 1, **extra})


def test_lognormal_is_normal_with_transform_log() -> None:
    for name in ("lognormal", "log-normal", "Log Normal", "lognorm"):
        with pytest.raises(ValueError, match="that distribution is the family normal with transform log; family must"):
            find_family(name)


def test_other_words_are_not_repeated() -> None:
    with pytest.raises(ValueError, match=r"^family must be one of") as refusal:
        find_family("zebra")
    assert "zebra" not in str(refusal.value)
