"""Why a trial was stopped, by the sponsor's own words.

Stopping for benefit is no evidence by itself, since such trials overstate effects
(https://doi.org/10.1001/jama.2010.310).
"""

from typing import Literal

from ..lexicon.matching import cue_form
from .text import says

StoppingKind = Literal["safety", "futility", "benefit", "administrative"]
# Words for harm or effect that are not the reason: safety boards, denials.
_OTHERS = r"{said of others}|{said of the plan}[^.;]*"
_DENIALS = r"{said not}[^.;]{0,60}?{safety or effect}(?:\s*(?:/|and|or|,|nor)\s*\w+){0,3}"


def classify_stopping(text: str | None) -> StoppingKind | None:
    """Classify the sponsor's reason for stopping a trial; None if none is reported.

    `administrative` is every reason other than harm or effect.

    >>> classify_stopping("Slow enrolment; the decision was not related to any safety or efficacy concern")
    'administrative'
    >>> classify_stopping("DSMB recommended stopping for futility")
    'futility'
    """
    if not text or not text.strip():
        return None
    text = cue_form(_OTHERS, __package__).sub(" ", text)
    plainly = cue_form(_DENIALS, __package__).sub(" ", text)
    if says("stopped for futility", text) and says("stopped for futility", plainly):
        return "safety" if says("and for safety", plainly) else "futility"
    if says("stopped for futility", text) and not says("safety or harm", text):
        return "futility"
    if says("stopped for safety", plainly):
        return "safety"
    return "benefit" if says("stopped for benefit", plainly) else "administrative"
