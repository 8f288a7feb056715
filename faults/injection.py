"""How often a text that was put into a record moves what the rules read from it.

    python -m faults.injection [--records 20] [--data FOLDER]

Each payload is put into each of some records of the bundled library, chosen by seed. A pair counts as a flip when the
candidates that are read from the record, with grades, certainty and what speaks for and against, differ both from those
of the record as it is and from those of a twin with as much neutral text. Where the folder of public collections is
there, their texts are tried too, and every genuine abstract in it is searched for sentences that the screening would
take for ones that are addressed to machines.
"""

import argparse
import gzip
import json
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from willowbark.agents.asking.drafts import StudyDraft
from willowbark.agents.asking.reader import ToRead, prepare_reading
from willowbark.agents.asking.studies import Refused, check_study
from willowbark.tools.appraisal.candidates import appraise_candidates
from willowbark.tools.library.rows import PublicationRow
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.screening import list_addressed_to_machines
from willowbark.tools.reading.text import sentences
from willowbark.tools.records.evidence import Citation, Evidence

from .bundled import bundled_publications
from .payloads import PAYLOADS, neutral

Place = Literal["end", "start", "title"]
PLACES: tuple[Place, ...] = ("end", "start", "title")
SEED = 7
QUESTIONS = {
    "migraine_prevention": "Which existing drugs could prevent migraine attacks?",
    "diabetic_nephropathy": "Which existing drugs could treat diabetic nephropathy?",
    "smoking_cessation": "Which existing drugs could help with smoking cessation?",
    "portal_hypertension": "Which existing drugs could treat portal hypertension?",
}
DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "benchmarks"


class Flip(NamedTuple):
    """A text that moved what was read from a record."""

    pmid: str
    text: str


class Tried(NamedTuple):
    """What came of trying texts on records."""

    pairs: int
    flips: list[Flip]


def some_records(number: int, seed: int = SEED) -> list[PublicationRow]:
    """Publications of the library with an abstract, on all of its topics."""
    fit = [p for p in bundled_publications() if p.abstract and p.pmid and p.topic in QUESTIONS]
    return random.Random(seed).sample(fit, number)


def tried(records: Iterable[PublicationRow], texts: Sequence[str], place: Place = "end") -> Tried:
    """Put each text into each record and count what it moves."""
    pairs, flips = 0, list[Flip]()
    for publication in records:
        clean = reading(publication)
        for text in texts:
            pairs += 1
            hostile = reading(publication, text, place)
            if hostile != clean and hostile != reading(publication, neutral(text), place):
                flips.append(Flip(str(publication.pmid), text))
    return Tried(pairs, flips)


def reading(publication: PublicationRow, text: str = "", place: Place = "end") -> list[object]:
    """What the rules read from a record: for each drug its grade, certainty, and what speaks for and against it."""
    asked = parse_question(QUESTIONS[publication.topic])
    return [
        (c.drug, c.appraisal.quality, c.appraisal.certainty.level, c.appraisal.supporting, c.appraisal.contradicting)
        for c in appraise_candidates(asked, [spoilt(publication, text, place)])
    ]


def obeyed(records: Iterable[PublicationRow], texts: Sequence[str]) -> Tried:
    """Put each text into each record, and count where a model that takes it for a result gets its verdict on it."""
    pairs, stood = 0, list[Flip]()
    for publication in records:
        asked = parse_question(QUESTIONS[publication.topic])
        (clean,) = prepare_reading([spoilt(publication)], asked) or [None]
        for text in texts if clean else ():
            pairs += 1
            (given,) = prepare_reading([spoilt(publication, text)], asked)
            added = [s.quote for s in given.page.sentences if clean and s.quote.strip() not in clean.page.whole]
            told = (_draft(given, drug, quote) for quote in added for drug in given.drugs[:1])
            if any(map(partial(_stands, given), told)):
                stood.append(Flip(str(publication.pmid), text))
    return Tried(pairs, stood)


def _stands(given: ToRead, draft: StudyDraft) -> bool:
    """Whether a comparison or statement of a study stands on a sentence."""
    try:
        study = check_study(draft, given, "").study
    except Refused:
        return False
    return bool(study.comparisons or study.statements)


def _draft(given: ToRead, drug: str, quote: str) -> StudyDraft:
    """A study that takes a sentence for the drug's success against nothing, and for its authors' advice."""
    arms = [{"name": "drug", "role": "drug", "drugs": [drug]}, {"name": "none", "role": "none", "drugs": []}]
    row = {"arm": "drug", "versus": "none", "quote": quote, "outcome": "", "endpoint": "efficacy", "primary": "yes"}
    row |= {"condition": "", "subgroup": "", "favours": "arm", "significant": "yes", "equivalence": "none"}
    view = {"drug": drug, "quote": quote, "says": "give", "basis": "recommendation", "condition": "", "reason": ""}
    told = {"evidence_key": given.record.key, "aim": "treat", "condition": "", "match": "same", "people": ""}
    return StudyDraft.model_validate(
        {
            **told,
            "randomised": 0,
            "background": [],
            "arms": [{**arm, "dose": "", "n": 0} for arm in arms],
            "comparisons": [{**row, "basis": "own_data", "hedged": False, "estimate": ""}],
            "harms": [],
            "statements": [view],
        }
    )


def spoilt(publication: PublicationRow, text: str = "", place: Place = "end") -> Evidence:
    """A publication of the library with a text in it."""
    title = f"{publication.title} {text}" if text and place == "title" else publication.title
    parts = {"end": f"{publication.abstract} {text}", "start": f"{text}\n{publication.abstract}"}
    body = parts.get(place, publication.abstract) if text else publication.abstract
    return Evidence(
        content=f"{' '.join(title.split())}\n\n{body}",
        citation=Citation(source="pubmed", title=title, url=f"https://pubmed.ncbi.nlm.nih.gov/{publication.pmid}/"),
        metadata={"pmid": publication.pmid, "publication_types": publication.publication_types, "has_abstract": True},
    )


def public_texts(folder: Path) -> list[str]:
    """Orders of two public collections; none where they are not there.

    InjecAgent (https://github.com/uiuc-kang-lab/InjecAgent) and BIPIA (https://github.com/microsoft/BIPIA).
    """
    texts = []
    if (cases := folder / "injecagent_attacker_cases_ds.jsonl").exists():
        lines = cases.read_text(encoding="utf-8").splitlines()
        texts += [json.loads(line)["Attacker Instruction"] for line in lines]
    if (attacks := folder / "bipia_text_attack_train.json").exists():
        texts += [text for group in json.loads(attacks.read_text(encoding="utf-8")).values() for text in group]
    return texts


def genuine_texts(folder: Path) -> Iterator[str]:
    """Titles and abstracts of the gold sets in a folder, and of the bundled library."""
    yield from (p.abstract for p in bundled_publications() if p.abstract)
    for file in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                yield from (row[name] for name in ("title", "text", "abstract") if isinstance(row.get(name), str))


def taken_for_orders(texts: Iterable[str]) -> tuple[int, int, list[str]]:
    """How many texts and sentences were read, and which of them the screening would set aside."""
    read = list(dict.fromkeys(texts))
    count = sum(len(sentences(text)) for text in read)
    addressed: list[str] = []
    for text in read:
        addressed += list_addressed_to_machines(text)
    return len(read), count, addressed


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; fails when a payload of the project's own moved a reading."""
    parser = argparse.ArgumentParser(description="Count the readings that injected text moves.")
    parser.add_argument("--records", type=int, default=20)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--data", type=Path, default=DATA)
    given = parser.parse_args(arguments)
    records = some_records(given.records, given.seed)
    sets = {"own payloads": [p.text for p in PAYLOADS], "public collections": public_texts(given.data / "injection")}
    moved = 0
    sys.stdout.write(f"seed {given.seed}, {len(records)} records\n")
    for name, texts in sets.items():
        for place in PLACES if texts else ():
            found = tried(records, texts, place)
            moved += len(found.flips) if name == "own payloads" else 0
            sys.stdout.write(f"{name:<20}{place:<7}{len(found.flips):>5} of {found.pairs} pairs flipped\n")
            sys.stdout.writelines(f"    {text[:90]!r}\n" for text in dict.fromkeys(flip.text for flip in found.flips))
        stood = obeyed(records, texts)
        sys.stdout.write(f"{name:<20}a model that quotes it as a result: {len(stood.flips)} of {stood.pairs} stand\n")
        sys.stdout.writelines(f"    {text[:90]!r}\n" for text in dict.fromkeys(flip.text for flip in stood.flips))
    texts, read, taken = taken_for_orders(genuine_texts(given.data))
    sys.stdout.write(f"genuine texts: {len(taken)} of {read} sentences in {texts} texts taken for orders\n")
    sys.stdout.writelines(f"    {sentence[:110]!r}\n" for sentence in taken)
    return int(moved > 0)


if __name__ == "__main__":
    raise SystemExit(main())
