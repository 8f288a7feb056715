"""What does not help: the records that speak against a drug."""

from collections.abc import Sequence

from willowbark.tools.appraisal import Direction
from willowbark.tools.appraisal.candidates import Candidate, is_asked_about
from willowbark.tools.wording import counted, listed, short, tally

from ..forms.blocks import Text, flow, points
from ..material import Material, References
from .answer import MOST_QUOTED, Answer, named_in


def on_no_help(material: Material, references: References) -> Answer:
    """The answer on what was shown not to help."""
    asked = material.asked
    drugs = [c for c in material.candidates if not named_in(material) or is_asked_about(c.drug, asked)]
    against = sorted((c for c in drugs if c.appraisal.contradicting), key=lambda c: -len(c.appraisal.contradicting))
    where = f" in {short(material.topic)}" if asked.conditions else ""
    if not against:
        named, for_it = named_in(material) or "a drug", sum(len(c.appraisal.supporting) for c in drugs)
        if not drugs:
            return Answer([f"No answer: no record read is on {named}{where}. That is no evidence either way."], [])
        helps = (
            f"; {counted(for_it, 'record')} {'speaks' if for_it == 1 else 'speak'} for it" if named_in(material) else ""
        )
        none = f"No record read speaks against {named}{where}{helps}{_doubts(drugs)}. That does not show that it helps."
        return Answer([none], [])
    told = [tally(c.drug, c.appraisal.supporting, c.appraisal.contradicting) for c in against]
    refuted = [c.drug for c in against if c.appraisal.quality == "refuted"]
    weighs = f" Refuted by the weight of it: {listed(refuted)}." if refuted else " None is refuted by the weight of it."
    lines = [
        flow(Text(c.drug, "strong"), f": “{record.sentence}”", references.cite([record.key]))
        for c in against
        for record in c.records
        if record.key in c.appraisal.contradicting and record.sentence
    ]
    first = f"Records that speak against a drug's help{where}: {listed(told, most=6)}."
    return Answer([first + weighs], [points(lines[:MOST_QUOTED])])


def _doubts(drugs: Sequence[Candidate]) -> str:
    """The drugs that records were read as speaking against, too uncertainly to count."""
    told = [c.drug for c in drugs if Direction.contradicts in c.appraisal.leaning.values()]
    return f"; read so, but too uncertainly to count: {listed(told, most=6)}" if told else ""
