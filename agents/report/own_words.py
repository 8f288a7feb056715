"""What a model wrote freely, as far as a report may show it: all of it checked, and what is held back counted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.reading.text import sentences

from ..asking.grounding import prose, room_of
from .forms.links import record_name
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
    paragraphs: Mapping[str, str]
    """What was read of a drug, by its name; longer than the other texts."""
    held_back: int
    """Sentences of all these that are not shown."""


def own_words(material: Material) -> OwnWords:
    """Sort what judge and report agent wrote freely; what claims of the report say stands with the record's name."""
    last = material.assessments[-1] if material.assessments else None
    held_back = list[str]()

    def shown(texts: Iterable[str]) -> list[str]:
        found = [_shown(text, material, held_back) for text in texts]
        return [text for text in found if text]

    details = last.details if last else None
    proposed, paragraphs = dict[str, str](), dict[str, str]()
    for draft in material.draft.candidates:
        name = canonical_drug(draft.name) or draft.name.casefold()
        fit = prose(draft.proposed_mechanism, material.pool, name)
        held_back += fit.held_back
        proposed[name] = proposed.get(name) or fit.shown
        quotes = [claim.quote for claim in material.verdicts.kept if claim.drug == name]
        paragraphs[name] = paragraphs.get(name) or _shown(draft.paragraph, material, held_back, quotes)
    reasons: Sequence[str] = ()
    if last and details:
        reasons = (last.reasoning, details.mechanism_reasoning, details.clinical_reasoning)
    return OwnWords(
        summary=shown(material.summaries),
        findings=shown(details.key_findings[:MAX_GAPS] if details else ()),
        judged=shown(reasons),
        gaps=shown(last.gaps[:MAX_GAPS] if last else ()),
        proposed=proposed,
        paragraphs=paragraphs,
        held_back=len(dict.fromkeys(held_back)),
    )


def _shown(text: str, material: Material, held_back: list[str], quotes: Sequence[str] | None = None) -> str:
    """What of a text is fit, in its order; what is not is added to `held_back`."""
    unfit = set(prose(text, material.pool, quotes=quotes).held_back)
    said, room = list[str](), room_of(quotes)
    for sentence in sentences(text):
        claim = material.borne_out.get(sentence) if sentence in unfit else None
        if (sentence in unfit and claim is None) or len(sentence) > room:
            held_back.append(sentence)
            continue
        room -= len(sentence) + 1
        said.append(sentence if claim is None else f"{sentence.rstrip('.')} ({record_name(claim.evidence_key)}).")
    return " ".join(said)
