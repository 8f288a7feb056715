"""Title and first screen of a report: the answer, leading drugs, failures, harms, gaps.

Where a language model read, certainty is worded as in GRADE: a drug does, probably does or may help, or the evidence is
very uncertain (GRADE guidelines 26, J Clin Epidemiol 2020;119:126-135,
https://www.jclinepi.com/article/S0895-4356(19)30416-0/fulltext). Without one the first screen sorts: it says what is
licensed or standard, what trials report and what they missed, and words no certainty. Standards have no such words
either way: they are in use.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import chain, product
from typing import NamedTuple

from willowbark.tools.appraisal import Level
from willowbark.tools.appraisal.candidates import STANDARD, Candidate, get_drug
from willowbark.tools.appraisal.sorting import Cause, DrugPlace, TrialTally
from willowbark.tools.appraisal.suitability import (
    BARRING,
    NOT_CHECKED,
    find_withdrawals,
    is_barred,
    list_bars,
    list_people,
)
from willowbark.tools.lexicon import find_withdrawal
from willowbark.tools.questions import speaks_of
from willowbark.tools.reading.sections import get_licence
from willowbark.tools.reading.text import sentences
from willowbark.tools.records.registry import kind_of, title_of
from willowbark.tools.wording import capital, counted, listed, short

from ..checking.written import WrittenAnswer
from .answers import ReportAnswer
from .content import DrugCandidate, SummaryPart
from .material import Material
from .texts import write_line

SUMMARY_LIMIT = 1000  # characters of the executive summary, by contract
SUMMARY_LEAST = 100  # likewise
FIRST_SCREEN = 190  # words
LEADERS = 5  # candidates with their best estimates or strongest studies; down to two if space is short
MOST_LISTED = 6  # drugs of one list; down to two if space is short
LONGEST_QUOTE = 200  # characters of a strongest study's own words; fewer if space is short
CONFIDENCE = {"high": 0.9, "moderate": 0.7, "low": 0.45, "very_low": 0.2}
"""Confidence in the answer by the best candidate's certainty; our convention, given in the methods."""
CONFIDENCE_LOST = 0.1  # for each source that never answered
ADVICE = "This is not medical advice."
_FAILED = "Failed"
_MISSED = "No benefit shown"
_MIXED = "Mixed"
_NOT_JUDGED = "Not judged"
_SAFETY = ("Cautions", "Not checked")
_PRECEDENCE = (_FAILED, _MISSED, _MIXED, *_SAFETY, "Read", "Missing", _NOT_JUDGED)
_MAY_LEAD: tuple[DrugPlace, ...] = ("benefit", "standard", "mixed", "not_judged", "preclinical")
"""Places of drugs of which the first screen says whether they were looked up for the people asked about."""
_BARRING_MARKS = tuple(beginning.lower() for beginning in BARRING)
LEVELS: tuple[Level, ...] = ("high", "moderate", "low", "very low")


_CAUSES: tuple[Cause, ...] = (
    "one_trial",
    "called_effective",
    "no_clear_trial",
    "no_trial",
    "combinations",
    "reviews",
    "one_against",
)


class StandardDrug(NamedTuple):
    """A drug that is licensed or standard for the condition, as the first screen tells of it."""

    name: str
    remark: str
    """Its cautions, in how many trials it is the comparator, how many of its trials report benefit; as far as any."""
    tally: TrialTally


def write_first_screen(
    material: Material, candidates: Sequence[DrugCandidate], answered: ReportAnswer | None = None
) -> list[SummaryPart]:
    """Write the first screen: answer, leading drugs, failures, harms, gaps, records read; at most 200 words.

    Args:
        material: the report's input.
        candidates: the report's candidates, best supported first.
        answered: the answer to a question other than what helps; None for what helps.
    """
    least = 0 if answered else 1
    rooms = product(range(least, LEADERS + 1), range(1, MOST_LISTED + 1), range(1, len(_CAUSES) + 1))
    unchecked = _find_unchecked(material, candidates)
    for leading, listed_drugs, causes in sorted(rooms, key=_weigh_losses):
        parts = _write_parts(material, candidates, answered, unchecked, _Room(leading, listed_drugs, causes))
        if _count_words(parts) <= FIRST_SCREEN:
            return parts
    first, *others = parts
    lines = sentences(first.text)
    while len(lines) > 1 and _count_words([SummaryPart(text=" ".join(lines)), *others]) > FIRST_SCREEN:
        lines.pop()
    return [SummaryPart(text=" ".join(lines)), *others]


class _Room(NamedTuple):
    """How much the first screen tells."""

    leading: int
    """Drugs with an estimate or a quote."""
    named: int
    """Drugs of one list by name."""
    causes: int
    """Why drugs are not judged."""

    @property
    def quote(self) -> int:
        """Characters of a quote."""
        return LONGEST_QUOTE - 20 * (MOST_LISTED - self.named)


def _weigh_losses(room: tuple[int, int, int]) -> tuple[int, int, int, int]:
    """Order rooms, the largest first: what is lost of each weighs alike, of the leading drugs most."""
    leading, names, causes = room
    lost = 2 * (LEADERS - leading) + (MOST_LISTED - names) + (len(_CAUSES) - causes)
    return lost, -leading, -names, -causes


def _write_parts(
    material: Material,
    candidates: Sequence[DrugCandidate],
    answered: ReportAnswer | None,
    unchecked: Mapping[str, Sequence[str]],
    room: _Room,
) -> list[SummaryPart]:
    """Write all parts that there is room for."""
    helps = answered is None or material.asked.asks_openly
    answer = [short(sentence, 750) for sentence in answered.sentences] if answered else []
    if helps:
        place = len(answer) if material.asked.kind == "other" else 0
        answer.insert(place, _answer(material, candidates, room.named))
    if material.unread and (candidates or answered):
        answer.insert(0, write_line("summary", "stopped", m=material))
    parts = [SummaryPart(text=" ".join(answer))]
    if helps:
        parts += _write_leaders(material, candidates, room.quote)[: room.leading]
        in_answer = {"negative", "harm"} & {*material.asked.also}
        parts += [] if in_answer else _list_failures(candidates, room.named)
        parts += _list_harms(material, candidates)
        parts += _list_unchecked(unchecked, room.named)
        parts += _list_unjudged(material, candidates, room)
    elif material.asked.asks_what_helps:  # two drugs compared: what bars one of them is no part of the answer
        parts += _list_barred(material, candidates)
        parts += _list_unchecked(unchecked, room.named)
    parts += [
        SummaryPart(label="Missing", text=_write_missing(material, candidates, helps)),
        SummaryPart(label="Read", text=write_line("summary", "read", m=material)),
        SummaryPart(text=ADVICE),
    ]
    return [part for part in parts if part.text]


def shorten_first_screen(parts: Sequence[SummaryPart], written: WrittenAnswer | None = None) -> str:
    """Shorten the first screen to 100 to 1000 characters: the answer, as many parts as fit, the advice.

    An answer in a model's words comes in place of the computed one, in as many whole sentences as fit. Failures, harms
    and gaps take precedence over estimates for single drugs.
    """
    if written is not None and written.answer:
        return _shorten_written(parts, written)
    first, *between, last = parts
    opening = [short(first.line, SUMMARY_LIMIT - len(last.line) - 1)]
    room = SUMMARY_LIMIT - len(opening[0]) - len(last.line) - 1
    lines = list[str]()
    for part in sorted(between, key=_rank_part):
        if len(part.line) < room:
            lines.append(part.line)
            room -= len(part.line) + 1
    return " ".join([*opening, *(part.line for part in between if part.line in lines), last.line])


def _rank_part(part: SummaryPart) -> int:
    """Rank a part by what may least be missing: failures, cautions and gaps before single drugs."""
    return _PRECEDENCE.index(part.label) if part.label in _PRECEDENCE else len(_PRECEDENCE)


def _shorten_written(parts: Sequence[SummaryPart], written: WrittenAnswer) -> str:
    """Return as many sentences of a written answer as fit; cautions, what was not checked and the advice come last."""
    first = parts[0]
    last = parts[-1]
    end = f"{written.warning} {last.line}".strip()
    safety = ""
    for part in parts:
        if part.label in _SAFETY and len(safety) + len(part.line) + len(end) < SUMMARY_LIMIT // 2:
            safety = f"{safety}{part.line} "
    texts = [f"{safety}{end}"]
    room = SUMMARY_LIMIT - len(texts[0]) - 1
    texts = [*_take_in_turns(written, room), *texts]
    room -= sum(len(line) + 1 for line in texts[:-1])
    if sum(map(len, texts)) < SUMMARY_LEAST:
        texts.insert(-1, short(first.line, room - 1))
    return " ".join(texts)


def _take_in_turns(written: WrittenAnswer, room: int) -> list[str]:
    """Return the parts of a written answer in a line each, as many sentences as fit: one of each part before a second.

    The bottom line comes whole, and a part that does not fit leaves no heading.
    """
    parts = written.parts()
    turns = [
        (turn if heading else -1, at, turn) for at, (heading, part) in enumerate(parts) for turn in range(len(part))
    ]
    taken = dict[int, list[str]]()
    for _, at, turn in sorted(turns):
        heading, part = parts[at]
        text = part[turn].text
        size = len(text) + 1 + (0 if at in taken or not heading else len(heading) + 2)
        if size >= room or turn > len(taken.get(at, ())):  # a sentence may refer to the one before it
            continue
        taken.setdefault(at, []).append(text)
        room -= size
    return [f"{_label(parts[at][0])}{' '.join(taken[at])}" for at in sorted(taken)]


def _label(heading: str) -> str:
    return f"{heading}: " if heading else ""


def _count_words(parts: Sequence[SummaryPart]) -> int:
    return sum(len(part.line.split()) for part in parts)


def _answer(material: Material, candidates: Sequence[DrugCandidate], most: int) -> str:
    """Answer what helps: drugs asked about, then by place, standards after what might be repurposed."""
    question = material.asked
    by_name = [c for c in candidates if c.name in question.drugs]
    outside = [c for c in candidates if c not in by_name and c.in_asked_class is False]
    others = [c for c in candidates if c not in by_name and c not in outside]
    answered = {*(c.name for c in by_name), *(c.drug for c in material.aside)}
    standards = _list_standards(material, others, {c.name for c in candidates})
    judged = [c for c in others if _is_judged(c)]
    sorted_alone = [c for c in others if c.sorting.place == "benefit" and not c.sorting.is_read_by_model]
    is_judged = material.is_judged or any(c.sorting.is_read_by_model for c in candidates)
    preclinical = _select_place(others, "preclinical")
    withdrawn = [_write_barred(c) for c in _select_place(others, "withdrawn") if _is_supported(c)]
    unsuited = [_write_barred(c) for c in _select_place(others, "unsuited") if _is_supported(c)]
    data = {
        "m": material,
        "aim": f"{'to prevent' if question.is_preventive else 'in'} {short(material.topic)}",
        "most": most,
        "is_judged": is_judged,
        "is_sorted": not is_judged and bool(candidates or standards),
        "asked": _group_by_level([c for c in by_name if _is_judged(c)]),
        "asked_others": [c for c in by_name if not _is_judged(c)],
        "unanswered": [short(drug) for drug in question.drugs if drug not in answered],
        "empty": not candidates and not standards,
        "class_missing": bool(candidates and question.drug_classes) and not others and not standards,
        "nothing_found": bool(others) and not by_name and not judged and not sorted_alone,
        "others": _group_by_level(judged),
        "found": [(_write_name(c), c.sorting.tally) for c in sorted_alone],
        "preclinical": listed(list(map(_write_name, preclinical)), most=4),
        "standards": standards,
        "outside": listed([_write_name(c) for c in outside if _is_supported(c)], most=3),
        "unsuited": listed(unsuited),
        "unsuited_for": listed(list_people(question)),
        "both": listed(question.conditions) if question.is_both else "",
        "withdrawn": listed(withdrawn),
        "is_told": _describe_place,
    }
    return write_line("summary", "answer", a=data)


def _list_standards(
    material: Material, candidates: Sequence[DrugCandidate], named_elsewhere: Collection[str]
) -> list[StandardDrug]:
    """List what is licensed or standard for the condition, with or without a study that decides on it.

    Those with trials that can show whether they work come first, then the most used comparators.

    Args:
        material: the report's input, with drugs that are not among its candidates.
        candidates: those to list.
        named_elsewhere: names of drugs that are told elsewhere.
    """
    if not material.asked.asks_what_helps:
        return []
    standards = [_tell_standard(c.name, c.marks, c.sorting.tally) for c in _select_place(candidates, "standard")]
    for candidate in material.candidates:
        place = material.places[candidate.drug]
        if (
            place.place == "standard"
            and candidate.drug not in named_elsewhere
            and candidate.in_asked_class is not False
        ):
            standards.append(_tell_standard(candidate.drug, [], place.tally))
    return sorted(standards, key=lambda standard: (-standard.tally.trials, -standard.tally.as_comparator))


def _tell_standard(name: str, marks: Sequence[str], tally: TrialTally) -> StandardDrug:
    basis = [_describe_basis(tally)] if tally.as_comparator >= STANDARD else []
    trials = [f"{tally.reporting_benefit} of {tally.trials}"] if tally.reporting_benefit else []
    return StandardDrug(short(name), "; ".join([*marks, *basis, *trials]), tally)


def _describe_basis(tally: TrialTally) -> str:
    return f"comparator in {tally.as_comparator} trials" if tally.as_comparator >= STANDARD else "licensed"


def _select_place(candidates: Sequence[DrugCandidate], place: DrugPlace) -> list[DrugCandidate]:
    return [candidate for candidate in candidates if candidate.sorting.place == place]


def _group_by_level(candidates: Sequence[DrugCandidate]) -> list[tuple[Level, list[str]]]:
    levels = []
    for level in LEVELS:
        names = [_write_name(candidate) for candidate in candidates if candidate.certainty == level]
        if names:
            levels.append((level, names))
    return levels


def _write_name(candidate: DrugCandidate) -> str:
    """Return a drug's name, marked if it was withdrawn, is contraindicated, or was only studied for prevention."""
    marks = [*["for prevention"] * candidate.for_prevention, *_mark_outcome(candidate), *_list_marks(candidate)]
    return f"{short(candidate.name)}{f' ({listed(marks)})' if marks else ''}"


def _mark_outcome(candidate: DrugCandidate) -> list[str]:
    """Say on what the result is of a drug that a model read, where that is not efficacy itself.

    Of a drug of which nothing is sure, "whether it helps" is said of no outcome.
    """
    best = candidate.best_estimate
    is_claimed = _is_judged(candidate) and candidate.certainty != LEVELS[-1]
    is_named = best is not None and bool(best.outcome) and is_claimed
    return [f"by {best.outcome}"] if best is not None and is_named else []


def _list_marks(candidate: DrugCandidate) -> list[str]:
    """Return a drug's cautions in short but for what was not checked, which stands in a line of its own."""
    return [mark for mark in candidate.marks if not mark.startswith(NOT_CHECKED.lower())]


def _write_barred(candidate: DrugCandidate) -> str:
    """Name a drug that never leads, with its certainty where a model read: by the small reader alone none is worded."""
    return f"{short(candidate.name)}{f' ({candidate.certainty} certainty)' * candidate.sorting.is_read_by_model}"


def _is_supported(candidate: DrugCandidate) -> bool:
    return bool(candidate.supporting_citations) and candidate.evidence_quality != "refuted"


def _is_judged(candidate: DrugCandidate) -> bool:
    """Whether words of efficacy may be said of a drug: of no standard, and of nothing by the small reader alone."""
    return candidate.sorting.place == "benefit" and candidate.sorting.is_read_by_model


def _has_clear_trial(candidate: DrugCandidate) -> bool:
    """Whether a drug was judged by its trials, so that the lack of one against it is worth telling."""
    place = candidate.sorting.place
    return place == "benefit" or (place == "standard" and candidate.sorting.tally.trials > 0)


def _describe_place(candidate: DrugCandidate) -> str:
    """Tell of a drug asked about what its place says, as a clause without its name."""
    return write_line("candidates", "place", c=candidate, basis=_describe_basis(candidate.sorting.tally))


def _write_leaders(material: Material, candidates: Sequence[DrugCandidate], longest: int) -> list[SummaryPart]:
    """Give what was found of leading drugs: those asked about, then by place, standards last."""
    names = material.asked.drugs
    leaders = [c for c in candidates if c.name in names or c.sorting.place in ("benefit", "standard")]
    ordered = sorted(leaders, key=lambda c: (c.name not in names, c.sorting.place == "standard"))
    parts = []
    for candidate in ordered:
        if candidate.sorting.is_read_by_model:
            part = _write_judged_leader(candidate)
        else:
            part = _write_sorted_leader(candidate, longest)
        parts += [part] if part is not None else []
    return parts


def _write_judged_leader(candidate: DrugCandidate) -> SummaryPart | None:
    best = candidate.best_estimate
    if best is None or not _is_supported(candidate):
        return None
    standing = "standard" if candidate.sorting.place == "standard" else f"{candidate.certainty} certainty"
    return SummaryPart(label=capital(_write_name(candidate)), text=f"{standing}; {best.line}.", citations=[best.key])


def _write_sorted_leader(candidate: DrugCandidate, longest: int) -> SummaryPart | None:
    """Quote a drug's strongest trial in so many characters; None if none reports benefit in a passage."""
    study = candidate.sorting.strongest
    is_standard = candidate.sorting.place == "standard"
    if study is None or (is_standard and not candidate.sorting.tally.benefit):
        return None
    text = write_line(
        "summary",
        "strongest",
        s=study,
        tally=candidate.sorting.tally,
        quote=short(study.quote.rstrip("."), longest),
    )
    return SummaryPart(label=capital(_write_name(candidate)), text=text, citations=[study.key])


def _list_failures(candidates: Sequence[DrugCandidate], most: int) -> list[SummaryPart]:
    """Name what failed, what missed its outcome and what is mixed, each drug once; refuted ones first."""
    failed = sorted(
        _select_place(candidates, "failed"),
        key=lambda c: (c.evidence_quality != "refuted", len(c.supporting_citations) - len(c.contradicting_citations)),
    )
    missed = _select_place(candidates, "missed")
    mixed = _select_place(candidates, "mixed")
    of_failed = []
    for candidate in failed:
        refuted = "refuted, " if candidate.evidence_quality == "refuted" else ""
        of_failed.append(f"{short(candidate.name)} ({refuted}{_write_sides(candidate)})")
    of_missed = [f"{short(c.name)} ({write_line('candidates', 'missed', c=c)})" for c in missed]
    of_mixed = [
        f"{short(c.name)} ({f'{c.certainty} certainty; ' * c.sorting.is_read_by_model}{_write_sides(c)})" for c in mixed
    ]
    is_contradicted = any(map(_list_against, candidates))
    is_judged = any(_is_supported(c) and _has_clear_trial(c) for c in candidates)
    none = "no study found contradicts these drugs." if is_judged and not is_contradicted else ""
    return [
        _list_contradicted(_FAILED, failed, of_failed, most, none),
        _list_contradicted(_MISSED, missed, of_missed, most),
        _list_contradicted(_MIXED, mixed, of_mixed, most),
    ]


def _list_contradicted(
    label: str, candidates: Sequence[DrugCandidate], names: list[str], most: int, none: str = ""
) -> SummaryPart:
    """List drugs that studies contradict, with the first study against each."""
    return SummaryPart(
        label=label,
        text=f"{listed(names, most=most)}." if names else none,
        citations=list(chain.from_iterable(_list_against(candidate)[:1] for candidate in candidates[:most])),
    )


def _list_against(candidate: DrugCandidate) -> list[str]:
    return [*candidate.contradicting_citations, *candidate.missed_citations]


def _write_sides(candidate: DrugCandidate) -> str:
    return write_line("candidates", "sides", c=candidate)


def _list_unjudged(material: Material, candidates: Sequence[DrugCandidate], room: _Room) -> list[SummaryPart]:
    """Name drugs of which too little was read to say more, by cause."""
    causes = dict[Cause, list[str]]()
    for candidate in _select_place(candidates, "not_judged"):
        if candidate.name not in material.asked.drugs and candidate.in_asked_class is not False:
            name = f"{short(candidate.name)}{' (for prevention)' * candidate.for_prevention}"
            causes.setdefault(candidate.sorting.cause, []).append(name)
    if not causes:
        return []
    causes_listed = [cause for cause in _CAUSES if cause in causes][: room.causes]
    lists = [(cause, listed(causes[cause], most=room.named)) for cause in causes_listed]
    rest = sum(len(names) for cause, names in causes.items() if cause not in causes_listed)
    return [SummaryPart(label=_NOT_JUDGED, text=write_line("summary", "not_judged", lists=lists, rest=rest))]


def _list_harms(material: Material, candidates: Sequence[DrugCandidate]) -> list[SummaryPart]:
    """Name cautions by kind, each with its drugs, harms in studies last."""
    harmful = {candidate.drug for candidate in material.shown if _is_harmful(candidate)}
    kinds = dict[str, list[str]]()
    for candidate in candidates:
        is_in_answer = candidate.sorting.place == "withdrawn" and _is_supported(candidate)
        marks = [mark for mark in _list_marks(candidate) if not (is_in_answer and mark == "withdrawn")]
        for mark in (*marks, *["harm in studies"] * (candidate.name in harmful)):
            kinds.setdefault(mark, []).append(short(candidate.name))
    _add_withdrawn(kinds, material, candidates)
    return [_write_cautions(kinds)]


def _is_harmful(candidate: Candidate) -> bool:
    """Whether a study tells of harm by a drug, or was stopped for safety."""
    for record in candidate.records:
        is_against = record.key in candidate.appraisal.contradicting
        if record.harm_told or (is_against and record.item.why_stopped_kind == "safety"):
            return True
    return False


def _add_withdrawn(kinds: dict[str, list[str]], material: Material, candidates: Sequence[DrugCandidate]) -> None:
    """Add the withdrawn drugs that are asked about and are no candidates, as where a review alone tells of them."""
    names = {candidate.name for candidate in candidates}
    absent = [drug for drug in material.asked.drugs if drug not in names]
    gone = find_withdrawals(material.pool) if absent else {}
    for drug in absent:
        if drug in gone or find_withdrawal(drug):
            kinds.setdefault("withdrawn", []).append(short(drug))


def _list_barred(material: Material, candidates: Sequence[DrugCandidate]) -> list[SummaryPart]:
    """Name the drugs that never lead, by why."""
    kinds = dict[str, list[str]]()
    _add_withdrawn(kinds, material, candidates)
    for candidate in candidates:
        for mark in candidate.marks:
            if mark.startswith(_BARRING_MARKS):
                kinds.setdefault(mark, []).append(short(candidate.name))
    return [_write_cautions(kinds)]


def _write_cautions(kinds: Mapping[str, Sequence[str]]) -> SummaryPart:
    text = "; ".join(f"{mark}: {listed(names, most=4)}" for mark, names in kinds.items())
    return SummaryPart(label="Cautions", text=f"{text}." if text else "")


def _find_unchecked(material: Material, candidates: Sequence[DrugCandidate]) -> dict[str, list[str]]:
    """Find the drugs that may lead of which no label was read on the people asked about, by these people."""
    if not list_people(material.asked):
        return {}
    names = {candidate.name for candidate in candidates}
    groups = dict[str, list[str]]()
    leading = [candidate for candidate in material.candidates if material.places[candidate.drug].place in _MAY_LEAD]
    leading.sort(key=lambda candidate: _MAY_LEAD.index(material.places[candidate.drug].place))
    for candidate in leading:
        is_standard = material.places[candidate.drug].place == "standard"
        if candidate.drug in names or (is_standard and candidate.in_asked_class is not False):
            for group in _find_unchecked_groups(candidate, material):
                groups.setdefault(group, []).append(short(candidate.drug))
    return groups


def _list_unchecked(unchecked: Mapping[str, Sequence[str]], most: int) -> list[SummaryPart]:
    """Name the drugs that were not checked for the people asked about, by these people."""
    text = "; ".join(f"for {group}: {listed(names, most=most)}" for group, names in unchecked.items())
    return [SummaryPart(label="Not checked", text=f"{text}; no label was read." if text else "")]


def _find_unchecked_groups(candidate: Candidate, material: Material) -> list[str]:
    """List for whom a drug was not checked, whether or not the labels of others were read."""
    entries = [record for record in material.pool if get_drug(record) == candidate.drug]
    bars = list_bars(candidate.drug, material.asked, entries)
    if is_barred(bars):
        return []
    return [bar.removeprefix(NOT_CHECKED).partition(":")[0].strip() for bar in bars]


def _write_missing(material: Material, candidates: Sequence[DrugCandidate], helps: bool) -> str:
    names = {c.name for c in candidates}
    others = []
    for candidate in material.candidates if helps else ():
        is_standard = material.places[candidate.drug].place == "standard"
        if candidate.drug not in names and (candidate.has_verdict or not is_standard):
            others.append(candidate)
    decided = sum(bool(c.appraisal.telling) for c in others)
    behind: dict[str, None] = {}  # in order, each once
    for drug in candidates:
        behind |= dict.fromkeys(drug.supporting_citations)
    studied = list[str]()
    for who in material.asked.people if behind and helps else ():
        naming = sum(speaks_of(material.records[key].content, who) for key in behind)
        of = counted(len(behind), "supporting study")
        studied.append(f"{naming or 'none'} of {of} {'mentions' if naming < 2 else 'mention'} {who}")
    papers = [record for record in material.pool if kind_of(record) == "publication"]
    return write_line(
        "summary",
        "missing",
        m=material,
        no_full_text=bool(papers) and all(get_licence(record) is None for record in papers),
        silent=listed(list(map(title_of, material.silent_sources))),
        more=decided,
        unread=len(others) - decided,
        people=studied,
        has_candidates=bool(candidates),
        helps=helps,
    )


class Confidence(NamedTuple):
    """The confidence in an answer, 0 to 1, and why it is so."""

    score: float
    reason: str
    """Continues "since"."""


def rate_confidence(material: Material, answered: ReportAnswer | None = None) -> Confidence:
    """Rate the confidence in the answer: the judging model's, or from the best certainty and silent sources.

    If the question names drugs or a class, other drugs do not count.
    """
    asked_drugs = material.asked.drugs
    in_class = [c for c in material.shown if c.in_asked_class is not False]
    answering = [c for c in in_class if not asked_drugs or c.drug in asked_drugs]
    if material.by_model and material.assessments and (answering or answered):
        judged = material.assessments[-1]
        return Confidence(judged.confidence, write_line("summary", "judged_confidence", d=judged.details))
    levels = {c.drug: c.appraisal.certainty.level for c in answering}
    best = max((CONFIDENCE[level.value] for level in levels.values()), default=0.0)
    leading = [drug for drug, level in levels.items() if CONFIDENCE[level.value] == best]
    by_source = answered.confidence if answered else None
    if by_source is not None:
        best = by_source
    reason = write_line(
        "summary",
        "confidence",
        best=best,
        by_source=by_source is not None,
        level=levels[leading[0]].said if leading else "",
        by_small_reader=not material.is_judged,
        leading=listed(leading),
        silent=listed(list(map(title_of, material.silent_sources))),
    )
    return Confidence(round(max(0.0, best - CONFIDENCE_LOST * len(material.silent_sources)), 2), reason)
