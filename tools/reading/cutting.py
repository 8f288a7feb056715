"""Cut a sentence into the clauses that findings are read from.

P values are written as marks (`§+` below 0.05, `§-` not), brackets and concessions are left out.
"""

import re

from . import finding_words as say

_VERB = (
    r"(?:rose|fell|did|does|do|was|were|had|has|have|is|are|declined|increased|decreased|reduced|lowered|raised|"
    r"improved|"
    r"stayed|remained|brought|gave|showed|advises|recommends|seemed|neither|may|can|could|no (?=\w+ (?:on|with)))\b"
)
_CLAUSE_END = re.compile(
    r"[;.]\s+|:\s+(?=[a-z])|,?\s+\b(?:but|whereas|while|although|though|however|yet)\b,?\s+|,\s+(?:so|with|which|"
    r"and (?:only|not|neither|nor))\s+|"
    rf"\s+and\s+(?=(?:\w+ly )?{_VERB})|,\s+and\s+(?=(?:[\w-]+\s+){{1,6}}?{_VERB})|,?\s+(?:and|or) neither\s+|"
    r"\s+and\s+(?=[\w-]+\s+(?:(?:increas|reduc|rais|lower|decreas|improv)(?:es|ed)|rose|fell|had no)\b)|"
    r",\s+(?=(?:lower|raise|reduc|increas|decreas|improv|prevent)(?:ing|ed)\b)",
    re.IGNORECASE,
)
_DIFFERENCE = re.compile(
    r",\s+(?=(?:no|without)(?: \w+){0,2} differen)|\s+(?=without(?: \w+){0,2} differen)", re.IGNORECASE
)
_EXCEPT = re.compile(r"\s*--?\s+but not [^;]{3,60}?\s--?\s", re.IGNORECASE)
_DOTTED = re.compile(r"\b(?:i\.v|p\.o|i\.m|s\.c|b\.i\.d|t\.i\.d|q\.d|i\.e|e\.g|vs|approx)\.(?=\s)", re.IGNORECASE)
_BRACKETS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
_P = re.compile(
    r"\bp(?:[-\s]?values?)?\s*(?P<sign><=|>=|[=<>≤≥]|was|of)\s*(?P<value>0?\.\d+|0|1(?:\.0+)?)", re.IGNORECASE
)


def marked(sentence: str) -> str:
    """Write p values as `§+` (below 0.05) or `§-`, and leave brackets out."""

    def mark(match: re.Match[str]) -> str:
        value, sign = float(match["value"]), match["sign"]
        return (
            "§+"
            if (value <= 0.05 if sign in ("<", "<=", "≤") else value <= 0.05 and sign not in (">", ">=", "≥"))
            else "§-"
        )

    sentence = _DOTTED.sub(lambda m: m.group().replace(".", ""), sentence)
    sentence = _EXCEPT.sub(" ", sentence)
    text = say.CONCEDED.sub(" ", sentence.rstrip(". ")) if len(sentence) > 40 else sentence.rstrip(". ")
    text = _P.sub(mark, re.sub(r"(?<=[(,;\s])(?:NS|n\.s\.|not significant)(?=[),;])", "§-", text))

    def bracket(match: re.Match[str]) -> str:
        inner = match.group()
        if re.search(r"\d\s*%?\s*(?:vs\.?|versus|against|compared (?:with|to))\s[^)]{0,12}?\d", inner):
            return " " + inner.strip(" ()[]").replace(";", ",")
        return " §+" if "§+" in inner else " §-" if "§-" in inner else ""

    return _BRACKETS.sub(bracket, text)


def clauses_of(marked: str) -> list[str]:
    """Split a marked sentence where it turns to another subject or verb."""
    parts = _CLAUSE_END.split(marked)
    if say.INERT.search(marked):
        return parts
    return [piece for part in parts for piece in _DIFFERENCE.split(part)]
