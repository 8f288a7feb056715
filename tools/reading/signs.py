"""What a view shows at a glance: counts of who stands where, beside what, in which part of the record.

Some three hundred numbers; trees and linear heads decide on them. The words stand in `signs.tsv`, a group a line.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from .features import View
from .text import groups

_COMPARING = frozenset({"than", "versus", "vs", "compared"})
_TOPICS = "animal vitro kinetics cost random review onecase people harm induced measured".split()
_TELLING = "good less more not same guarded turn".split()
_WITH_DRUG = "harm risk treat given listed aimed people measured kinetics backed animal".split()
_WITH_CONDITION = "harm risk treat people good less more aimed given".split()
_LEFT_OF_DRUG = "induced treat given listed measured backed P O risk not harm people".split()
_RIGHT_OF_DRUG = "induced causes X E good less more not same P O given treat measured versus".split()
_VERBS = frozenset("was is were has had may can appears significantly also did does".split())
_LEADING = frozenset("compared comparison relative superior alternative addition added resistant refractory".split())
_IN_TITLE = (
    "effect effects efficacy safety versus vs comparison treatment role pharmacology for in after during patients "
    "trial ? induced prevention use therapy case"
).split()
_NULLS = (
    "no significant; not significant; no difference; did not; no effect; no benefit; not effective; no "
    "improvement; not improve; not reduce; no evidence; not differ; not superior; no better; no more; failed to; "
    "not prevent; ineffective; no advantage; not support; no beneficial; lack of; not associated"
).split("; ")
Numbers = dict[str, float]
Counts = defaultdict[str, int]
_ABM = frozenset("ABM")
_SIGNS = {"DRUG": "D", "CLASS": "K", "OTHER": "O", "PLACEBO": "P", "COND": "X", "ELSE": "E"}
_NEXT = {**{word: word for word in "in for on and with of or to".split()}, "plus": "and"}


def signs(view: View) -> Numbers:
    """The numbers of a view; what is absent is 0."""
    found: Counts = defaultdict(int)
    sentences, zones = view.sentences, view.document.zones
    last = len(sentences) - 1
    for order, words in enumerate(sentences):
        for name, count in view.document.once(_of_sentence, words, zones[order], order == last):
            found[name] += count
    _title(found, sentences[0] if sentences else ())
    result = {name: float(count) for name, count in found.items()}
    result.update(_shares(view, found))
    return result


def _of_sentence(words: Sequence[str], exact: str, last: bool) -> list[tuple[str, int]]:
    """What a sentence adds to the numbers."""
    found: Counts = defaultdict(int)
    known = groups()
    zone = "M" if exact in _ABM else exact
    kinds = [(_SIGNS[word],) if word in _SIGNS else known.get(word, ()) for word in words]
    _sentence(found, words, kinds, zone, exact, last)
    for at, word in enumerate(words):
        if word == "DRUG":
            _beside_drug(found, words, kinds, at, zone)
        elif word == "OTHER":
            _beside_other(found, words, kinds, at)
        elif word in ("COND", "ELSE"):
            _beside_condition(found, words, kinds, at, "X" if word == "COND" else "E")
    return [(name, count) for name, count in found.items() if count]


def _sentence(
    found: Counts, words: Sequence[str], kinds: Sequence[tuple[str, ...]], zone: str, exact: str, last: bool
) -> None:
    """Who and what stands together in a sentence."""
    counts: Counts = defaultdict(int)
    for names in kinds:
        for name in names:
            counts[name] += 1
    for sign in "DKOPXE":
        if counts[sign]:
            found[f"s{sign}{exact}"] += 1
            found[f"n{sign}"] += counts[sign]
            if last:
                found[f"last{sign}"] = counts[sign]
    _together(found, counts, zone)
    for name in _TOPICS:
        found[f"#{name}"] += counts[name]
        if zone == "T":
            found[f"t#{name}"] += counts[name]
    if zone in "RCT" or last:
        place = "L" if last and zone != "C" else zone
        _result(found, words, counts, place, last)
        if any(word in _COMPARING for word in words):
            _compared(found, kinds, words, place)


def _together(found: Counts, counts: Mapping[str, int], zone: str) -> None:
    """What a sentence that names the drug, or the condition, is about."""
    if counts["D"]:
        for sign in "KOPXE":
            if counts[sign]:
                found[f"D{sign}{zone}"] += 1
        found[f"Dlist{zone}"] += counts["O"]
        for name in _WITH_DRUG:
            if counts[name]:
                found[f"D&{name}{zone if name in ('harm', 'treat') else ''}"] += 1
    if counts["X"]:
        found["Xlist"] += counts["E"]
        for name in _WITH_CONDITION:
            if counts[name]:
                found[f"X&{name}"] += 1
                found[f"DX&{name}"] += bool(counts["D"] or counts["K"])
        if zone in "RC":
            found[f"XO{zone}"] += counts["O"] > 0


def _result(found: Counts, words: Sequence[str], counts: Mapping[str, int], place: str, last: bool) -> None:
    """What a result or conclusion says, by whom it names first: the drug, its class, another drug, nobody."""
    who = next((sign.lower() for sign in "DKO" if counts[sign]), "n")
    for name in _TELLING:
        if counts[name]:
            found[f"{name}{place}{who}"] += counts[name]
            found[f"last{name}"] += counts[name] if last else 0
            found[f"{name}{place}X"] += counts["X"] > 0
    if (text := " ".join(words)) and any(null in text for null in _NULLS):
        found[f"null{place}{who}"] += 1
        found["lastnull"] += last
        found["nullP"] += counts["P"] > 0
        found["nullX"] += counts["X"] > 0
    found["sig" + who] += "P<" in words
    found["nonsig" + who] += "P>" in words or "ns" in words


def _compared(found: Counts, kinds: Sequence[tuple[str, ...]], words: Sequence[str], zone: str) -> None:
    """Who stands before and after the word of comparison, and what was said before it."""
    at = next(i for i, word in enumerate(words) if word in ("than", "versus", "vs", "compared"))
    before = next((k[0] for k in reversed(kinds[:at]) if k and k[0] in "DKOP"), "-")
    after = next((k[0] for k in kinds[at:] if k and k[0] in "DKOP"), "-")
    found[f"cmp{before}{after}"] += 1
    names = {name for k in kinds[:at] for name in k}
    for name in ("good", "less", "more", "not", "same"):
        if name in names:
            found[f"cmp{before}{after}{name}"] += 1
    if zone in "CT":
        found[f"cmp{before}{after}C"] += 1


def _beside_drug(found: Counts, words: Sequence[str], kinds: Sequence[tuple[str, ...]], at: int, zone: str) -> None:
    """What stands within a few words of the drug."""
    left = {name for names in kinds[max(0, at - 4) : at] for name in names}
    right = {name for names in kinds[at + 1 : at + 5] for name in names}
    for name in _LEFT_OF_DRUG:
        found[f"{name}<D"] += name in left
    for name in _RIGHT_OF_DRUG:
        found[f"D>{name}"] += name in right
    if zone in "RC":
        for name in _TELLING[:-1]:
            found[f"D~{name}{zone}"] += any(name in names for names in kinds[at + 1 : at + 12])
    before, after = words[at - 1] if at else "^", words[at + 1] if at + 1 < len(words) else "$"
    for name in kinds[at + 1] if at + 1 < len(words) else ():
        found[f"D>>{name}"] += 1
    if after in _NEXT:
        found[f"D>>{_NEXT[after]}"] += 1
    if after in ("in", "for", "on"):
        found["DforX"] += "X" in right
        found["DforE"] += "E" in right and "X" not in right
    found["D>vs"] += after in ("versus", "vs", "compared")
    found[f"Dsubj{zone}"] += after in _VERBS
    found["Ddose"] += after in ("mg", "0")
    _before_drug(found, words, kinds, at, before)


def _before_drug(found: Counts, words: Sequence[str], kinds: Sequence[tuple[str, ...]], at: int, before: str) -> None:
    """What leads to the drug: compared with it, caused by it, after it."""
    if before in _NEXT:
        found[f"{_NEXT[before]}<<D"] += 1
    second = words[at - 2] if at > 1 else "^"
    if before in ("versus", "vs", "than"):
        found["vs<D"] += 1
        found[f"vs<D:{before}"] += 1
    elif second in _LEADING:
        found["vs<D"] += 1
        found[f"vs<D:{second}"] += 1
    found["induced<<D"] += at > 0 and "induced" in kinds[at - 1]
    found["inducedbyD"] += at > 1 and before in ("by", "with", "to", "of") and "induced" in kinds[at - 2]
    found["after<<D"] += before in ("after", "during", "following", "under")


def _beside_other(found: Counts, words: Sequence[str], kinds: Sequence[tuple[str, ...]], at: int) -> None:
    """The same for other drugs, fewer: to tell whether they, not the drug, are tested."""
    right = {name for names in kinds[at + 1 : at + 5] for name in names}
    left = {name for names in kinds[max(0, at - 4) : at] for name in names}
    for name in ("X", "good", "less", "more", "not", "given", "induced"):
        found[f"O>{name}"] += name in right
    found["given<O"] += "given" in left
    found["treat<O"] += "treat" in left
    if at and words[at - 1] in ("versus", "vs", "than"):
        found["vs<O"] += 1
    if at + 1 < len(words) and words[at + 1] in ("in", "for", "on") and "X" in right:
        found["OforX"] += 1


def _beside_condition(
    found: Counts, words: Sequence[str], kinds: Sequence[tuple[str, ...]], at: int, sign: str
) -> None:
    """What stands within a few words of a condition: the one asked about (X) or another one (E)."""
    near = kinds[max(0, at - 4) : at]
    left = {name for names in near for name in names}
    right = {name for names in kinds[at + 1 : at + 5] for name in names}
    before, after = words[at - 1] if at else "^", words[at + 1] if at + 1 < len(words) else "$"
    beside = kinds[at + 1] if at + 1 < len(words) else ()
    found[f"pts{sign}"] += (before in ("with", "from") and "people" in left) or "people" in beside
    found[f"tx{sign}"] += before in ("of", "for", "in") and "treat" in left
    for name in ("risk", "induced", "less", "good", "more", "treat", "D", "listed", "causes", "not", "harm"):
        found[f"{name}<{sign}"] += name in left
    for name in ("less", "good", "more", "induced", "causes", "same", "D", "risk", "animal", "treat", "harm"):
        found[f"{sign}>{name}"] += name in right
    found[f"{sign}due"] += after in ("due", "during", "after", "following", "secondary")
    found[f"E{sign}list"] += before in ("ELSE", "and") or after in ("ELSE", "and")
    found[f"{sign}event"] += after in ("was", "were", "occurred", "developed", "has", "resolved", "disappeared")
    found[f"{sign}score"] += after in "score scores scale relief intensity control reduction frequency".split()
    found[f"{sign}history"] += (
        bool(left & {"backed"}) or before in "without history prior previous comorbid concomitant or".split()
    )
    found[f"{sign}model"] += after in ("model", "models")
    found[f"{sign}0"] += after == "0" or before == "0"


def _title(found: Counts, words: Sequence[str]) -> None:
    """The order of things in the title, and what links drug and condition there."""
    places = {word: at for at, word in reversed(list(enumerate(words)))}
    drug, condition = places.get("DRUG"), places.get("COND")
    found["tDfirst"] = drug is not None and drug < places.get("OTHER", 99)
    if drug is not None and condition is not None:
        between = words[min(drug, condition) + 1 : max(drug, condition)]
        order = "DX" if drug < condition else "XD"
        found[f"t{order}"] = 1
        found[f"t{order}gap"] = len(between)
        for word in "in for on of with induced associated and versus treatment during by to patients".split():
            found[f"t{order}:{word}"] = word in between
        found["tDXelse"] = "ELSE" in between
    for word in _IN_TITLE:
        found[f"t:{word}"] = word in places


def _shares(view: View, found: Counts) -> Numbers:
    """The drug among drugs, the condition among conditions, and where the two are."""
    others = view.other
    mine, most = len(view.drug_at), max(others.values(), default=0)
    rivals = Counter(name for name, _, _ in view.document.conditions if name != view.condition)
    asked, top = len(view.cond_at), max(rivals.values(), default=0)
    words = max(1, len(view.words))
    gaps = sorted(abs(a - b) for a in view.drug_at for b in view.cond_at)
    return {
        "others": float(len(others)),
        "most": float(most),
        "share": mine / max(1, mine + sum(others.values())),
        "lead": float(mine - most),
        "rank": float(sum(count > mine for count in others.values())),
        "rivals": float(len(rivals)),
        "top": float(top),
        "xshare": asked / max(1, asked + sum(rivals.values())),
        "xlead": float(asked - top),
        "xrank": float(sum(count > asked for count in rivals.values())),
        "gap": float(gaps[0]) if gaps else 999.0,
        "gap2": float(gaps[len(gaps) // 4]) if gaps else 999.0,
        "dfirst": view.drug_at[0] / words if mine else 1.0,
        "dlast": view.drug_at[-1] / words if mine else 0.0,
        "xfirst": view.cond_at[0] / words if asked else 1.0,
        "xlast": view.cond_at[-1] / words if asked else 0.0,
        "words": float(words),
        "sentences": float(len(view.sentences)),
        "ptsshare": found["ptsX"] / max(1, found["ptsX"] + found["ptsE"]),
        "txshare": found["txX"] / max(1, found["txX"] + found["txE"]),
        "givenshare": found["given<D"] / max(1, found["given<D"] + found["given<O"]),
    }
