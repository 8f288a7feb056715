"""What part a drug plays in a study: the one tested, or one that everybody got, that did the harm or stood by.

A comparison speaks of what differs between its arms. A drug in every arm, a rescue drug, a premedication, a challenge
agent or the cause of the illness is named in such a record, but nothing is found out about it.
"""

import re

_BEFORE = re.compile(
    r"\b(?:on top of|added to|adding to|addition (?:of \S+ )?to|background(?: of)?|(?:un|inadequately |"
    r"poorly )controlled "
    r"(?:on|by|with)|already (?:on|taking|receiving|treated with)|despite|history of|"
    r"all (?:\w+ )?(?:given|received|took|on|were given)|previously (?:on|treated with|received)|resistan(?:t|ce) to|"
    r"refractory to|unresponsive to|(?:not|never) respond\w* to|fail(?:ed|ure) (?:of|on|with|to respond to)|"
    r"(?:inadequate|incomplete|insufficient|poor) (?:clinical )?respon(?:se|ders?) to|non-?respon(?:se|ders?) to|"
    r"intoleran(?:t|ce) (?:of|to)|(?:stable|stabili[sz]ed|maintained|established) on|pre-?treat(?:ed|ment) with|"
    r"pre-?medicat\w+ with|rescue(?: antiemetic| medication| therapy| treatment)?|discontinu\w+(?: of)?|"
    r"caused by|due to|induced by|(?:toxicity|poisoning|overdose) (?:of|with|by)|exposure to|chemotherapy with|"
    r"hypersensitivity to|allerg(?:y|ic) to|(?:responsiveness|hyperresponsiveness|sensitivity|challenge) (?:to|with)|"
    r"(?:positive|active) controls?,?|an(?:a)?esthesia with)\s*[,(]?\s*(?:[\w.-]+\s+){0,4}$|"
    r"\b(?:all|both) (?:\w+ ){0,2}(?:patients|subjects|groups|arms|children|participants|"
    r"women) (?:also )?(?:received|took|were "
    r"given|were treated with|had)\b[^.;]{0,60}$|"
    r"\b(?:patients?|children|adults|subjects|users|those|women|men) (?:already )?(?:on|taking|receiving|using) "
    r"(?:[\w-]+\s+){0,2}$|\bplacebo (?:plus|\+) (?:[\w-]+\s+){0,2}$|\bagainst a background of (?:[\w-]+\s+){0,2}$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"\s*(?:-(?:treated|induced|refractory|resistant|naive|pretreated|related|associated|dependent|exposed|based)\b|"
    r"(?: \w+)? (?:as needed|if needed|as rescue|rescue|was (?:given|allowed|used|substituted|permitted) (?:for|as|if)|"
    r"was (?:allowed|permitted)|background|challenge|provocation|requirements?|consumption|toxicity|poisoning|"
    r"overdos\w+|"
    r"resistance|sensitivity|trough|intoxication|withdrawal|abuse|"
    r"plus placebo|\+ placebo)\b)",
    re.IGNORECASE,
)
_ANYWAY = re.compile(
    r"\b(?:on top of|background(?: of)?|despite|already (?:on|taking|receiving|treated with)|even in \w+ (?:on|under|"
    r"receiving|"
    r"taking|treated with)|(?:resistan(?:t|ce)|refractory|unresponsive|intolerant|inadequate response) to|previously "
    r"(?:on|treated with)|(?:un|inadequately |poorly )controlled (?:on|by|with)|rescue|"
    r"as needed)\s+(?:[\w.-]+\s+){0,3}$",
    re.IGNORECASE,
)
_PROPHYLAXIS = re.compile(r"-(?:induced|refractory|resistant|naive)\b| (?:as rescue|rescue)\b", re.IGNORECASE)
_JOINS_AFTER = re.compile(
    r"\s*(?:[\d.,/ -]*(?:mg|g|mcg|μg)?(?:/\w+)?\s*)?(?:\+|(?:plus|combined with|in combination with|added to|"
    r"with and without)\b)",
    re.IGNORECASE,
)
_JOINS_BEFORE = re.compile(
    r"(?:\+|\b(?:plus|combined with|in combination with|added to|adding \S+ to|addition of [\w -]+ to))\s*$",
    re.IGNORECASE,
)
_ALONE = re.compile(r"\s*(?:\w+ ){0,2}(?:alone|monotherapy|only)\b", re.IGNORECASE)
_REFERENCE = re.compile(
    r"\b(?:than|compared (?:with|to)|versus|vs\.?|over|(?:efficacy|effects?) of|superior to|"
    r"to that of)\s+(?:[\w-]+\s+){0,2}$",
    re.IGNORECASE,
)
_OR_PLACEBO = re.compile(r"\s*(?:\w+ ){0,2}(?:alone|monotherapy|only) (?:or|and|nor) ", re.IGNORECASE)
_WITH_PLACEBO = re.compile(r"\s*(?:\([^)]*\) )?(?:plus|\+)\s*(?:\w+ )?placebo\b", re.IGNORECASE)
_PLACEBO_WITH = re.compile(r"\bplacebo\s*(?:plus|\+|added to|on background)\s*$", re.IGNORECASE)
_PARTNER_BEFORE = re.compile(r"(\w{3,})\s*(?:\+|\bplus\b)\s*$", re.IGNORECASE)
_PARTNER_AFTER = re.compile(r"\s*(?:\+|plus\b)\s*(\w{3,})", re.IGNORECASE)
_WINDOW = 100  # characters before a name in which its part may be said
_PARTNERS = 2  # given beside two different drugs and never alone, a drug is not what is compared


def given_to_all(text: str, pattern: re.Pattern[str], *, has_inert: bool, others: frozenset[str] = frozenset()) -> bool:
    """Whether a drug is what every arm got: compared with itself plus something, or given beside the placebo.

    Args:
        text: title and abstract.
        pattern: the drug's names.
        has_inert: whether the record has a placebo or an untreated group.
        others: the record's other drugs; where one of them is given alone too, the drug is one of two that are tested.
    """
    if others and re.search(
        rf"\b(?:{'|'.join(map(re.escape, others))}) (?:\w+ )?(?:alone|monotherapy)\b", text, re.IGNORECASE
    ):
        return False
    alone = joined = beside_placebo = 0
    partners = set()
    for match in pattern.finditer(text):
        before, end = text[max(0, match.start() - 30) : match.start()], match.end()
        beside_placebo += bool(_WITH_PLACEBO.match(text, end) or _PLACEBO_WITH.search(before))
        partners |= {m[1].lower() for m in (_PARTNER_BEFORE.search(before), _PARTNER_AFTER.match(text, end)) if m}
        if _ALONE.match(text, end):
            if _REFERENCE.search(before) and not _OR_PLACEBO.match(text, end):
                return True
            alone += 1
        elif _JOINS_AFTER.match(text, end) or _JOINS_BEFORE.search(before):
            joined += 1
    if len(partners) >= _PARTNERS and not has_inert and not alone:
        return True
    return bool(joined and (beside_placebo or (alone and not has_inert)))


def is_aside(clause: str, start: int, end: int) -> bool:
    """Whether a clause names a drug in passing: as what the patients took anyway."""
    return bool(_ANYWAY.search(clause[max(0, start - 60) : start]) or _PROPHYLAXIS.match(clause, end))


def stands_by(text: str, pattern: re.Pattern[str]) -> bool:
    """Whether a record names a drug only as background, rescue, cause, yardstick or the like."""
    found = list(pattern.finditer(text))
    return bool(found) and all(in_background(text, m.start(), m.end()) for m in found)


def in_background(text: str, start: int, end: int) -> bool:
    """Whether a mention of a drug is of what was given before or beside the study's treatment, or of a cause."""
    sentence = text[max(0, start - _WINDOW) : start].rsplit(". ", 1)[-1]
    return bool(_AFTER.match(text, end) or _BEFORE.search(sentence))
