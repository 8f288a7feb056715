"""What a model wrote freely, as far as a report may show it: all of it checked, and what is held back counted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.reading.text import sentences

from .forms.links import named
from .grounding import MAX_PROSE, prose
from .material import Material

MAX_GAPS = 10  # of a judge; as many of its findings


@dataclass(frozen=True)
class OwnWords:
    """A model's own words in a report."""

    summary: list[str]
    """Of its drafts as a whole; each text here has 300 characters at most, but for the names of records."""
    findings: list[str]
    """Of the judge, when the search ended."""
    judged: list[str]
    """Its reasons then."""
    gaps: list[str]
    """What it missed then."""
    proposed: Mapping[str, str]
    """How a drug might act, by its name."""
    held_back: int
    """Sentences of all these that are not shown."""


def own_words(material: Material) -> OwnWords:
    """Sort what judge and report agent wrote freely; what claims of the report say stands with the record's name."""
    last = material.assessments[-1] if material.assessments else None
    held_back = list[str]()

    def shown(texts: Iterable[str], drug: str | None = None) -> list[str]:
        found = [_shown(text, material, drug, held_back) for text in texts]
        return [text for text in found if text]

    details = last.details if last else None
    proposed = {
        name: " ".join(shown([draft.proposed_mechanism], name))
        for draft in material.draft.candidates
        for name in [canonical_drug(draft.name) or draft.name.casefold()]
    }
    reasons: Sequence[str] = ()
    if last and details:
        reasons = (last.reasoning, details.mechanism_reasoning, details.clinical_reasoning)
    return OwnWords(
        summary=shown(material.summaries),
        findings=shown(details.key_findings[:MAX_GAPS] if details else ()),
        judged=shown(reasons),
        gaps=shown(last.gaps[:MAX_GAPS] if last else ()),
        proposed=proposed,
        held_back=len(dict.fromkeys(held_back)),
    )


def _shown(text: str, material: Material, drug: str | None, held_back: list[str]) -> str:
    """What of a text is fit, in its order; what is not is added to `held_back`."""
    unfit = set(prose(text, material.pool, drug).held_back)
    said, room = list[str](), MAX_PROSE
    for sentence in sentences(text):
        claim = material.borne_out.get(sentence) if sentence in unfit and drug is None else None
        if (sentence in unfit and claim is None) or len(sentence) > room:
            held_back.append(sentence)
            continue
        room -= len(sentence) + 1
        said.append(sentence if claim is None else f"{sentence.rstrip('.')} ({named(claim.evidence_key)}).")
    return " ".join(said)
