"""What an answer is, and what answers of all kinds need."""

from typing import NamedTuple

from willowbark.tools.appraisal.candidates import is_asked_about
from willowbark.tools.records import Drug
from willowbark.tools.wording import listed, short

from ..forms.blocks import Block
from ..material import Material, as_asked

LONGEST_QUOTE = 220  # characters of a sentence within the answer; the section below it has it whole
MOST_QUOTED = 12  # sentences in the section


class Answer(NamedTuple):
    """What is said first, and the section that it rests on."""

    sentences: list[str]
    blocks: list[Block]
    confidence: float | None = None
    """0 to 1, our convention; None where that of the candidates stands for it."""


def named_in(material: Material) -> str:
    """The drugs and classes that a question names, as it spells them; empty where it names none."""
    named = (*material.asked.drugs, *material.asked.drug_classes)
    return short(listed([as_asked(each, material.dossier.question) for each in named]))


def entries_of(material: Material) -> dict[str, list[tuple[str, Drug]]]:
    """What drug databases say of the drugs asked about, or of all where none is named; with the keys of the records."""
    found: dict[str, list[tuple[str, Drug]]] = {}
    for record in material.pool:
        said = record.record
        if (
            isinstance(said, Drug)
            and said.drug
            and (not named_in(material) or is_asked_about(said.drug, material.asked))
        ):
            found.setdefault(said.drug, []).append((record.key, said))
    return found
