"""Which way a posted outcome is good for the patient, from its title, its unit and what its description says of it."""

import re
from collections.abc import Mapping
from typing import Any, Literal

Beside = Literal["safety", "pharmacokinetics", "feasibility"]

_BESIDE: tuple[tuple[Beside, re.Pattern[str]], ...] = (
    (
        "safety",
        re.compile(
            r"\b(?:adverse (?:\w+ )?(?:events?|effects?|reactions?)|TEAEs?|SAEs?|safety|tolerability|toxicit\w+|DLTs?|"
            r"side effects?|discontinu\w+ due to|laboratory abnormalit\w+|QTc?\w* (?:interval|prolongation)|"
            r"vital signs|suicidal ideation)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "pharmacokinetics",
        re.compile(
            r"\b(?:AUC(?:\d|\b|[_(\[])|Cmax|Tmax|half-life|pharmacokinetic\w*|PK|(?:plasma|serum) concentrations?|"
            r"bioavailab\w+|trough (?:level|concentration)s?|receptor occupancy|"
            r"maximum tolerated dose|recommended phase)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "feasibility",
        re.compile(
            r"\b(?:feasib\w+|acceptab\w+|adheren\w+|complian\w+|engagement|usability|satisfaction|enrol\w*ment|recruitment|retention|"
            r"retained)\b",
            re.IGNORECASE,
        ),
    ),
)
_MORE = r"(?:higher|greater|larger|increas\w*|more|positive|bigger)"
_LESS = r"(?:lower|smaller|decreas\w*|fewer|less|negative|reduc\w*)"
_OF_SCALE = r"(?:(?:\w|-|')+\W+){0,7}?"
_VALUE = (
    rf"(?:(?:\w+\W+){{0,3}}?(?:scores?|values?|numbers?|ratings?|points?|percentages?|changes?|ratios?)\W+{_OF_SCALE})?"
)
_SAYS = (
    r"(?:indicat\w*|mean\w*|represent\w*|reflect\w*|correspond\w*|signif\w*|denot\w*|suggest\w*|show\w*|impl\w+|being|is|are|=|:|"
    r"associated with|equals?)"
)
_WORSE = (
    r"(?:worse\w*|more sever\w*|(?:greater|higher|more|increased|maxim\w+) (?:\w+ ){0,3}?(?:sever\w*|disab\w*|"
    r"impair\w*|pain\w*|symptom\w*|depress\w*|anxi\w*|distress|burden|problem\w*|impact|fatigue|dysfunction|"
    r"disease activity|insomnia)|severe|poorer|deteriorat\w*|worst)"
)
_BETTER = (
    r"(?:improve\w*|better|(?:greater|higher|more|best|good) (?:\w+ ){0,3}?(?:function\w*|health|quality|well-?being|"
    r"ability|abilities|recovery|satisfaction|relief|mobility)|less sever\w*|fewer symptoms|(?:lower|less|reduced|"
    r"decreased|no) (?:\w+ ){0,3}?(?:sever\w*|disab\w*|impair\w*|pain|symptom\w*|burden|impact|depress\w*)|"
    r"reduction in \w+ severity|best)"
)
_SCALES: tuple[tuple[re.Pattern[str], bool], ...] = tuple(
    (re.compile(rf"\b{more}\b\W+{_VALUE}{_SAYS}\W+(?:(?:a|an|the|in)\W+)?{_OF_SCALE}{said}", re.IGNORECASE), up)
    for more, said, up in (
        (_MORE, _WORSE, False),
        (_MORE, _BETTER, True),
        (_LESS, _BETTER, False),
        (_LESS, _WORSE, True),
    )
)
_COUNTED = re.compile(
    r"\b(?:participants?|patients?|subjects?|people|persons|events?|probabilit\w+|proportion|percent\w*|%|number|rate)\b",
    re.IGNORECASE,
)
_DURATION = re.compile(r"^\W*(?:hours?|days?|weeks?|months?|years?|minutes?|min|h|d)\W*$", re.IGNORECASE)
_TIME_TO = re.compile(r"\btime (?:from \w+ )?(?:to|until|till)\b(?P<event>.*)", re.IGNORECASE)
_AT_LEAST = r"(?:≥|>=|>|at least|or more|greater)\W*(?:a )?\d+ ?(?:%|percent)?\W*(?:or (?:more|greater) )?"
_GOOD_EVENT = re.compile(
    r"\b(?:respon(?:se|ders?|d|ded|ding)|remission|recover\w*|cure[ds]?|heal(?:ed|ing)?|resol(?:ution|ved)|success\w*|"
    r"clear(?:ance|ed)|abstinen\w*|abstain\w*|quit\w*|cessation|surviv\w*|alive|free|freedom|relie(?:f|ved)|"
    r"improve(?:d|ment)\w*|achiev\w*|discharge[d]?|eradicat\w*|convert\w*|conversion|regress\w*)\b"
    rf"|{_AT_LEAST}(?:reduction|decrease|improvement|decline|drop)\b"
    r"|\b\d+ ?(?:%|percent)\W*(?:or (?:more|greater) )?(?:reduction|decrease|improvement)\b",
    re.IGNORECASE,
)
_BAD_EVENT = re.compile(
    r"\b(?:deaths?|died|mortality|fatal|fail(?:ure|ed)|relaps\w*|recurren\w*|progress\w*|worsen\w*|deteriorat\w*|"
    r"(?:re)?bleed\w*|h(?:a)?emorrhag\w*|infarct\w*|stroke|hospitali[sz]\w*|admission\w*|onset of|development of|"
    r"exacerbat\w*|dialysis|transplant\w*|end[- ]stage|infect\w*|fracture\w*|thrombo\w*|event|rescue|intubat\w*|"
    r"ventilat\w*|loss of|doubling)\b",
    re.IGNORECASE,
)
_NEGATED_BAD = re.compile(
    r"\b(?:free (?:of|from)|freedom from|without|absence of|no|avoid\w*|not having)\b[^,;]{0,40}|\b[\w]+-free\b",
    re.IGNORECASE,
)
_SCALE_UNIT = re.compile(r"\b(?:scores?|scale|points?|units? on)\b", re.IGNORECASE)
_WORSE_SCALES = re.compile(
    r"\b(?:MADRS|HAM-?[DA]|HDRS|HRSD|PHQ|GAD-?7|BDI|BAI|PANSS|BPRS|YMRS|Y-?BOCS|CGI|CAPS|PCL|ISI|PSQI|ESS|HIT-?6|MIDAS|"
    r"(?:MDS-)?UPDRS|EDSS|ADAS-?cog|NPI|NIHSS|DLQI|PASI|EASI|SCORAD|IGA|WOMAC|DAS-?28|BASDAI|BASFI|HAQ|SLEDAI|CDAI|"
    r"IPSS|I-PSS|FIQR?|FSS|SGRQ|ACQ|MELD|Child[- ]Pugh|WHODAS|Rankin)\b|\b(?:severity|pain|disabilit\w+|depressi\w+|"
    r"anxiety|insomnia|impairment|itch|pruritus|nausea|craving|withdrawal)\b",
    re.IGNORECASE,
)
_BETTER_SCALES = re.compile(
    r"\b(?:SF-?36|SF-?12|KCCQ|EQ-?5D\w*|KDQOL|MMSE|MoCA|ALSFRS|GAF|AQLQ|MSQ|WHOQOL|PedsQL|Barthel|IIEF|FACT-?\w?|"
    r"quality of life)\b",
    re.IGNORECASE,
)
"""Scales whose direction is fixed by their authors; others are read by what the record says of them alone."""
_HAZARD = re.compile(r"\bhazards?\b|\bHR\b", re.IGNORECASE)
_LASTING = re.compile(r"surviv|\bfree\b|freedom|duration of", re.IGNORECASE)
_CHANGE = re.compile(
    r"^(?:\w+ ){0,3}?(?:adjusted |absolute |relative |mean |median |percent(?:age)? |% |maximum |monthly )*changes?\b"
    r"(?:,? (?:from|since|to|between|at|over|after|in) (?:\w+[- ]){0,6}?)??"
    r"(?:in|of|for|from baseline[^a-z]*(?:in|of))\b",
    re.IGNORECASE,
)
_SHRINKING = re.compile(
    r"^(?:\W|mean |percent(?:age)? |% |absolute |relative )*(?:reduction|decrease|decline)s?\b", re.IGNORECASE
)
_GROWING = re.compile(r"^(?:\W|mean |percent(?:age)? |% |absolute |relative )*(?:improvement|gain)s?\b", re.IGNORECASE)


def beside_efficacy(outcome: Mapping[str, Any]) -> Beside | None:
    """What an outcome measures if it is not whether the drug works; None if it is, as far as its title says."""
    title = str(outcome.get("title") or "")
    return next((kind for kind, pattern in _BESIDE if pattern.search(title)), None)


def more_is_better(outcome: Mapping[str, Any]) -> bool | None:
    """Whether larger posted values are good for the patient; None where the record does not say.

    What the description says of the scale comes first, then what is counted, then the name of the outcome.

    Args:
        outcome: `title`, `unit`, `description` and `values` as `clinicaltrials_record.parse_results` gives them.

    >>> more_is_better({"title": "Change in monthly migraine days", "unit": "days"})
    False
    >>> more_is_better({"title": "Participants with at least a 50% reduction in attacks", "unit": "Participants"})
    True
    """
    title, unit = str(outcome.get("title") or ""), str(outcome.get("unit") or "")
    said = {up for pattern, up in _SCALES if pattern.search(f"{title}. {unit}. {outcome.get('description') or ''}")}
    if time_to := _TIME_TO.search(title):
        good = _good_event(time_to["event"])
        if good is None:
            return None
        return not good if _DURATION.match(unit) else good
    counts_people = bool(_COUNTED.search(unit))
    if counts_people and (good := _good_event(title)) is not None:
        return good
    if len(said) == 1:
        return said.pop()
    if said:
        return None
    if _SHRINKING.match(title) or _GROWING.match(title):
        return _by_sign(title, outcome)
    if _SCALE_UNIT.search(unit):
        return _by_scale(title)
    return higher_is_better(_CHANGE.sub("", title) or title)


def events_are_good(outcome: Mapping[str, Any], ratio: str) -> bool | None:
    """Whether what a ratio of hazards, odds, risks or rates counts is good; None where the record does not say.

    A hazard ratio for survival counts deaths.
    """
    title = str(outcome.get("title") or "")
    if _HAZARD.search(ratio) and _LASTING.search(title):
        return False
    time_to = _TIME_TO.search(title)
    good = _good_event(time_to["event"] if time_to else title)
    return good if good is not None or time_to else more_is_better(outcome)


def _good_event(text: str) -> bool | None:
    plainly = _NEGATED_BAD.sub(" free ", text)
    good, bad = _GOOD_EVENT.search(plainly), _BAD_EVENT.search(plainly)
    if good and bad:
        return (
            True
            if plainly.find(" free ") >= 0 or (good.start() < bad.start() and "surviv" in good.group().lower())
            else None
        )
    if good or bad:
        return bool(good)
    return None


def _by_scale(title: str) -> bool | None:
    better = bool(_BETTER_SCALES.search(title))
    return better if better or _WORSE_SCALES.search(title) else None


def _by_sign(title: str, outcome: Mapping[str, Any]) -> bool | None:
    """ "Reduction in pain": more is better where it is posted as a positive number, less where as a change below 0."""
    values = [number for each in outcome.get("values", ()) if (number := _number(each.get("value"))) is not None]
    if not values or (any(v < 0 for v in values) and any(v > 0 for v in values)):
        return None
    thing = re.sub(r"^.*?\b(?:in|of)\b", "", title, count=1)
    if _GROWING.match(title):
        return True if all(v >= 0 for v in values) else None
    better = higher_is_better(thing)
    if better is None:
        return None
    return better if values[0] < 0 or (all(v <= 0 for v in values) and any(values)) else not better


def _number(value: Any) -> float | None:
    try:
        return float(str(value).replace(",", ""))
    except ValueError:
        return None


_REVERSING = re.compile(
    r"\b(?:reduction|decrease|decline|relief|resolution|absence|free(?:dom)?|prevention|regression|"
    r"control|improvement|time (?:to|until)(?! (?:first flatus|"
    r"flatus|discharge|recovery|healing|resolution|return|onset of action|peak|achieve|ambulat\w+|"
    r"improvement|response|relief))|protection|avoidance|without|abstinence|cessation|quit\w*)\b"
    r"|-free\b|\bfree of\b",
    re.IGNORECASE,
)
_LOSS = re.compile(
    r"\b(?:loss|worsening|impairment|deterioration|deficit|failure|lack|dysfunction|decline|reduced|poor)\b",
    re.IGNORECASE,
)
_GOOD = re.compile(
    r"\b(?:surviv\w*|lived|alive|life ?span|life expectancy|respon(?:se|ders?|d)\w*|remission|"
    r"quality of life|qol|hrqol|function(?:al|ing)?|"
    r"abstinen\w*|quit\w*|cessation|success\w*|cured?|cures|healing|healed|"
    r"efficacy|e?gfr|glomerular filtration|adheren\w*|complian\w*|recover\w*|satisf\w*|tolera\w*|capacity|"
    r"walk(?:ing)? (?:distance|test)|6mwt|6mwd|strength|"
    r"bone (?:mineral )?density|bmd|h(?:a)?emoglobin|ferritin|platelet count|fev1?|fvc|pef|"
    r"peak expiratory|lvef|ejection fraction|hdl|sensitivity|"
    r"well-?being|performance|memory|cognition|cognitive|attention|mobility|range of motion|rom|flexion|"
    r"sleep (?:quality|time|efficiency|duration)|pregnanc(?:y|ies)|live births?|"
    r"birth ?weight|growth|knowledge|participation|attendance|uptake|coverage|immunogenicity|antibod\w*|"
    r"titers?|titres?|seroconversion|seroprotection|"
    r"visual acuity|vision|vo2\w*|oxygenation|saturation|pao2|clearance|eradication|analgesi\w*|benefits?|"
    r"self-?efficacy|activity|oncolog\w+ control|vitality|energy|"
    r"physical activity|completion|accuracy|improvement|resolution|relief|vital capacity|albumin (?:level|"
    r"concentration)|serum albumin|cd4\w*|ability|positive|quality|coping|independence|retention)\b",
    re.IGNORECASE,
)
_BAD = re.compile(
    r"\b(?:pain\w*|vas|nightmares?|mortality|deaths?|fatal\w*|relaps\w*|recurren\w*|attacks?|headaches?|migraines?|"
    r"seizures?|severity|symptom\w*|fatigue|proteinuria|"
    r"albuminuria|uacr|albumin[- ](?:to[- ])?creatinine|albumin excretion|creatinine|bleed\w*|"
    r"h(?:a)?emorrhag\w*|reble\w*|pressures?|hypertension|hvpg|events?|risks?|incidence|prevalence|"
    r"hospitali[sz]ation\w*|admissions?|stay|progress\w*|depress\w*|anxiety|stress|distress|infections?|"
    r"viral load|parasit\w*|hba1c|a1c|glucose|glyc(?:a)?emi[ac]|"
    r"cholesterol|ldl\w*|triglycerides?|weight|bmi|body mass|fat|waist|disabilit\w*|craving|withdrawal|"
    r"complications?|cancer|tumou?rs?|nausea|vomiting|diarrh(?:o)?ea|"
    r"inflammat\w*|crp|il-?\d+|tnf\w*|cytokines?|edema|oedema|swelling|fever|cough|dyspn(?:o)?ea|"
    r"exacerbations?|wheez\w*|itch\w*|prurit\w*|lesions?|ulcers?|"
    r"stroke|infarction|mace|thrombo\w*|embol\w*|fractures?|falls?|injur\w*|toxicit\w*|adverse|"
    r"side effects?|discontinu\w*|drop-?outs?|use of|consumption|requirements?|"
    r"duration of (?:illness|symptoms|hospital|diarrh\w+|fever|ventilation|stay|surgery)|operati(?:ve|ng|"
    r"on) time|blood loss|transfusion|insomnia|latency|resistance|need for|failure|abnormal\w*|"
    r"hypotension|"
    r"hypoglyc\w*|smok\w*|cigarettes?|drinking|scar\w*|plaque|gingiv\w*|caries|depth|hypersensitivity|"
    r"rejection|dysfunction|errors?|costs?|apn(?:o)?ea|delirium|tension|anger|confusion|"
    r"dryness|wrinkle\w*|roughness|burden|bother|madrs|hamd|ham-d|bdi|phq\w*|panss|updrs|edss|womac|das28|"
    r"sledai|pasi|acne|eczema|scorad|spasm\w*|tremor|ascites|"
    r"encephalopath\w*|nephropath\w*|retinopathy|neuropath\w*|fibrosis|steatosis|cirrhosis|disease|"
    r"disorder|syndrome)\b",
    re.IGNORECASE,
)
_UNWANTED_GROWTH = re.compile(
    r"\b(?:tumou?r|cancer|cyst|cell|bacterial|metasta\w+) (?:cell )?(?:growth|proliferation|survival|"
    r"viability|migration|invasion|activity)\b|\bmetasta\w+|\bproliferation\b|\bapoptosis of neurons\b",
    re.IGNORECASE,
)


def higher_is_better(outcome: str) -> bool | None:
    """Tell whether more of an outcome is good; None where the name does not say.

    >>> [higher_is_better(o) for o in ("pain", "reduction in pain", "survival", "loss of function", "serum zinc")]
    [False, True, True, False, None]
    """
    if _UNWANTED_GROWTH.search(outcome):
        return False
    bad, good = _BAD.search(outcome), _GOOD.search(outcome)
    reversing = _REVERSING.search(outcome)
    if reversing and bad and re.search(r"-free|free of", reversing.group()):
        return True
    if reversing and bad and reversing.start() < bad.start():
        return True
    loss = _LOSS.search(outcome)
    if loss and good and loss.start() < good.end() + 12:
        return False
    if bad and good:
        return (
            good.start() < bad.start() if re.search(r"\b(?:of|from|in|to)\b", outcome) else good.start() > bad.start()
        )
    if good:
        return True
    return False if bad else None
