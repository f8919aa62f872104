"""All studies, in the order of the papers."""

from difflib import get_close_matches

from dither_papers.studies import (
    adobest,
    ops_adversary,
    ops_efficiency,
    ops_error,
    ops_posteriors,
    selection_additive,
    selection_information,
    selection_mixing,
    selection_order,
    selection_sequential,
    truncation_costs,
    truncation_errors,
    truncation_incomes,
    truncation_intervals,
    truncation_scores,
    truncation_subsets,
    truncation_trajectories,
    ubapp_discretisation,
    ubapp_heat_maps,
    ubapp_privacy,
    ubapp_trials,
    war_logs_collapse,
    war_logs_emissions,
    war_logs_likelihood,
    war_logs_states,
)
from dither_papers.studies.study import Study, StudyError

__all__ = ["find_study", "studies"]

studies: tuple[Study, ...] = (
    *truncation_intervals.STUDIES,
    *truncation_trajectories.STUDIES,
    *truncation_errors.STUDIES,
    *truncation_scores.STUDIES,
    *truncation_incomes.STUDIES,
    *truncation_costs.STUDIES,
    *truncation_subsets.STUDIES,
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
    *war_logs_collapse.STUDIES,
    *selection_information.STUDIES,
    *selection_additive.STUDIES,
    *selection_mixing.STUDIES,
    *selection_order.STUDIES,
    *selection_sequential.STUDIES,
    *adobest.STUDIES,
)


def find_study(name: str) -> Study:
    """The study with this name. Raises `StudyError`."""
    by_name = {study.name: study for study in studies}
    if name not in by_name:
        close = get_close_matches(name, by_name)
        hint = f"did you mean {' or '.join(close)}?" if close else "see dither reproduce --list"
        raise StudyError(f"there is no such study; {hint}")
    return by_name[name]
