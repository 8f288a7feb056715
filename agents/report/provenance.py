"""Where in its records a report's words come from: sections, full texts read, versions, records that look like one."""

from collections import Counter
from collections.abc import Mapping, Sequence

from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.evidence import Evidence
from willowbark.tools.works.excerpts import stated_limits
from willowbark.tools.works.identity import propose
from willowbark.tools.works.sections import licence_of, places

from .material import Material
from .model import LookAlike, StudyLimit
from .wording import counted, listed

MAX_LIMITS = 4  # quotes for one candidate: two studies with two each
_VERSIONS = {"preprint_versions": "preprint", "earlier_versions": "earlier version"}
_NOT_ABSENCE = "Absence of evidence here is not its absence. Harms, doses and interactions were not weighed."


def study_limits(candidate: Candidate, records: Mapping[str, Evidence]) -> list[StudyLimit]:
    """What the studies on a candidate say themselves that limits them, strongest design first; retracted ones don't."""
    read = [records[appraised.key] for appraised in candidate.records if not appraised.item.retracted]
    return [
        StudyLimit(key=record.key, section=passage.section, quote=passage.quote)
        for record in read
        for passage in stated_limits(record)
    ][:MAX_LIMITS]


def look_alikes(shown: Sequence[Candidate], records: Mapping[str, Evidence]) -> list[LookAlike]:
    """Records behind the report's candidates that may be one study; nothing was united for it."""
    keys = dict.fromkeys(appraised.key for candidate in shown for appraised in candidate.records)
    return [
        LookAlike(
            keys=(each.one, each.other),
            titles=(records[each.one].citation.title, records[each.other].citation.title),
            title_score=each.title_score,
            shared_authors=list(each.shared_authors),
        )
        for each in propose([records[key] for key in keys])
    ]


def origin(record: Evidence) -> dict[str, object]:
    """What a reference says of other versions of its record, and of the full text that was read."""
    data, found = record.metadata, dict[str, object]()
    versions = [{"relation": word, **each} for kind, word in _VERSIONS.items() for each in data.get(kind) or ()]
    if versions:
        found["versions"] = versions
    if record.is_preprint and data.get("published_version"):
        found["published_version"] = data["published_version"]
    if licence := licence_of(record):
        titles = list(dict.fromkeys(place.title for place in places(record)))
        found["full_text"] = {"pmcid": data.get("pmcid"), "licence": licence, "sections": titles}
    return found


def reading_note(material: Material) -> list[str]:
    """What was read of the records, and why not more, for the limitations."""
    read = [record for record in material.pool if licence_of(record)]
    lines = ["Abstracts and registry entries were read, not full texts."]
    if read:
        licences = listed(sorted({str(licence_of(record)) for record in read}))
        lines = [
            f"Of {counted(len(read), 'publication')} results and limitations were read in the open full text "
            f"({licences}); of all others the abstract or the registry entry alone."
        ]
    unread = Counter(str(r.metadata["full_text_unread"]) for r in material.pool if r.metadata.get("full_text_unread"))
    if unread:
        reasons = "; ".join(f"{reason}: {number}" for reason, number in sorted(unread.items()))
        lines.append(f"Full texts asked for and not read: {unread.total()} ({reasons}).")
    return [*lines, *_versions_note(material), _NOT_ABSENCE]


def _versions_note(material: Material) -> list[str]:
    unknown = sum("published_version_unknown" in record.metadata for record in material.pool)
    if not unknown:
        return []
    return [f"For {counted(unknown, 'preprint')} it could not be looked up whether it was published since."]
