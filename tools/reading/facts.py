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
from .numbers import list_figures, tells_figures
from .participants import Number, list_numbers, settle_participants
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


def find_facts(document: Document) -> Facts:
    """Predict a record's design and number of participants; of a title alone, only its types tell the design."""
    if not document.text.strip():
        return Facts(_find_pooled_design(document) or "other", None)
    model_heads = load_heads()
    learned = cast(Design, model_heads["design"].choose_class(list_design_features(document)))
    design = _settle_design(document, learned)
    features_of = list_candidates(document, learned)
    weight = map_weights(model_heads["participants"]).get
    # Features keep their order: sums of floating-point numbers depend on it.
    best = max(features_of, key=lambda value: sum(weight(name, 0.0) for name in features_of[value]))
    return Facts(design, settle_participants(document, None if best == NOT_REPORTED else best))


def _settle_design(document: Document, learned: Design) -> Design:
    """Correct a predicted design where the text announces a study, or indexers call a review systematic."""
    if learned in _ANNOUNCED and has_no_result(document) and any(says("announces", line) for line in document.body):
        return "protocol"
    if learned in ("review", "other"):
        return _find_pooled_design(document) or learned
    return learned


def _find_pooled_design(document: Document) -> Design | None:
    """Return the design of a systematic review or meta-analysis by its publication types; None if they name neither."""
    return next((design for kind, design in _POOLED.items() if kind in document.types), None)


def has_no_result(document: Document) -> bool:
    """Whether no sentence below the title gives a p value, a confidence interval, an effect size or a percentage."""
    return not any(tells_figures(line) or list_figures(line) for line in document.body)


@lru_cache(maxsize=2)
def map_weights(head: Head) -> Mapping[str, float]:
    """Map each feature of a one-class head to its weight; faster for sums of about forty."""
    return {name: float(head.weights[row, 0]) for name, row in head.rows.items()}


def list_design_features(document: Document) -> list[str]:
    """List words, word pairs and design cues, in part by where they stand, and publication types.

    Any drug is `DRUG`, as where the weights were learnt, so that no drug's name tells a design.
    """
    features: list[str] = []
    words_shown = [*document.words]
    last = len(document.sentences) - 1
    starts = [token.start for token in document.tokens]
    for _, start, end in document.drugs:
        at = bisect_left(starts, start)
        after = bisect_left(starts, end)
        if starts[at : at + 1] == [start]:
            words_shown[at:after] = ["DRUG", *[""] * (after - at - 1)]
    for order, sentence in enumerate(document.sentences):
        words = [word for word in words_shown[sentence.first : sentence.last] if word]
        part = "t:" if sentence.headed == "title" else ""
        features += [f"{part}{word}" for word in (*words, *map(" ".join, pairwise(words)))]
        if not part:
            features.append(f"^{' '.join(words[:2])}")
            where = "e:" if order == last else "a:" if order <= 2 else None
            features += [f"{where}{word}" for word in words] if where else []
    features.append(f"#long{min(last + 1, 16) // 3}")
    features += [*_list_signs(document), *(f"#type {kind}" for kind in document.types)]
    return list(dict.fromkeys(features))


@lru_cache(maxsize=1)
def _load_sign_words() -> dict[str, str]:
    rows = read_table("facts_signs.tsv", __package__)
    signs: dict[str, str] = {}
    for row in rows:
        signs |= dict.fromkeys(split_names(row["words"]), row["sign"])
    return signs


def _list_signs(document: Document) -> Iterator[str]:
    """Yield the design cues in the title and anywhere, those absent, and pairs that occur together."""
    words = _load_sign_words()
    tokens = document.tokens
    counts = Counter[str]()
    titled = set[str]()
    for sentence in document.sentences:
        for at in range(sentence.first, sentence.last):
            text = tokens[at].text
            sign = words.get(text) or (_classify_random(tokens, at, sentence) if text.startswith("random") else None)
            if sign:
                counts[sign] += 1
                titled |= {sign} if sentence.headed == "title" else set()
    present = [*sorted(counts), *(f"!{sign}" for sign in _TELLING_BY_ABSENCE if sign not in counts)]
    yield from (f"#{sign}" for sign in present)
    for sign, count in counts.items():
        yield from (f"#{least}{sign}" for least in (3, 7) if count >= least)
    yield f"#most {max(('animal', 'human', 'cell'), key=lambda sign: counts[sign])}"
    yield from (f"#{one}&{other}" for one, other in combinations(present, 2))
    yield from (f"#t {sign}" for sign in titled)
    yield from (f"#t {one}&{other}" for one, other in combinations(sorted(titled), 2))
    for one, other in product(sorted(titled), present):
        yield f"#t {one}&{other}"


def _classify_random(tokens: Sequence[Token], at: int, sentence: Sentence) -> str | None:
    """Classify a "random…" word: this study was randomised, or it refers to other trials, effects or samples."""
    after = [token.text for token in tokens[at + 1 : at + 6]]
    before = {token.text for token in tokens[max(sentence.first, at - 3) : at]}
    elsewhere = (
        before & _OF_OTHERS or after[:1] in (["effects"], ["effect"], ["sample"]) or {"trials", "studies"} & {*after}
    )
    return "other_trials" if elsewhere else "randomised"


def list_candidates(document: Document, design: str) -> dict[int, list[str]]:
    """List candidate numbers of participants with the features of each; 0 means "not reported"."""
    features_of: dict[int, dict[str, None]] = {1: {}}
    seen = Counter[int]()
    summed = set[int]()
    peopled: dict[int, None] = {}
    for order, sentence in enumerate(document.sentences):
        mentions = list(list_numbers(document, sentence))
        place = sentence.headed or f"at{min(4, 5 * order // len(document.sentences))}"
        for mention in mentions:
            seen[mention.value] += 1
            peopled |= {mention.value: None} if mention.people else {}
            context = [place, *_list_context(document.words, mention, sentence)]
            context += [f"people {place}"] if mention.people else []
            features_of.setdefault(mention.value, {}).update(dict.fromkeys(context))
        for value, features in _list_sums(document, sentence, mentions):
            summed.add(value)
            of_sum = dict.fromkeys(f"sum {name}" for name in (*features, place))
            features_of.setdefault(value, {}).update(of_sum)
    for value, own_features in features_of.items():
        size = sum(edge <= value for edge in _EDGES)
        compared = [f"size{size}", f"{design} size{size}", f"times{min(seen[value], 4)}"]
        compared += ["largest", f"{design} largest"] if value == max(peopled, default=0) else []
        compared += ["adds up", f"adds up {value in peopled}"] if value in summed and value in seen else []
        compared += ["single"] if value == 1 else []
        if value in peopled:
            compared += [f"above{min(sum(other > value for other in peopled), 3)}"]
            compared += ["foremost"] if value == next(iter(peopled)) else []
        own_features.update(dict.fromkeys(compared))
    some = f"people{min(len(peopled), 3)}"
    nothing = ["none", f"none {design}", f"none {some}", f"none {design} {some}"]
    return {NOT_REPORTED: nothing} | {value: list(features) for value, features in features_of.items()}


def _list_context(words: Sequence[str], mention: Number, sentence: Sentence) -> Iterator[str]:
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


def _list_sums(document: Document, sentence: Sentence, mentions: Sequence[Number]) -> Iterator[tuple[int, list[str]]]:
    """Yield sums and multiples of a sentence's numbers, with the features of how each was formed."""
    words = document.words
    arms = [mention for mention in mentions if mention.arm]
    rest = [mention for mention in mentions if not mention.arm]
    if len(arms) > 1:
        yield _add_up("n", words, sentence, arms)
    for one, other in pairwise(rest):
        if (one.people or other.people) and other.first - one.last < 20:
            kind = f"{'people' if one.people else '-'} {'people' if other.people else '-'}"
            yield _add_up(kind, words, sentence, (one, other))
    for three in zip(rest, rest[1:], rest[2:], strict=False):
        if three[0].people and three[2].first - three[0].last < 30:
            yield _add_up("three", words, sentence, three)
    people = [mention for mention in rest if mention.people]
    yield from (_add_up(f"people {least}", words, sentence, people[:least]) for least in (3, 4) if len(people) >= least)
    texts = {token.text for token in document.tokens[sentence.first : sentence.last]}
    if texts & {"each", "per", "equal", "equally"}:
        plausible = [mention for mention in mentions if 3 <= mention.value <= 2000]
        for mention, factor in product(plausible, (2, 3, 4)):
            has_factor = not texts.isdisjoint(_MULTIPLE[factor])
            features = [f"each{factor} {has_factor}", f"each people {mention.people}", f"each arm {mention.arm}"]
            yield factor * mention.value, features


def _add_up(kind: str, words: Sequence[str], sentence: Sentence, parts: Sequence[Number]) -> tuple[int, list[str]]:
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


def convert_design(
    design: Design, text: str = "", mesh_terms: Iterable[str] = (), participants: int | None = None
) -> StudyDesign:
    """Convert a reading's design to the report's; randomised trials also get their blinding.

    Args:
        design: the design in the reading.
        text: title and abstract; the first mention of open or blinded decides.
        participants: more than one makes a case report a series; None: not reported.
        mesh_terms: descriptor names, with or without qualifiers (`Migraine/drug therapy`).

    >>> convert_design("rct", "A randomised, double-blind trial")
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


def find_purpose(document: Document, quote: str) -> Purpose:
    """Classify the purpose of a quoted sentence: from its own words, else the title, else most of the record.

    Reviews cover treating attacks and then preventing them: where neither purpose prevails, the one mentioned last
    before the quote applies. A sentence that mentions both decides nothing on its own.

    >>> review = Document("Migraine", "In the acute attack all help. Triptans are effective. Prophylaxis is rare.")
    >>> find_purpose(review, "Triptans are effective.")
    'relief'
    """
    at = next((sentence.order for sentence in document.sentences if quote and quote in sentence.quote), 0)
    uses = [(_is_used_for("prevention", text), _is_used_for("relief", text)) for text in document.lines]
    prevents = sum(prevention for prevention, _ in uses)
    relieves = sum(relief for _, relief in uses)
    whole = (prevents >= 2 * relieves, relieves >= 2 * prevents)
    for prevention, relief in (*uses[at : at + 1], *uses[:1], whole, *reversed(uses[:at])):
        if prevention != relief:
            return "prevention" if prevention else "relief"
    return "prevention" if uses and uses[at][0] else "unknown"


@lru_cache(maxsize=4096)
def _is_used_for(use: str, text: str) -> bool:
    return says(use, cue_regex(f"not {use}", __package__).sub(" ", text)) is not None
