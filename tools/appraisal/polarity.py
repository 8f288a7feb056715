"""Whether more of an outcome is good for the patient.

The lists name outcomes as trials do; the head of the phrase decides ("reduction in pain" is good, "pain" is bad).
"""

import re

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
