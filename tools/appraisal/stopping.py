"""Why a trial stopped early: for harm, for want of effect, or for reasons that say nothing of the drug.

The field is `whyStopped` of ClinicalTrials.gov, free text by the sponsor
(https://clinicaltrials.gov/policy/protocol-definitions#WhyStudyStopped).
"""

import re
from typing import Literal

StoppingKind = Literal["safety", "futility", "administrative"]

_NOT_SAFETY = re.compile(
    r"\b(?:not|no|without|unrelated to|nothing to do with|neither|nor|rather than|"
    r"other than)\b[^.;]{0,60}?\b(?:safety|adverse|toxicit\w+|side effects?|efficacy|futility)\b"
    r"(?:\s*(?:/|and|or|,|nor)\s*\w+){0,3}",
    re.IGNORECASE,
)
_SAFETY = re.compile(
    r"\bsafety\b|\badverse\b|\btoxicit\w*|\bside effects?\b|\bharm\w*|\bserious events?\b|\bSAEs?\b|"
    r"\bDLTs?\b|\bmortality\b|\bdeaths?\b|\bhepatotoxic\w*|\brisk[- ]benefit|\bbenefit[- /]risk|"
    r"\bincreased (?:risk|bleeding|infection\w*)|"
    r"\bunacceptable\b|\bclinical hold\b|\btolerab\w*|\bintoleran\w*|\bfood and drug administration (?:hold|request)",
    re.IGNORECASE,
)
_FUTILITY = re.compile(
    r"\bfutil\w*|\black of (?:\w+ )?(?:efficacy|effect\w*|benefit|response|activity)|"
    r"\bno (?:\w+ ){0,2}(?:efficacy|effect|benefit|difference|improvement|response|activity)\b|"
    r"\binefficac\w*|\binsufficient (?:\w+ )?(?:efficacy|effect\w*|activity|response)|"
    r"\b(?:did|does|do|would|will|could) not (?:\w+ )?(?:meet|show|demonstrate|reach|achieve|support|"
    r"improve|separate)[^.;]{0,40}(?:end-?point|efficacy|effect|benefit|objective|outcome|superiority)|"
    r"\bfail\w* to (?:meet|show|demonstrate|reach|achieve)|"
    r"\bprimary end-?point (?:was )?not (?:met|reached)|\bineffective\w*|\bnot (?:be )?effective\b|"
    r"\blow(?:er)? (?:than expected )?(?:probability|likelihood|conditional power)|\bunlikely to (?:meet|"
    r"show|demonstrate|reach|achieve|be effective)|\bnegative results?\b|\bpoor efficacy\b|"
    r"\befficacy (?:not|criteria not|was not|reasons?|concerns?)|"
    r"\bunfavou?rable (?:interim|results|efficacy)",
    re.IGNORECASE,
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
    plainly = _NOT_SAFETY.sub(" ", text)
    if _FUTILITY.search(text) and _FUTILITY.search(plainly):
        return (
            "safety"
            if re.search(r"\b(?:and|due to) (?:\w+ )?(?:safety|toxicity|adverse)\b", plainly, re.IGNORECASE)
            else "futility"
        )
    if _FUTILITY.search(text) and not re.search(r"\b(?:safety|adverse|toxicit)", text, re.IGNORECASE):
        return "futility"
    return "safety" if _SAFETY.search(plainly) else "administrative"
