"""Predict a record's study design and number of participants with small learned models; find the purpose of a quote.

No publication type decides a design alone, since they can be wrong (a review tagged as a trial). The number of
participants is one of the numbers in the text, or a sum of its arms, picked by the words around each.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise, product
from typing import Literal, cast

from ..lexicon.heads import Head, load_heads
from ..lexicon.matching import cue_regex, read_table, split_names
from .document import Document, Sentence
from .numbers import figures, tells_figures
from .participants import Number, numbers_of, settle_participants
from .reading import Design, StudyDesign
from .text import Token, plain, says

NOT_REPORTED = 0
"""Candidate value for "not reported"."""

_MULTIPLE = {2: ("two", "2"), 3: ("three", "3"), 4: ("four", "4")}
_TELLING_BY_ABSENCE = (
    "randomised", "blind", "placebo", "human", "compared", "group", "animal", "cell", "review", "control", "versus",
    "assigned", "search",
)  # fmt: skip
_OF_OTHERS = frozenset(
    "previous further large larger future more few without no other existing published several available need prior "
    "from mendelian non not".split()
)
_ANNOUNCED = frozenset({"rct", "cohort", "case_control", "cross_sectional", "protocol", "other"})
"""Designs of single studies, which can be announced; a review speaks of studies that others announce."""
_POOLED: Mapping[str, Design] = {"meta-analysis": "meta_analysis", "systematic review": "systematic_review"}
_EDGES = (1, 2, 4, 8, 15, 30, 60, 120, 250, 600, 1500, 5000, 50_000)


@dataclass(frozen=True, slots=True)
class Facts:
    """Design and size of the study a record reports."""

    design: Design
    participants: int | None
    """Number of people or animals randomised or analysed; None: not reported."""


def facts_of(document: Document) -> Facts:
    """Predict a record's design and number of participants; of a title alone, only its types tell the design."""
    if not document.text.strip():
        return Facts(_pooled_by_type(document) or "other", None)
    known = load_heads()
    learned = cast(Design, known["design"].choose_class(design_features(document)))
    design = _settle_design(document, learned)
    found = candidates(document, learned)
    weight = weight_of(known["participants"]).get
    best = max(found, key=lambda value: sum(weight(name, 0.0) for name in found[value]))
    return Facts(design, settle_participants(document, None if best == NOT_REPORTED else best))


def _settle_design(document: Document, learned: Design) -> Design:
    """Correct a predicted design where the text announces a study, or indexers call a review systematic."""
    if learned in _ANNOUNCED and has_no_result(document) and any(says("announces", line) for line in document.body):
        return "protocol"
    if learned in ("review", "other"):
        return _pooled_by_type(document) or learned
    return learned


def _pooled_by_type(document: Document) -> Design | None:
    """Return the design of a systematic review or meta-analysis by its publication types; None if they name neither."""
    return next((design for kind, design in _POOLED.items() if kind in document.types), None)


def has_no_result(document: Document) -> bool:
    """Whether no sentence below the title gives a p value, a confidence interval, an effect size or a percentage."""
    return not any(tells_figures(line) or figures(line) for line in document.body)


@lru_cache(maxsize=2)
def weight_of(head: Head) -> Mapping[str, float]:
    """Map each feature of a one-class head to its weight; faster for sums of about forty."""
    return {name: float(head.weights[row, 0]) for name, row in head.rows.items()}


def design_features(document: Document) -> list[str]:
    """List words, word pairs and design cues, in part by where they stand, and publication types.

    Any drug is `DRUG`, as where the weights were learnt, so that no drug's name tells a design.
    """
    found: list[str] = []
    shown = [*document.words]
    last = len(document.sentences) - 1
    starts = [token.start for token in document.tokens]
    for _, start, end in document.drugs:
        at = bisect_left(starts, start)
        after = bisect_left(starts, end)
        if starts[at : at + 1] == [start]:
            shown[at:after] = ["DRUG", *[""] * (after - at - 1)]
    for order, sentence in enumerate(document.sentences):
        words = [word for word in shown[sentence.first : sentence.last] if word]
        part = "t:" if sentence.headed == "title" else ""
        found += [f"{part}{word}" for word in (*words, *map(" ".join, pairwise(words)))]
        if not part:
            found.append(f"^{' '.join(words[:2])}")
            where = "e:" if order == last else "a:" if order <= 2 else None
            found += [f"{where}{word}" for word in words] if where else []
    found.append(f"#long{min(last + 1, 16) // 3}")
    found += [*_signs(document), *(f"#type {kind}" for kind in document.types)]
    return list(dict.fromkeys(found))


@lru_cache(maxsize=1)
def _sign_words() -> dict[str, str]:
    rows = read_table("facts_signs.tsv", __package__)
    return {word: row["sign"] for row in rows for word in split_names(row["words"])}


def _signs(document: Document) -> Iterator[str]:
    """Yield the design cues in the title and anywhere, those absent, and pairs that occur together."""
    words = _sign_words()
    tokens = document.tokens
    counts = Counter[str]()
    titled = set[str]()
    for sentence in document.sentences:
        for at in range(sentence.first, sentence.last):
            text = tokens[at].text
            sign = words.get(text) or (_random(tokens, at, sentence) if text.startswith("random") else None)
            if sign:
                counts[sign] += 1
                titled |= {sign} if sentence.headed == "title" else set()
    present = [*sorted(counts), *(f"!{sign}" for sign in _TELLING_BY_ABSENCE if sign not in counts)]
    yield from (f"#{sign}" for sign in present)
    yield from (f"#{least}{sign}" for sign, count in counts.items() for least in (3, 7) if count >= least)
    yield f"#most {max(('animal', 'human', 'cell'), key=lambda sign: counts[sign])}"
    yield from (f"#{one}&{other}" for one, other in combinations(present, 2))
    yield from (f"#t {sign}" for sign in titled)
    yield from (f"#t {one}&{other}" for one, other in combinations(sorted(titled), 2))
    yield from (f"#t {one}&{other}" for one in sorted(titled) for other in present)


def _random(tokens: Sequence[Token], at: int, sentence: Sentence) -> str | None:
    """Classify a "random…" word: this study was randomised, or it refers to other trials, effects or samples."""
    after = [token.text for token in tokens[at + 1 : at + 6]]
    before = {token.text for token in tokens[max(sentence.first, at - 3) : at]}
    elsewhere = (
        before & _OF_OTHERS or after[:1] in (["effects"], ["effect"], ["sample"]) or {"trials", "studies"} & {*after}
    )
    return "other_trials" if elsewhere else "randomised"


def candidates(document: Document, design: str) -> dict[int, list[str]]:
    """List candidate numbers of participants with the features of each; 0 means "not reported"."""
    found: dict[int, dict[str, None]] = {1: {}}
    seen = Counter[int]()
    summed = set[int]()
    peopled: dict[int, None] = {}
    for order, sentence in enumerate(document.sentences):
        mentions = list(numbers_of(document, sentence))
        place = sentence.headed or f"at{min(4, 5 * order // len(document.sentences))}"
        for mention in mentions:
            seen[mention.value] += 1
            peopled |= {mention.value: None} if mention.people else {}
            told = [place, *_around(document.words, mention, sentence)]
            told += [f"people {place}"] if mention.people else []
            found.setdefault(mention.value, {}).update(dict.fromkeys(told))
        for value, told in _sums(document, sentence, mentions):
            summed.add(value)
            found.setdefault(value, {}).update(dict.fromkeys(f"sum {name}" for name in (*told, place)))
    for value, features in found.items():
        size = sum(edge <= value for edge in _EDGES)
        told = [f"size{size}", f"{design} size{size}", f"times{min(seen[value], 4)}"]
        told += ["largest", f"{design} largest"] if value == max(peopled, default=0) else []
        told += ["adds up", f"adds up {value in peopled}"] if value in summed and value in seen else []
        told += ["single"] if value == 1 else []
        if value in peopled:
            told += [f"above{min(sum(other > value for other in peopled), 3)}"]
            told += ["foremost"] if value == next(iter(peopled)) else []
        features.update(dict.fromkeys(told))
    some = f"people{min(len(peopled), 3)}"
    nothing = ["none", f"none {design}", f"none {some}", f"none {design} {some}"]
    return {NOT_REPORTED: nothing} | {value: list(features) for value, features in found.items()}


def _around(words: Sequence[str], mention: Number, sentence: Sentence) -> Iterator[str]:
    left = [word for word in words[max(sentence.first, mention.first - 8) : mention.first] if word][-5:]
    right = [word for word in words[mention.last : min(sentence.last, mention.last + 12)] if word][:7]
    yield "number"
    yield from ["people"] if mention.people else []
    yield from ["arm"] if mention.arm else []
    for side, near in (("<", left[::-1]), (">", right)):
        yield from (f"{side}{word}" for word in near)
        yield from (f"{side}{distance}{word}" for distance, word in enumerate(near[:2], 1))
    yield f"<<{' '.join(left[-2:])}"
    yield f">>{' '.join(right[:2])}"
    yield f"<>{left[-1] if left else '^'} {right[0] if right else '$'}"
    yield from (f"s:{word}" for word in {*words[sentence.first : sentence.last]} if word.isalpha())


def _sums(document: Document, sentence: Sentence, mentions: Sequence[Number]) -> Iterator[tuple[int, list[str]]]:
    """Yield sums and multiples of a sentence's numbers, with the features of how each was formed."""
    words = document.words
    arms, rest = ([mention for mention in mentions if mention.arm is is_arm] for is_arm in (True, False))
    if len(arms) > 1:
        yield _sum("n", words, sentence, arms)
    for one, other in pairwise(rest):
        if (one.people or other.people) and other.first - one.last < 20:
            kind = f"{'people' if one.people else '-'} {'people' if other.people else '-'}"
            yield _sum(kind, words, sentence, (one, other))
    for three in zip(rest, rest[1:], rest[2:], strict=False):
        if three[0].people and three[2].first - three[0].last < 30:
            yield _sum("three", words, sentence, three)
    people = [mention for mention in rest if mention.people]
    yield from (_sum(f"people {least}", words, sentence, people[:least]) for least in (3, 4) if len(people) >= least)
    told = {token.text for token in document.tokens[sentence.first : sentence.last]}
    if told & {"each", "per", "equal", "equally"}:
        for mention, factor in product((each for each in mentions if 3 <= each.value <= 2000), (2, 3, 4)):
            named = not told.isdisjoint(_MULTIPLE[factor])
            features = [f"each{factor} {named}", f"each people {mention.people}", f"each arm {mention.arm}"]
            yield factor * mention.value, features


def _sum(kind: str, words: Sequence[str], sentence: Sentence, parts: Sequence[Number]) -> tuple[int, list[str]]:
    """Return a sum with features from the words between, before and after its parts."""
    first = parts[0]
    last = parts[-1]
    between = [word for word in words[first.last : parts[1].first] if word]
    before = [word for word in words[max(sentence.first, first.first - 6) : first.first] if word][-3:]
    after = [word for word in words[last.last : min(sentence.last, last.last + 8)] if word][:4]
    features = [kind, f"{kind} of{min(len(parts), 5)}", f"{kind} gap{min(len(between), 12) // 2}"]
    features += [f"|{word}" for word in dict.fromkeys(between)]
    features += [f"|1{word}" for word in between[:1]] + [f"|-1{word}" for word in between[-1:]]
    features += [f"<{word}" for word in before] + [f">{word}" for word in after]
    features += [f"s:{word}" for word in {*words[sentence.first : sentence.last]} if word.isalpha()]
    features.append(f"even{int(4 * min(first.value, last.value) / max(first.value, last.value))}")
    return sum(part.value for part in parts), features


_OTHERWISE = {
    "meta_analysis": "systematic_review",
    "review": "narrative_review",
    "cross_sectional": "cohort",
    "protocol": "registry_entry",
    "animal": "in_vivo",
    "other": "unknown",
}
"""Designs of readings that the report names otherwise."""
_BLIND_METHODS = frozenset({"double-blind method", "single-blind method"})


def study_design(
    design: Design, text: str = "", mesh_terms: Iterable[str] = (), participants: int | None = None
) -> StudyDesign:
    """Convert a reading's design to the report's; randomised trials also get their blinding.

    Args:
        design: the design in the reading.
        text: title and abstract; the first mention of open or blinded decides.
        participants: more than one makes a case report a series; None: not reported.
        mesh_terms: descriptor names, with or without qualifiers (`Migraine/drug therapy`).

    >>> study_design("rct", "A randomised, double-blind trial")
    <StudyDesign.rct_blinded: 'rct_blinded'>
    """
    if design == "case_report" and (participants or 1) > 1:
        return StudyDesign.case_series
    if design != "rct":
        return StudyDesign(_OTHERWISE.get(design, design))
    if _BLIND_METHODS & {term.split("/")[0].lower().strip("* ") for term in mesh_terms}:
        return StudyDesign.rct_blinded
    whole = plain(text)
    opened = says("open", whole)
    blinded = says("blinded", whole)
    if opened and (not blinded or opened.start() < blinded.start()):
        return StudyDesign.rct_open
    return StudyDesign.rct_blinded if blinded else StudyDesign.rct


Purpose = Literal["prevention", "relief", "unknown"]


def purpose_at(document: Document, quote: str) -> Purpose:
    """Classify the purpose of a quoted sentence: from its own words, else the title, else most of the record.

    Reviews cover treating attacks and then preventing them: where neither purpose prevails, the one mentioned last
    before the quote applies. A sentence that mentions both decides nothing on its own.

    >>> review = Document("Migraine", "In the acute attack all help. Triptans are effective. Prophylaxis is rare.")
    >>> purpose_at(review, "Triptans are effective.")
    'relief'
    """
    at = next((sentence.order for sentence in document.sentences if quote and quote in sentence.quote), 0)
    told = [(_used_for("prevention", text), _used_for("relief", text)) for text in document.lines]
    prevents, relieves = (sum(each) for each in zip(*told, strict=True)) if told else (0, 0)
    whole = (prevents >= 2 * relieves, relieves >= 2 * prevents)
    for prevention, relief in (*told[at : at + 1], *told[:1], whole, *reversed(told[:at])):
        if prevention != relief:
            return "prevention" if prevention else "relief"
    return "prevention" if told and told[at][0] else "unknown"


@lru_cache(maxsize=4096)
def _used_for(use: str, text: str) -> bool:
    return says(use, cue_regex(f"not {use}", __package__).sub(" ", text)) is not None
