"""Who got what in a registered trial: its arms, and the groups whose results it posted.

The registry types arms and interventions and lists their other names, but types and lists are often careless: an arm
called "Placebo" lists the drug that its people get afterwards. So the name of an arm or group counts before its list,
and what neither tells stays `unknown`, which is never taken for placebo.
https://clinicaltrials.gov/data-api/about-api/study-data-structure
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from ..lexicon import find_drugs
from ..lexicon.matching import phrase_key
from ..records import Trial
from ..records.study import ArmRole
from .reading import Role
from .text import says

_OF_DRUGS = frozenset({"DRUG", "BIOLOGICAL", "DIETARY_SUPPLEMENT", "COMBINATION_PRODUCT", "GENETIC"})
_TYPED_INERT: Mapping[str, ArmRole] = {
    "PLACEBO_COMPARATOR": "placebo",
    "SHAM_COMPARATOR": "placebo",
    "NO_INTERVENTION": "none",
}
_INERT = r"(?:placebos?|sham|dummy|vehicle)(?![\s-]*(?:control|run|lead|phase|period))"
_OF_PLACEBO = re.compile(
    rf"(?:\b[\w-]+[\s()-]+(?:\d+ ?m?g\)? )?(?:match(?:ed|ing)[\s-]+)?)?\b{_INERT}\b"
    r"(?:(?!\b(?:and|plus|with|then|followed|in addition)\b(?! placebo))[^,;:.+&/>→]){0,40}",
    re.IGNORECASE,
)
"""A placebo with the drug that it imitates: "placebo matching X", "X placebo"."""
_FILLERS = re.compile(r"\b(?:arm|group|cohort|part|phase)\b(?:\s+[0-9ivab]{1,3}\b)?|[^a-z0-9.]+", re.IGNORECASE)
_UNIT = r"(?:[mnµu]?g|mcg|ml|iu|units?|mmol|%)"
_DOSE = re.compile(rf"\d[\d.,]*\s*{_UNIT}(?:/\w+)*", re.IGNORECASE)
_FROM_DOSE = re.compile(rf"\s*\b{_DOSE.pattern}.*$", re.IGNORECASE)
_CODE = re.compile(r"\b[A-Za-z]{1,5}[- ]?\d{3,}[A-Za-z0-9]*\b")
_PARTS = re.compile(r"\s*(?:\+|&|\band\b|\bplus\b)\s*", re.IGNORECASE)
_ARROW = re.compile(rf"→|->|=>|{_INERT}\s*/|/\s*{_INERT}", re.IGNORECASE)
_LONGEST_TITLE = 120  # characters; descriptions are longer, and are read for whole names alone
_SHORTEST = 3  # letters of an abbreviated drug: "Tac"
_TELLING = 4  # letters; a shorter word of a name tells it from others only with a digit in it
_COMMON = frozenset(
    "oral dose doses daily tablet tablets capsule capsules injection injections infusion solution cream gel therapy "
    "treatment treated drug standard care high higher lower extended release intravenous subcutaneous topical group "
    "patients participants subjects control active study regimen combination single repeat once twice weekly "
    "with".split()
)


class ArmTreatment(NamedTuple):
    """What an arm or a group of results got."""

    role: ArmRole
    drugs: tuple[str, ...]
    """By generic name, in lower case; a drug that the lexicon lacks by the registry's name for it."""
    kind: str
    """The registry's type of the arm; empty where no arm matches."""
    dose: str = ""


UNKNOWN = ArmTreatment("unknown", (), "")


class _ListedTreatment(NamedTuple):
    drugs: tuple[str, ...]
    control: ArmRole | None
    """What it is where it is no drug: a placebo, usual care, nothing; None for anything else."""
    keys: tuple[str, ...]
    """Its names, as `phrase_key` writes them."""
    words: frozenset[str]
    """Words that may tell it from others."""


class TrialTreatments:
    """The treatments of a registered trial: of its arms, and of groups of results by their titles and descriptions."""

    def __init__(self, trial: Trial) -> None:
        self._arms = trial.arms
        self._interventions = {
            phrase_key(str(entry.get("name") or "")): _read_intervention(entry) for entry in trial.interventions
        }
        labels = [str(arm.get("label") or "") for arm in self._arms]
        in_labels = [self._find_named(label) for label in labels if not _is_inert(label)]
        self._tested = set(chain.from_iterable(drugs or () for drugs in in_labels))
        self.arms = {
            str(arm.get("label") or f"arm {number}"): self._treat(arm) for number, arm in enumerate(self._arms, 1)
        }

    @property
    def background(self) -> frozenset[str]:
        """The drugs that every arm takes; none if there is one arm."""
        drugs = [set(arm.drugs) for arm in self.arms.values()]
        return frozenset(set.intersection(*drugs)) if len(drugs) > 1 else frozenset()

    def find_treatment(self, title: str, description: str) -> ArmTreatment:
        """Find what a group of results got: from its title, the arm with that title, and its description."""
        if _is_sequence(title):
            return UNKNOWN
        arm = self._find_arm(title)
        if arm is not None:
            return self._treat({**arm, "label": title, "interventions": arm.get("interventions", ())})
        for text in (title, description):
            treatment = self._match_arms(self._read_text(text))
            if treatment.role != "unknown":
                return treatment._replace(dose=_find_dose(title))
        return UNKNOWN

    def _match_arms(self, treatment: ArmTreatment) -> ArmTreatment:
        """Complete what a group's own words name by the one registered arm that got it: partners may go unnamed."""
        arms = [arm for arm in self.arms.values() if arm.role == "drug"]
        if treatment.role != "drug" or not arms:
            return treatment
        own = set(treatment.drugs) - self.background
        near = [arm for arm in arms if own <= set(arm.drugs)]
        same = [arm for arm in near if own == set(arm.drugs) - self.background]
        if not near:  # a name that the registry's own list lacks, such as the one that a research code got later
            return treatment
        drugs = {frozenset(arm.drugs) for arm in same or near}
        if len(drugs) != 1:
            return UNKNOWN
        return (same or near)[0]

    def _find_arm(self, title: str) -> Mapping[str, Any] | None:
        """Find the arm with a group's title: to the letter, but for fillers, or with one's words all in the other's.

        Several near ones count as one if they got the same, as the doses of a drug do.
        """
        same = [arm for arm in self._arms if phrase_key(str(arm.get("label") or "")) == phrase_key(title)]
        if same:
            return same[0]
        title_words = _list_words(title)
        if not title_words:
            return None
        words = [(arm, _list_words(str(arm.get("label") or ""))) for arm in self._arms]
        same = [arm for arm, label in words if label == title_words]
        if same:
            return same[0]
        near = [
            arm for arm, label in words if label and (set(label) <= set(title_words) or set(title_words) <= set(label))
        ]
        treatments = {self._treat(arm)[:2] for arm in near}
        return near[0] if len(treatments) == 1 else None

    def _treat(self, arm: Mapping[str, Any]) -> ArmTreatment:
        """Return what an arm got, by its label and its list.

        An arm that the registry types as placebo, and whose only content is unknown, is a placebo unless it lists a
        placebo beside it: then the unknown one is the other half of a double dummy.
        """
        label = str(arm.get("label") or "")
        kind = str(arm.get("type") or "")
        dose = _find_dose(label)
        if _is_sequence(label) or says("taken off", label):
            return ArmTreatment("unknown", (), kind)
        listed = [self._look_up(name) for name in arm.get("interventions", ())]
        drugs = list(dict.fromkeys(chain.from_iterable(treatment.drugs for treatment in listed)))
        in_label = self._find_named(label) or ()
        controls = [treatment.control for treatment in listed if treatment.control]
        has_inert = "placebo" in controls
        if _is_inert(label) and not in_label:
            partners = tuple(drug for drug in drugs if drug not in self._tested)
            return ArmTreatment("placebo", partners, kind)
        if self._is_without(label):
            return ArmTreatment("none", (), kind)
        is_unknown = not any(find_drugs(drug) for drug in drugs)
        if kind in _TYPED_INERT and is_unknown and not in_label and not (drugs and has_inert):
            return ArmTreatment(_TYPED_INERT[kind], (), kind)
        drugs = list(dict.fromkeys([*drugs, *in_label]))
        solvents = {"sodium chloride", "water"}
        active = tuple(drug for drug in drugs if drug not in solvents) or tuple(drugs)
        if active:
            return ArmTreatment("drug", active, kind, dose)
        if kind in _TYPED_INERT:
            return ArmTreatment(_TYPED_INERT[kind], (), kind)
        if controls and all(treatment.control for treatment in listed):
            return ArmTreatment("placebo" if has_inert else controls[0], (), kind)
        has_names = any(name for name in arm.get("interventions", ()))
        plain = self._read_text(label)
        if plain.role != "unknown" and kind != "ACTIVE_COMPARATOR":
            return plain._replace(kind=kind)
        return ArmTreatment("other_treatment" if has_names else "unknown", (), kind)

    def _look_up(self, name: str) -> _ListedTreatment:
        intervention = self._interventions.get(phrase_key(name))
        return intervention or _read_intervention({"name": name, "type": "DRUG"})

    def _read_text(self, text: str) -> ArmTreatment:
        """Read what a title or description names: known interventions, any drug, a placebo, or no treatment."""
        if not text or _is_sequence(text) or says("taken off", text):
            return UNKNOWN
        drugs = self._find_named(text)
        if drugs is None or (drugs and _is_inert(text) and not _PARTS.search(text)):
            return UNKNOWN
        if self._is_without(text):
            return ArmTreatment("none", (), "")
        if drugs:
            return ArmTreatment("drug", drugs, "")
        control = _find_control(text)
        return ArmTreatment(control, (), "") if control else UNKNOWN

    def _is_without(self, text: str) -> bool:
        """Whether a title says that its people did not get a drug: "Not on sapropterin"."""
        match = says("not on it", text)
        if match is None or self._find_in_part(text[: match.start()]):
            return False
        return bool(self._find_in_part(text[match.end() :]))

    def _find_named(self, text: str) -> tuple[str, ...] | None:
        """Find the drugs that a text names; None if one part of a combination names what nobody registered."""
        plain = _OF_PLACEBO.sub(" placebo ", text)
        drugs = list[str]()
        has_stranger = False
        for part in _PARTS.split(plain):
            in_part = self._find_in_part(part)
            drugs += in_part
            words = [word for word in phrase_key(_DOSE.sub(" ", part)).split() if len(word) >= _SHORTEST]
            words = [word for word in words if word not in _COMMON and not word[0].isdigit()]
            is_plain = _find_control(part) is not None
            has_stranger = has_stranger or not (in_part or is_plain or not words)
        if drugs and has_stranger and len(_PARTS.split(plain)) > 1 and len(text) < _LONGEST_TITLE:
            return None
        return tuple(dict.fromkeys(drugs))

    def _find_in_part(self, part: str) -> list[str]:
        drugs = [drug.name for drug in find_drugs(part)]
        key = f" {phrase_key(part)} "
        active = [treatment for treatment in self._interventions.values() if treatment.drugs]
        for treatment in active:
            if any(f" {name} " in key for name in treatment.keys if name):
                drugs += treatment.drugs
        if not drugs and len(part) < _LONGEST_TITLE:
            drugs += self._find_by_words(part, active)
        combinations = [drug for drug in drugs if "/" in drug]
        parts = set(chain.from_iterable(drug.split("/") for drug in combinations))
        return [drug for drug in dict.fromkeys(drugs) if drug not in parts]

    def _find_by_words(self, part: str, active: Sequence[_ListedTreatment]) -> list[str]:
        """Find interventions by a word that no other one has: "Oral Nitrite" for "Sodium Nitrite"."""
        words = _list_telling_words(part)
        hits = [treatment for treatment in active if words & treatment.words]
        distinct = {treatment.drugs for treatment in hits}
        return list(hits[0].drugs) if len(distinct) == 1 else []


def find_role(trial: Trial, drug: str) -> tuple[Role, bool]:
    """Derive a drug's role from the arms of a registered trial, and whether its own effect is separable.

    It is background if every arm combines it with different drugs, a comparator if only other drugs are in experimental
    arms. Its effect is separable if it is given alone, or another arm has all the drugs given with it.
    """
    arms = [(arm.kind, frozenset(arm.drugs)) for arm in TrialTreatments(trial).arms.values()]
    having = [(kind, drugs - {drug}) for kind, drugs in arms if drug in drugs]
    others = [drugs for _, drugs in arms if drug not in drugs]
    alone = not having or any(not partners or _is_within_one(partners, others) for _, partners in having)
    if having and not others and len({partners for _, partners in having}) > 1:
        return "background", alone
    is_rival = having and not any(kind == "EXPERIMENTAL" for kind, _ in having)
    if is_rival and any(kind == "EXPERIMENTAL" for kind, _ in arms):
        return "comparator", alone
    return "tested", alone


def _is_within_one(partners: frozenset[str], others: Iterable[frozenset[str]]) -> bool:
    return any(partners <= drugs for drugs in others)


def _read_intervention(entry: Mapping[str, Any]) -> _ListedTreatment:
    name = str(entry.get("name") or "")
    names = [name, *map(str, entry.get("other_names") or ())]
    is_placebo = _is_inert(name) and "/" not in name and not _PARTS.search(name)
    text = "placebo" if is_placebo else _OF_PLACEBO.sub(" placebo ", name)
    drugs = [drug.name for drug in find_drugs(text)]
    control = None if drugs else _find_control(text)
    if not drugs and not control:
        others: list[str] = []
        for other in names[1:]:
            others += [drug.name for drug in find_drugs(_OF_PLACEBO.sub(" ", other))]
        is_drug = str(entry.get("type") or "DRUG") in _OF_DRUGS
        drugs = others[:1] or ([_write_registry_name(name)] if is_drug and name else [])
    keys = tuple(phrase_key(spelling) for spelling in (*names, *drugs)) if drugs else ()
    words = frozenset[str]().union(*map(_list_telling_words, names if drugs else ()))
    return _ListedTreatment(tuple(dict.fromkeys(drugs)), control, keys, words)


def _write_registry_name(name: str) -> str:
    """Return the registry's name of an unknown drug without its dose; a research code alone, if there is one."""
    code = _CODE.search(name)
    return code.group().lower() if code else _FROM_DOSE.sub("", name).strip().lower() or name.lower()


def _list_telling_words(text: str) -> frozenset[str]:
    words = (word.removesuffix("s") for word in phrase_key(_DOSE.sub(" ", text)).split())
    telling = (word for word in words if len(word) >= _TELLING or (len(word) > 1 and not word.isalpha()))
    return frozenset(word for word in telling if word not in _COMMON and not word.isdigit())


def _list_words(label: str) -> list[str]:
    return _FILLERS.sub(" ", label.lower()).split()


def _find_control(text: str) -> ArmRole | None:
    """Find what a text names where it names no drug."""
    if _is_inert(text):
        return "placebo"
    if says("usual care", text):
        return "usual_care"
    return "none" if says("untreated", text) else None


def _is_inert(text: str) -> bool:
    return bool(re.search(rf"\b{_INERT}\b", text, re.IGNORECASE) or says("inert by name", text))


def _is_sequence(text: str) -> bool:
    return bool(says("sequence", text) or _ARROW.search(text))


def _find_dose(text: str) -> str:
    dose = _DOSE.search(text)
    return dose.group() if dose else ""
