"""All studies, in the order of the papers."""

from difflib import get_close_matches

from dither_estimator.studies import (
    ops_adversary,
    ops_efficiency,
    ops_error,
    ops_posteriors,
    ubapp_discretisation,
    ubapp_heat_maps,
    ubapp_privacy,
    ubapp_trials,
    war_logs_emissions,
    war_logs_likelihood,
    war_logs_states,
)
from dither_estimator.studies.study import Study, StudyError

__all__ = ["find_study", "studies"]

studies: tuple[Study, ...] = (
    *ubapp_privacy.STUDIES,
    *ubapp_trials.STUDIES,
    *ubapp_heat_maps.STUDIES,
    *ubapp_discretisation.STUDIES,
    *ops_posteriors.STUDIES,
    *ops_error.STUDIES,
    *ops_efficiency.STUDIES,
    *ops_adversary.STUDIES,
    *war_logs_states.STUDIES,
    *war_logs_emissions.STUDIES,
    *war_logs_likelihood.STUDIES,
)


def find_study(name: str) -> Study:
    """Raises `StudyError`."""
    by_name = {study.name: study for study in studies}
    if name not in by_name:
        close = get_close_matches(name, by_name)
        hint = f"did you mean {' or '.join(close)}?" if close else "see dither reproduce --list"
        raise StudyError(f"there is no such study; {hint}")
    return by_name[name]
