"""Why a trial stopped early: for harm, for want of effect, for benefit, or for reasons that say nothing of the drug.

The field is `whyStopped` of ClinicalTrials.gov, free text by the sponsor
(https://clinicaltrials.gov/policy/protocol-definitions#WhyStudyStopped). A stop for benefit alone proves nothing: such
trials overstate effects (https://doi.org/10.1001/jama.2010.310); their posted results are read instead.
"""

import re
from functools import cache, partial
from typing import Literal

from ..lexicon.matching import cued

StoppingKind = Literal["safety", "futility", "benefit", "administrative"]

_said = partial(cued, package=__package__)


@cache
def _not_the_reason() -> tuple[re.Pattern[str], ...]:
    """Words that name harm or effect without giving them as the reason: whoever looks after them, denials."""
    plan, denied, of = (_said(name).pattern for name in ("said of the plan", "said not", "safety or effect"))
    return (
        re.compile(rf"{_said('said of others').pattern}|{plan}[^.;]*", re.IGNORECASE),
        re.compile(rf"{denied}[^.;]{{0,60}}?{of}(?:\s*(?:/|and|or|,|nor)\s*\w+){{0,3}}", re.IGNORECASE),
    )


def why_stopped_kind(text: str | None) -> StoppingKind | None:
    """Name the kind of reason for which a trial stopped.

    Args:
        text: the sponsor's words; None or empty where none are given.

    Returns:
        None where no reason is reported; `administrative` for every reason that speaks of neither harm nor effect.

    >>> why_stopped_kind("Slow enrolment; the decision was not related to any safety or efficacy concern")
    'administrative'
    >>> why_stopped_kind("DSMB recommended stopping for futility")
    'futility'
    """
    if not text or not text.strip():
        return None
    others, denials = _not_the_reason()
    text = others.sub(" ", text)
    plainly = denials.sub(" ", text)
    futile = _said("stopped for futility")
    if futile.search(text) and futile.search(plainly):
        return "safety" if _said("and for safety").search(plainly) else "futility"
    if futile.search(text) and not _said("safety or harm").search(text):
        return "futility"
    if _said("stopped for safety").search(plainly):
        return "safety"
    return "benefit" if _said("stopped for benefit").search(plainly) else "administrative"
