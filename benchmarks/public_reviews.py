"""MedEvidence: what a Cochrane review concluded, from the abstracts of its own studies.

Polzak and others 2025, https://arxiv.org/abs/2505.22787; data at https://github.com/zy-f/med-evidence. A question
compares an intervention with another on one outcome; the answer is higher, lower, no difference, uncertain effect or
insufficient data, and most have the review's GRADE certainty. Published: the best of 24 language models is right on
63 % or less, with full texts where they are open.

Each study is read for the intervention, by the name that the study has for it: a drug, one of the class, or words of
the question, with the outcome as the condition, and where that tells no effect, with the condition of its title. Since
the review chose it for that outcome, a study that names the intervention tells some effect: where the reader tells
none, the most probable. Effects are added up by participants, and the largest side answers. Whether more of an outcome
is good is told as for outcomes of the registry. The certainty is that of the finding: studies that agree with it count
as support, the others against it, and all as being on the condition and against the comparator that is asked about,
for the same reason. Very low certainty is an uncertain effect; no study that names the intervention is insufficient
data, of very low certainty.

A file holds one question a line, as the source's `.jsonl` has them: `question`, `answer`, `evidence_certainty`,
`sources` by PMID with `title` and `content`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.labels import read_lines

from willowbark.tools.appraisal import Direction, appraise_candidate
from willowbark.tools.appraisal.appraised import Readings, appraise_record, load_reader
from willowbark.tools.lexicon import find_conditions, find_drug_classes, find_drugs
from willowbark.tools.lexicon.drugs import belongs_to_class
from willowbark.tools.lexicon.matching import content_words
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.encoder import load_encoder
from willowbark.tools.reading.fields import FIELDS
from willowbark.tools.reading.learned import load_weights
from willowbark.tools.reading.outcomes import is_higher_better
from willowbark.tools.reading.reading import Effect, Reading
from willowbark.tools.reading.view import View
from willowbark.tools.records.evidence import Citation, Evidence

LEVELS = ("very low", "low", "moderate", "high")
_EFFECTS: tuple[Effect, ...] = ("better", "no_difference", "worse")
UNKNOWN_SIZE = 50
"""Participants of a study that does not tell them, as a weight."""
_QUESTION = re.compile(
    r"^(?:Is|Are) (?:the )?(?P<outcome>.+?) higher, lower, or the same when comparing\s+"
    r"(?P<intervention>.+(?= to )|.+?(?= (?:and|with) )) (?:to|and|with)(?: only)? (?P<comparator>.+?)\s*\?\s*$"
)
_MEASURED = re.compile(
    r"^(?:overall |mean )?(?:risk|rate|incidence|likelihood|frequency|proportion|number|measures?) of (?:the |any )?",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\s+(?:(?:at|after|within|by) (?!birth)[\w‐-]*(?:\d|two|three|five|six|twelve|eight|any).*|"
    r"\d+ \(.*|for patients .*|in (?:people|patients|children|women) .*)$"
)


class Comparison(NamedTuple):
    """A question: did the intervention change the outcome, against the comparator?"""

    intervention: str
    comparator: str
    outcome: str


def compare(question: str) -> Comparison | None:
    """What a question compares; None where it is put otherwise.

    >>> compare("Is the risk of stroke at two years higher, lower, or the same when comparing aspirin to placebo?")
    Comparison(intervention='aspirin', comparator='placebo', outcome='stroke')
    """
    match = _QUESTION.match(question.replace("‐", "-"))
    if match is None:
        return None
    outcome = _WHEN.sub("", _MEASURED.sub("", match["outcome"])).strip()
    return Comparison(match["intervention"].strip(), match["comparator"].strip(), outcome)


def find_name(document: Document, comparison: Comparison) -> str | None:
    """What a study calls the intervention: a drug, one of its class, or most of the question's words; None for none."""
    interventions = {mention.name for mention in find_drugs(comparison.intervention)}
    distinct = interventions - {mention.name for mention in find_drugs(comparison.comparator)} or interventions
    classes = [mention.name for mention in find_drug_classes(comparison.intervention)]
    names = [name for name, _ in Counter(name for name, _, _ in document.drugs).most_common()]
    fitting = [name for name in names if name in distinct]
    fitting += [name for name in names if belongs_to_class(name, (), classes)]
    if fitting:
        return fitting[0]
    text = f" {_simplify(document.whole)} "
    compared = f" {_simplify(comparison.comparator)} "
    parts = re.split(r"[()]", comparison.intervention)
    runs = chain.from_iterable(_list_runs(_simplify(part).split()) for part in parts)
    fit = [run for run in runs if f" {run} " in text and f" {run} " not in compared and content_words(run)]
    return max(fit, key=len, default=None)


def _list_runs(words: Sequence[str]) -> Iterator[str]:
    """List all that stands side by side of some words, the longest first."""
    for length in range(len(words), 0, -1):
        for first in range(len(words) - length + 1):
            yield " ".join(words[first : first + length])


def _simplify(text: str) -> str:
    return " ".join(re.findall(r"[\w-]+", text.lower().replace("‐", "-")))


def read_effect(title: str, abstract: str, comparison: Comparison, condition: str | None = None) -> Reading | None:
    """What the default reader says of the intervention on the outcome.

    Args:
        title: of the study.
        abstract: of the study.
        comparison: what is compared.
        condition: read for where no effect on the outcome is told; None for none.

    Returns:
        Some effect; None where the study does not name the intervention.
    """
    document = Document(title, abstract)
    name = find_name(document, comparison)
    if name is None:
        return None
    readings = []
    for condition_read in filter(None, (comparison.outcome, condition)):
        reading = load_reader().read_document(document, name, condition_read)
        readings.append(reading)
    with_effect = [reading for reading in readings if reading.effect in _EFFECTS]
    if with_effect:
        return with_effect[0]
    states = load_encoder().encode(View(document, name, comparison.outcome))
    chances = dict(zip(FIELDS["effect"], load_weights().probabilities(states, document.zones)["effect"], strict=True))
    return readings[0].model_copy(update={"effect": max(_EFFECTS, key=lambda effect: chances[effect])})


def find_direction(effect: Effect, outcome: str) -> str:
    """An effect for the patient as higher, lower or no difference of an outcome.

    An outcome of which nobody says whether more is good counts as bad, as events and symptoms are.
    """
    if effect == "no_difference":
        return "no difference"
    return "higher" if (effect == "better") == bool(is_higher_better(outcome)) else "lower"


def rate_certainty(studies: Sequence[tuple[Evidence, Reading]], agreeing: Effect, comparison: Comparison) -> str:
    """The certainty of a finding, by the product's own appraisal of studies that compare what the review asked.

    Args:
        studies: each with its reading.
        agreeing: the effect that was found; studies with it are taken as support, others as against.
        comparison: what is compared.
    """
    question = parse_question(f"Does {comparison.intervention} change {comparison.outcome}?")
    items = []
    for record, reading in studies:
        item = appraise_record(record, reading.drug, question, Readings(given=[reading])).item
        side = Direction.supports if reading.effect == agreeing else Direction.contradicts
        chosen = {"tested": True, "alone": True, "indication": "condition", "in_title": True, "comparator_works": True}
        size = item.sample_size or reading.participants  # of a study whose arms name no drug the product counts nobody
        items.append(item.model_copy(update={**chosen, "direction": side, "sample_size": size}))
    return appraise_candidate(items).certainty.level.said


def answer(row: Mapping[str, Any]) -> tuple[str, str]:
    """The answer to a question, and its certainty."""
    comparison = compare(row["question"])
    if comparison is None:
        return "insufficient data", "very low"
    sizes = Counter[Effect]()
    studies = list[tuple[Evidence, Reading]]()
    for pmid, source in row["sources"].items():
        record = _make_record(pmid, source)
        condition = next((mention.name for mention in find_conditions(source["title"])), None)
        reading = read_effect(source["title"], source["content"] or "", comparison, condition)
        if reading:
            sizes[reading.effect] += reading.participants or UNKNOWN_SIZE
            studies.append((record, reading.model_copy(update={"key": record.key})))
    if not sizes:
        return "insufficient data", "very low"
    effect = sizes.most_common(1)[0][0]
    certainty = rate_certainty(studies, effect, comparison)
    if certainty == "very low":
        return "uncertain effect", certainty
    return find_direction(effect, comparison.outcome), certainty


def _make_record(pmid: str, source: Mapping[str, Any]) -> Evidence:
    cited = Citation(source="pubmed", title=source["title"], url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/")
    text = f"{source['title']}\n\n{source['content']}" if source["content"] else source["title"]
    return Evidence(content=text, citation=cited, metadata={"pmid": pmid, "has_abstract": bool(source["content"])})


def measure_reviews(file: Path) -> Iterator[str]:
    """How many answers and certainties are those of the reviews."""
    rows = list(read_lines(file))
    answered = [(row, *answer(row)) for row in rows]
    right = sum(row["answer"] == answer for row, answer, _ in answered)
    yield (
        f"    answers: {right} of {len(answered)} right ({right / len(answered):.1%}); published: 63 % or less, "
        "the best of 24 language models"
    )
    for name, count in Counter(row["answer"] for row in rows).most_common():
        answered_so = sum(answer == name for _, answer, _ in answered)
        hit = sum(row["answer"] == answer == name for row, answer, _ in answered)
        yield f"        {name}: {hit} of {count}, told {answered_so}"
    rated = [(row["evidence_certainty"], level) for row, _, level in answered if row["evidence_certainty"]]
    far = [abs(LEVELS.index(rating) - LEVELS.index(level)) for rating, level in rated]
    near = sum(distance <= 1 for distance in far)
    yield f"    certainty within one level: {near} of {len(far)} ({near / len(far):.1%}), the same {far.count(0)}"
