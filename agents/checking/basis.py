"""What sentences of a report may rest on: passages that were read, entries of databases, and the computed table."""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace

from willowbark.tools.appraisal import Level
from willowbark.tools.lexicon import find_drugs, is_class_member
from willowbark.tools.reading.reading import StudyDesign
from willowbark.tools.records.study import Comparison, Study

from .gaps import Aspect

_DESIGNS = frozenset(StudyDesign) - {StudyDesign.unknown}
_FAVOURED = {"arm": "better", "versus": "worse", "neither": "no difference"}
"""How the first group of a comparison did."""
TABLE = "table"
"""Key of what code computed: levels of certainty, counts, cautions."""


@dataclass(frozen=True)
class CitedSource:
    """What a sentence rests on if it cites one key."""

    key: str
    title: str
    passages: tuple[str, ...]
    """To the letter; those that a reader located, or a database's entry."""
    values: tuple[str, ...] = ()
    """Arms with drugs, doses and sizes, as they were read and compared with the record."""
    drugs: frozenset[str] = frozenset()
    """Generic names of the drugs that it is about."""
    is_study: bool = False

    @property
    def text(self) -> str:
        """Title, passages and values, one a line."""
        return "\n".join((self.title, *self.passages, *self.values))


@dataclass(frozen=True)
class WritingBasis:
    """All that the sentences of one report may rest on, and what they must not say."""

    question: str
    sources: Mapping[str, CitedSource]
    """By key, without the computed table's."""
    judged: Mapping[str, CitedSource] = field(default_factory=dict)
    """What the judge's words rest on beside these, which no writer is shown or may cite."""
    table: Mapping[str, str] = field(default_factory=dict)
    """What code computed, a line for each drug by name; by an empty name of the whole run."""
    levels: Mapping[str, Level] = field(default_factory=dict)
    """The highest certainty that may be worded of a drug: the lower of the judge's and the computed one."""
    barred: Mapping[str, str] = field(default_factory=dict)
    """Drugs that never stand as a recommendation, each with the reason."""
    barred_classes: tuple[str, ...] = ()
    """Drug classes that the question excludes."""
    read: Mapping[str, Set[Aspect]] = field(default_factory=dict)
    """What was read of each drug, and by an empty name of the whole run: none of it is missing."""
    set_aside: frozenset[str] = frozenset()
    """Drugs that a person set aside, of which nothing is written."""
    allowed_drugs: frozenset[str] = frozenset()
    """Drugs that the question itself names."""

    @property
    def of_judge(self) -> "WritingBasis":
        """What the judge's sentences may rest on as well."""
        return replace(self, sources={**self.judged, **self.sources})

    def cited(self, keys: Iterable[str], text: str = "") -> list[CitedSource]:
        """Return the sources of keys, in order, without those that are not held.

        Of the computed table only the lines of the drugs that `text` names, and those of the whole run: with all its
        lines any small number would stand in it.
        """
        sources = []
        for key in dict.fromkeys(keys):
            if key == TABLE and self.table:
                sources.append(self._table_for(text))
            elif key in self.sources:
                sources.append(self.sources[key])
        return sources

    def _table_for(self, text: str) -> CitedSource:
        names = {mention.name for mention in find_drugs(text)}
        drugs = [drug for drug in self.table if drug in names or (drug and drug in text.casefold())]
        lines = [line for drug, line in self.table.items() if drug in drugs or not drug]
        return CitedSource(TABLE, "Computed from all studies read", tuple(lines), drugs=frozenset(drugs))

    def reason_against(self, drug: str) -> str:
        """Return why a drug must not be recommended; empty if nothing speaks against it."""
        if drug in self.barred:
            return self.barred[drug]
        names = [name for name in self.barred_classes if is_class_member(drug, name)]
        return f"the question excludes {names[0]}" if names else ""


def source_of_study(study: Study, title: str, *, is_retracted: bool = False) -> CitedSource:
    """Return what sentences may rest on in a study: its passages, the values of its arms, and that it was retracted."""
    passages = list(dict.fromkeys(passages_of(study)))
    values = [describe_arm(arm.name, arm.drugs, arm.dose, arm.n) for arm in study.arms]
    values += [f"design: {StudyDesign(study.design).label}"] if study.design in _DESIGNS else []
    values += [f"primary outcome: {row.outcome}" for row in study.comparisons if row.primary and row.outcome]
    values += [f"{study.randomised} randomised"] if study.randomised is not None else []
    values += [f"{study.analysed} analysed"] if study.analysed is not None else []
    for comparison in study.comparisons:
        people = study.participants_of(comparison)
        values += [f"{people} participants"] if people is not None else []
    values += [study.people] if study.people else []
    values += ["retracted"] if is_retracted else []
    named = {mention.name for text in (title, *passages) for mention in find_drugs(text)}
    return CitedSource(
        key=study.key,
        title=title,
        passages=tuple(passages),
        values=tuple(dict.fromkeys(values)),
        drugs=frozenset(named) | study.drugs(),
        is_study=True,
    )


def passages_of(study: Study) -> Iterator[str]:
    """Yield the passages of a study, in its order."""
    for comparison in study.comparisons:
        if comparison.passage is not None:
            yield comparison.passage.text
    for arm in study.arms:
        for harm in arm.harms:
            if harm.passage is not None:
                yield harm.passage.text
    for view in study.statements:
        yield view.passage.text
    if study.conclusion is not None:
        yield study.conclusion.text


def describe_arm(name: str, drugs: Iterable[str], dose: str, people: int | None) -> str:
    """Describe a group in a line: `group A: propranolol, 80 mg, n 34`."""
    parts = [" + ".join(drugs), dose, "" if people is None else f"n {people}"]
    return f"{name}: {', '.join(part for part in parts if part)}" if any(parts) else name


def describe_comparison(study: Study, comparison: Comparison) -> str:
    """Describe a comparison in a line for a writer; its passage stands among the study's.

    For example `ondansetron against placebo on vomiting: arm better, significant, n 50`.
    """
    against = comparison.versus or comparison.against.replace("_", " ")
    outcome = f" on {comparison.outcome}" if comparison.outcome else ""
    significant = {True: "significant", False: "not significant", None: ""}[comparison.significant]
    people = study.participants_of(comparison)
    remarks = [
        "primary outcome" if comparison.primary else "",
        _FAVOURED.get(comparison.favours or "", ""),
        significant,
        f"in {comparison.subgroup}" if comparison.subgroup else "",
        f"condition {comparison.condition}" if comparison.condition else "",
        comparison.time_point or "",
        "" if comparison.basis == "own_data" else comparison.basis.replace("_", " "),
        "" if people is None else f"n {people}",
    ]
    line = f"{comparison.arm} against {against}{outcome}"
    parts = ", ".join(filter(None, remarks))
    return f"{line}: {parts}" if parts else line
