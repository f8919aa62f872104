"""The vectors and the hostile server find mistakes: each of these, made on purpose in a sound client, is caught."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from dither_client.conformance.run import run_scenarios
from dither_client.conformance.scenarios import SCENARIOS
from testing.repository import TESTS
from tests.client.conformance.mutants import MODULES, MUTANTS, Mutant
from tests.client.conformance.third_checks import CHECKS

ORACLES = TESTS / "oracles"
TRIES = 3
"""A mistake that needs two processes at the same place at once need not show each time."""


def mutated(mutant: Mutant) -> dict[str, str]:
    """The text of each module."""
    texts = {name: (ORACLES / f"{name}.py").read_text(encoding="utf-8") for name in MODULES}
    for old, new in mutant.changes:
        assert sum(text.count(old) for text in texts.values()) == 1, old
        texts = {name: text.replace(old, new) for name, text in texts.items()}
    return texts


@pytest.mark.parametrize("name", [name for name, mutant in MUTANTS.items() if set(mutant.caught) & set(CHECKS)])
def test_vectors_find_the_mistake(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = mutated(MUTANTS[name])
    modules = {module: ModuleType(module) for module in MODULES}
    for module, found in modules.items():
        monkeypatch.setitem(sys.modules, module, found)
        exec(compile(texts[module], f"{module}.py", "exec"), found.__dict__)
    client, program = modules["third_client"], modules["third_program"]
    for check in MUTANTS[name].caught:
        if check in CHECKS:
            with pytest.raises((AssertionError, client.Refused, StopIteration, RuntimeError, pytest.fail.Exception)):
                CHECKS[check](client, program, tmp_path / check)


@pytest.mark.parametrize("name", [name for name, mutant in MUTANTS.items() if set(mutant.caught) & set(SCENARIOS)])
def test_the_hostile_server_finds_the_mistake(name: str, tmp_path: Path) -> None:
    for module, text in mutated(MUTANTS[name]).items():
        (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
    scenarios = {name: SCENARIOS[name] for name in MUTANTS[name].caught if name in SCENARIOS}
    program = [sys.executable, str(tmp_path / "third_program.py")]
    tries = (run_scenarios(program, scenarios) for _ in range(TRIES))
    assert any(None not in found.values() for found in tries)


def test_every_mutant_is_to_be_caught_by_something_that_there_is() -> None:
    assert len(MUTANTS) >= 11
    for mutant in MUTANTS.values():
        assert mutant.caught
        assert set(mutant.caught) <= set(CHECKS) | set(SCENARIOS)
