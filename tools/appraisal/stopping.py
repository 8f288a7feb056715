"""Why a trial stopped early: for harm, for want of effect, for benefit, or for reasons that say nothing of the drug.

The field is `whyStopped` of ClinicalTrials.gov, free text by the sponsor
(https://clinicaltrials.gov/policy/protocol-definitions#WhyStudyStopped). A stop for benefit alone proves nothing: such
trials overstate effects (https://doi.org/10.1001/jama.2010.310); their posted results are read instead.
"""

import re
from typing import Literal

StoppingKind = Literal["safety", "futility", "benefit", "administrative"]

_SAID_OF_OTHERS = re.compile(
    r"\bdata (?:and )?safety (?:and )?monitoring (?:board|committee)\b|"
    r"\bsafety (?:monitoring|review) (?:board|committee)\b|"
    r"\bnon-safety\b|\b(?:death|illness) of (?:an? |the )?(?:co-?|principal |lead )*(?:investigator|PI)\b|"
    r"\bexpected mortality\b|\b(?:PK|pharmacokinetics?) and (?:safety|toxicity) data\b|"
    r"\b(?:safety|toxicity|efficacy)(?: concerns?| issues?)? (?:of|with) (?:the )?(?:active )?(?:control|comparator)\b|"
    r"\bno (?:\w+ ){0,2}(?:efficacy|effect\w*|safety) (?:analys\w+|data|assessments?|evaluations?)\b|"
    r"\bfutil\w* (?:with|due to|because of|given|of)(?: \w+){0,4}? (?:accrual|enrol\w*|recruit\w*|patients?|subjects?|"
    r"participants?)\b|\bno (?:\w+[- ]){0,2}research\b[^.;]*|\bdesign (?:was|is) (?:inadequate|flawed)\b[^.;]*",
    re.IGNORECASE,
)
_NOT_SAFETY = re.compile(
    r"\b(?:not|no|without|unrelated to|nothing to do with|neither|nor|rather than|"
    r"other than)\b[^.;]{0,60}?\b(?:safety|adverse|toxicit\w+|side effects?|efficacy|futility)\b"
    r"(?:\s*(?:/|and|or|,|nor)\s*\w+){0,3}",
    re.IGNORECASE,
)
_SAFETY = re.compile(
    r"\bsafety\b|\badverse\b|\btoxicit\w*|\bside effects?\b|\bharm\w*|\bserious events?\b|\bSAEs?\b|"
    r"\bDLTs?\b|\bmortality\b|\bdeaths?\b|\bhepatotoxic\w*|\brisk[- ]benefit|\bbenefit[- /]risk|"
    r"\bincreased (?:risks?|rates? of|incidence of|frequency of|(?:\w+ )?(?:bleeding|h(?:a)?emorrhage|infection\w*))|"
    r"\bunacceptable\b|\bclinical hold\b|\bon hold at the request of\b|\bFDA warning\b|\btolerab\w*|\bintoleran\w*|"
    r"\bfood and drug administration (?:hold|request)",
    re.IGNORECASE,
)
_FUTILITY = re.compile(
    r"\bfutil\w*|\black(?:ing|ed|s)? (?:of )?(?:\w+ )?(?:efficacy|effect\w*|benefit|response|activity)|"
    r"\bno (?:\w+ ){0,2}(?:efficacy|effect|benefit|difference|improvement|response)\b|"
    r"\bno (?:clinical|anti-?tumou?r|biological) activity\b|"
    r"\binefficac\w*|\binsufficient (?:\w+ ){0,4}?(?:efficacy|effect\w*|activity|response)|"
    r"\b(?:did|does|do|would|will|could) not (?:\w+ )?(?:meet|show|demonstrate|reach|achieve|support|"
    r"improve|separate)[^.;]{0,40}(?:end-?point|efficacy|effect|benefit|objective|outcome|superiority|impact\w*)|"
    r"\bfail\w* to (?:meet|show|demonstrate|reach|achieve)|\bmissed (?:the |its )?(?:\w+ )?end-?point|"
    r"\bprimary (?:\w+ )?(?:end-?point|outcome|objective) (?:was |were )?not (?:met|reached|achieved)|"
    r"\bineffective\w*|\bnot (?:be )?effective\b|"
    r"\blow(?:er)? (?:than expected )?(?:probability|likelihood|conditional power)|\bunlikely to (?:meet|"
    r"show|demonstrate|reach|achieve|be effective)|\bnegative results?\b|\bpoor efficacy\b|"
    r"\befficacy (?:not|criteria not|was not|reasons?|concerns?)|"
    r"\bunfavou?rable (?:interim|results|efficacy)",
    re.IGNORECASE,
)
_BENEFIT = re.compile(
    r"\b(?:overwhelming|early|clear|substantial|significant|superior|proven|demonstrated) (?:\w+ ){0,2}?"
    r"(?:efficacy|benefit|effect|superiority)\b|"
    r"\bin favou?r of (?:the )?(?:active|treatment|study drug|experimental|full-dose)|"
    r"\b(?:stopped|terminated|halted) (?:early )?(?:for|due to|because of) (?:\w+ )?(?:benefit|efficacy|superiority)\b|"
    r"\bend-?point (?:was |has been )?(?:already )?(?:met|reached) early\b",
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
    text = _SAID_OF_OTHERS.sub(" ", text)
    plainly = _NOT_SAFETY.sub(" ", text)
    if _FUTILITY.search(text) and _FUTILITY.search(plainly):
        return (
            "safety"
            if re.search(r"\b(?:and|due to) (?:\w+ )?(?:safety|toxicity|adverse)\b", plainly, re.IGNORECASE)
            else "futility"
        )
    if _FUTILITY.search(text) and not re.search(r"\b(?:safety|adverse|toxicit)", text, re.IGNORECASE):
        return "futility"
    if _SAFETY.search(plainly):
        return "safety"
    return "benefit" if _BENEFIT.search(plainly) else "administrative"
