"""The form for a new collection, filled in, and what the server makes of it."""

import html
import re
from typing import Any

from dither_estimator.specification.specification import Specification
from testing.servers.pages import send_form
from testing.servers.site import Site

__all__ = ["FOLDED", "FORM", "GAUSSIAN", "PANEL", "PRIOR", "SEVERAL", "complaint", "filled_in", "made"]

FORM = {
    "name": "Wages & <more>",
    "family": "normal",
    "transform": "log",
    "low": "100",
    "high": "2000",
    "epsilon": "0.1",
}
GAUSSIAN = {"mechanism": "gaussian", "epsilon": "", "rho": "0.5"}
PRIOR = {
    "low": "",
    "high": "",
    "prior_mu": "norm, loc=6, scale=2.5",
    "prior_sigma": "invgamma, a=1, scale=1, of=variance",
}
PANEL = {"period": "week", "panel_answers": "2", "panel_periods": "30"}
SEVERAL = {
    "name": "Wages and ages", "epsilon": "1", "mechanism": "randomized_response", "respondents": "5000",
    "component_1_name": "wage", "component_1_unit": "€", "component_1_question": "What do you earn?",
    "component_1_family": "normal", "component_1_transform": "log", "component_1_low": "150",
    "component_1_high": "2,000", "component_1_minimum": "0",
    "component_2_name": "age", "component_2_family": "nonparametric", "component_2_transform": "identity",
    "component_2_low": "15", "component_2_high": "90", "component_2_maximum": "120", "component_2_decimals": "0",
}  # fmt: skip
"""A form for two numbers of each person."""

FOLDED = {
    "component_1_low": "",
    "component_1_high": "",
    "component_1_prior_mu": "norm, loc=6, scale=2.5",
    "component_1_prior_sigma": "invgamma, a=1, scale=1, of=variance",
    "component_1_goal": "quantiles=0.5,0.9",
    "component_2_atoms": "18, 65",
    "component_2_goal": "above=65",
}
"""The other fields that a number can have in that form."""


def filled_in(form: dict[str, str]) -> dict[str, str]:
    """The form without what is empty, as it is read."""
    return {name: text for name, text in form.items() if text}


def made(site: Site, form: dict[str, Any]) -> Specification:
    """The specification of the collection that the form makes."""
    reply = send_form(site, "/new", form)
    assert reply.status_code == 303, complaint(reply.text)
    specification = site.service.collections.get(reply.headers["location"].rpartition("/")[2]).specification
    assert isinstance(specification, Specification)
    return specification


def complaint(page: str) -> tuple[str, str]:
    """The field that a page of the form says is wrong, and why; it has the focus and refers to the sentence."""
    [(field, sentence)] = re.findall(r'<span class="wrong" id="(\w+)-wrong">(.*?)</span>', page)
    [marked] = re.findall(r'<(?:input|select|fieldset) id="(\w+)"[^>]*aria-invalid="true" autofocus', page)
    assert marked == field
    assert re.search(rf'id="{field}"[^>]* aria-describedby="{field}-wrong', page)
    assert f'<a href="#{field}">' in page
    return field, html.unescape(sentence)
