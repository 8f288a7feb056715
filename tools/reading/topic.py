"""The condition that is asked about, as a record names it, and the outcomes that are beside it."""

import re
from functools import lru_cache
from typing import NamedTuple

from .sentences import stem, stems

_COMMON = frozenset(
    {"diseas", "disord", "syndrom", "chronic", "acut", "type", "prevent", "primari", "secondari", "sever"}
)
_FAMILIES: tuple[tuple[str, ...], ...] = (
    ("nephropath", "kidney", "renal", "nephrit", "glomerul", "albuminuri", "proteinuri"),
    ("portal hypertension", "portal pressure", "varic", "cirrho", "hepatic venous pressure"),
    ("migraine", "headache"),
    ("smoking", "nicotine", "tobacco", "cigarette"),
    ("hypertension", "blood pressure", "antihypertensive"),
    ("diabet", "glyc", "insulin resistance"),
    ("alzheimer", "dementia", "cognitive"),
    ("depress", "mood"),
    ("cancer", "tumor", "tumour", "carcinoma", "neoplas", "leukemia", "lymphoma", "sarcoma", "melanoma"),
    ("steatohepatitis", "fatty liver", "nash", "nafld", "steatosis"),
    ("heart failure", "cardiomyopath", "ejection fraction"),
    ("epilep", "seizure"),
    ("arthritis", "joint inflammation"),
    ("covid", "sars-cov-2", "post-acute sequelae"),
    ("fibrosis", "fibrotic"),
    ("obes", "body weight", "weight loss"),
)
"""Words by which the same condition goes, after the entry terms and neighbours of its MeSH descriptor."""
_BESIDE_STEMS = (
    "hypertens",
    "blood pressure",
    "diabet",
    "glyc",
    "heart",
    "lipid",
    "cholesterol",
    "stroke",
    "obes",
    "cardio",
)
_WHO = re.compile(
    r"\b(?:patients?|children|adults|subjects|men|women|people|persons|those|individuals|participants|volunteers|"
    r"infants|rats|mice|models?)\b[^,;]*$|\b(?:with|for|of|in|against|to)\s+(?:\S+\s+){0,3}$",
    re.IGNORECASE,
)
_MEASURE = re.compile(
    r"\b(?:incidences?|rates?|frequenc\w+|episodes?|severity|risks?|attacks?|symptoms?|numbers?|prevalences?|scores?|"
    r"progression|recurrences?|onset|intensity|occurrence|days|duration|cases|signs|development) of (?:\S+ ){0,4}$",
    re.IGNORECASE,
)
_AS_ADJECTIVE = re.compile(
    r"\s*(?:patients?|children|subjects|trials?|treatment|therapy|prophylaxis|management|control|studies|study|"
    r"prevention|research|medication|drugs?|care|clinics?|models?|guidelines)\b|-",
    re.IGNORECASE,
)
_OTHER_PRESSURE = re.compile(
    r"\b(?:portal|variceal|hepatic venous|intra-?ocular|intra-?cranial|pulmonary|"
    r"intra-?abdominal)\b[^.]{0,20}\bpressure",
    re.IGNORECASE,
)
_BLOOD_PRESSURE = re.compile(r"\b(?:blood|arterial|systolic|diastolic) (?:blood )?pressure", re.IGNORECASE)
_TITLE = 250  # characters at the head of a record in which its subject is named


class Topic(NamedTuple):
    """What a question asks about, as a record names it."""

    condition: str
    pattern: re.Pattern[str]
    """The condition's own words and the short forms that the record gives it; they name an ill."""
    takes_pressure: bool
    """Whether the record is about a pressure that is not the blood's, so that `pressure` alone means that one."""
    takes_beside: bool
    """Whether outcomes that are beside other questions (blood pressure, glucose) are what is asked about."""

    def names_outcome(self, clause: str) -> re.Match[str] | None:
        """Where a clause speaks of the condition as of an outcome, not of those who have it or of its treatment."""
        for match in self.pattern.finditer(clause):
            before = clause[: match.start()]
            if _AS_ADJECTIVE.match(clause, match.end()):
                continue
            if _MEASURE.search(before) or not _WHO.search(before[-60:]):
                return match
        return None


@lru_cache(maxsize=1024)
def topic_in(text: str, condition: str) -> Topic:
    """Say how a record names the condition asked about."""
    words = [w for w in re.findall(r"[a-z]{4,}", condition.lower()) if stem(w) not in _COMMON]
    parts = [rf"{re.escape(w[: max(4, len(w) - 3)])}\w*" for w in words]
    parts += [rf"{form}\b" for form in _short_forms(text, frozenset(map(stem, words)))]
    name = condition.lower()
    takes = "portal" not in name and "diabetic " not in name and any(part in name for part in _BESIDE_STEMS)
    return Topic(
        condition,
        re.compile(rf"\b(?:{'|'.join(parts) or '(?!)'})", re.IGNORECASE),
        _is_on_pressure(text[:_TITLE]),
        takes,
    )


def _is_on_pressure(title: str) -> bool:
    return bool(_OTHER_PRESSURE.search(title)) and not _BLOOD_PRESSURE.search(title)


def _short_forms(text: str, wanted: frozenset[str]) -> list[str]:
    """Short forms that a text puts in brackets after the condition's name: `nausea and vomiting (PONV)`."""
    if not wanted:
        return []
    found = re.findall(r"((?:[\w-]+ ){1,6})\(([A-Z][A-Za-z]{1,7})\)", text)
    return [re.escape(form) for name, form in found if wanted & stems(name) and form.lower() not in name.lower()]


@lru_cache(maxsize=4096)
def names_condition(text: str, condition: str) -> bool:
    """Whether a text names a condition, by a word of its name or a sign or organ it is known by."""
    wanted = stems(condition) - _COMMON
    read = stems(text)
    if wanted & read:
        return True
    words = text.lower()
    return any(
        any(name in condition.lower() for name in family) and any(name in words for name in family)
        for family in _FAMILIES
    )
