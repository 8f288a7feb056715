"""How many of a library's trials a question's searches reach, at the number of records that a run reads.

    python -m benchmarks.recall FOLDER [--part open|apart|both] [--depth standard|exhaustive]

FOLDER is a library of JSON lines, as `docs/how-to/run-offline.md` describes it. For each condition of
`condition_names.tsv` the rounds of a run without a language model are searched as such a run searches them, and nothing
is read: a drug counts as a candidate once a record on the condition names it. What is to be found are the randomised
trials that name the condition in their title, by names written by hand, and a drug in title or abstract. Beside it
stands one query of all these names, at the same number of records. Queries and ranking were decided on the conditions
of the open part alone.

A drug with two such trials or more that its title names has a place in a table once a record on it was read.
"""

import argparse
import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from willowbark.agents.assessment import AssessmentRequest, count_progress
from willowbark.agents.baseline.assessing import plan_round
from willowbark.agents.findings import Specialist
from willowbark.teams.config import DEPTHS, PAGES, Depth
from willowbark.tools.appraisal.candidates import Candidate, is_on_condition, list_wanted_drugs
from willowbark.tools.appraisal.certainty import appraise_candidate
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
from willowbark.tools.lexicon import find_drugs
from willowbark.tools.lexicon.matching import read_table
from willowbark.tools.library import open_library
from willowbark.tools.library.library import Library
from willowbark.tools.library.rows import PublicationRow, StudyRow, parse_row
from willowbark.tools.questions import Question, parse_question, preprocess_query
from willowbark.tools.questions.trials import list_first_queries
from willowbark.tools.records.evidence import Evidence, merge
from willowbark.tools.search import Source, SourceReply
from willowbark.tools.sources.studies.clinicaltrials import ClinicalTrials
from willowbark.tools.sources.studies.pubmed import PubMed

PARTS = ("open", "apart")
ROUNDS = 10
DETAILED = 24  # drugs of a report that are not in a line of the rest
TYPES = ("randomized controlled trial",)
EVERYTHING = 100_000  # records; more than a library of JSON lines holds
_SOURCES: Mapping[str, type[Source]] = {"literature": PubMed, "trials": ClinicalTrials}


@dataclass(frozen=True)
class Condition:
    """A condition with its names in titles."""

    name: str
    part: str
    names: tuple[str, ...]

    @property
    def query(self) -> str:
        """One query of all the names."""
        return " OR ".join(name if name.endswith("*") else f'"{name}"' for name in self.names)

    def is_in(self, title: str) -> bool:
        words = re.sub(r"[^a-z0-9]+", " ", title.lower().replace("'", ""))
        endings = (re.escape(name.replace("'", "")).replace(r"\*", r"\w*") for name in self.names)
        return any(re.search(rf"\b{ending}\b", words) for ending in endings)


@dataclass
class Reached:
    """What a condition's searches should and did reach."""

    condition: Condition
    trials: frozenset[str]
    drugs: Mapping[str, frozenset[str]]
    """The trials of each drug that two or more titles name."""
    read: list[str] = field(default_factory=list)
    by_hand: list[str] = field(default_factory=list)

    def share(self, keys: Iterable[str]) -> float:
        return len(self.trials.intersection(keys)) / len(self.trials)

    def unseen(self, keys: Iterable[str], most: int | None = None) -> list[str]:
        """Return the drugs without a place: those of which no trial was read, and of the others those beyond `most`."""
        read = set(keys)
        counts = Counter({drug: len(read & trials) for drug, trials in self.drugs.items()})
        placed = [drug for drug, count in counts.most_common(most) if count]
        return [drug for drug in self.drugs if drug not in placed]


def conditions() -> list[Condition]:
    rows = read_table("condition_names.tsv", "benchmarks")
    return [Condition(row["condition"], row["part"], tuple(row["names"].split("|"))) for row in rows]


def titles_of(library: Library) -> dict[str, Evidence]:
    """Return the library's randomised trials by key."""
    lines, _ = library.search("*", tags=[[f"publication_types:{type_}" for type_ in TYPES]], most=EVERYTHING)
    records = [_record_of(line) for line in lines]
    return {record.key: record for record in records}


def _record_of(line: str) -> Evidence:
    row = parse_row(line)
    if isinstance(row, PublicationRow):
        return row.evidence("pubmed")
    assert isinstance(row, StudyRow)
    return row.evidence()


def due(condition: Condition, trials: Mapping[str, Evidence]) -> Reached:
    """Find the trials on a condition, and its drugs with two or more."""
    own = {key: record for key, record in trials.items() if condition.is_in(record.citation.title)}
    naming = [key for key, record in own.items() if find_drugs(f"{record.citation.title}. {record.content}")]
    drugs: dict[str, set[str]] = {}
    for key in naming:
        for name in {mention.name for mention in find_drugs(own[key].citation.title)}:
            drugs.setdefault(name, set()).add(key)
    several = {name: frozenset(keys) for name, keys in drugs.items() if len(keys) > 1}
    return Reached(condition, frozenset(naming), several)


def candidates_in(asked: Question, pool: Sequence[Evidence]) -> list[Candidate]:
    """Return the drugs that records on the condition name as candidates with a verdict, the most named first."""
    keys: dict[str, list[str]] = {}
    for record in pool:
        for drug in list_wanted_drugs(record, asked) if is_on_condition(record, asked) else ():
            keys.setdefault(drug, []).append(record.key)
    none = appraise_candidate([])
    ordered = sorted(keys.items(), key=lambda each: (-len(each[1]), each[0]))
    return [Candidate(drug=drug, appraisal=none.model_copy(update={"supporting": own})) for drug, own in ordered]


async def searched(question: str, transport: Transport, depth: Depth) -> list[str]:
    """Search as a run does, round by round; return the records' keys in the order of reading."""
    asked = parse_question(question)
    most = DEPTHS[depth]
    size = PAGES[depth]
    specialists = [Specialist(name=name, takes=("queries",)) for name in _SOURCES]
    wanted = {
        (name, query): None for name in _SOURCES for query in list_first_queries(asked, of_trials=name == "trials")
    }
    replies = list[SourceReply]()
    pool = list[Evidence]()
    for iteration in range(1, ROUNDS + 1):
        for name, query in wanted:
            reply = await _next_page(_SOURCES[name](transport), preprocess_query(query), size, replies)
            replies += [] if reply is None else [reply]
        pool = merge([record for reply in replies for record in reply.records])
        state = count_progress(replies, pool, most)
        request = AssessmentRequest(
            question=question,
            iteration=iteration,
            searches=replies,
            candidates=candidates_in(asked, pool),
            pool=len(pool),
            progress=state,
            records=[],
            specialists=specialists,
        )
        planned = plan_round(asked, request.candidates, [], request).searches
        wanted = dict.fromkeys((each.specialist, each.query) for each in planned)
        if state.has_ended or not wanted:
            break
    return [record.key for record in pool]


async def _next_page(source: Source, query: str, size: int, replies: Sequence[SourceReply]) -> SourceReply | None:
    """Ask a source for the first page of a query that was not read; None if all were."""
    own = [reply for reply in replies if (reply.source, reply.asked) == (source.name, query)]
    if own and not (own[-1].records and sum(len(reply.records) for reply in own) < own[0].total):
        return None
    reply = await source.find(query, size, {"page": len(own) + 1})
    return reply.model_copy(update={"asked": query, "query": query})


async def by_hand(condition: Condition, transport: Transport, most: int) -> list[str]:
    return [record.key for record in (await PubMed(transport).find(condition.query, most)).records]


def show(title: str, found: Sequence[Reached]) -> None:
    """Print what was reached of a part."""
    trials = sum(len(each.trials) for each in found)
    drugs = sum(len(each.drugs) for each in found)
    read = sum(len(each.read) for each in found) / len(found)
    print(f"{title}: {len(found)} conditions, {trials:,} trials, {drugs} drugs with two or more, {read:.0f} read each")
    _show_reached("run", found, [each.read for each in found], trials)
    _show_reached("by hand", found, [each.by_hand for each in found], trials)


def _show_reached(name: str, found: Sequence[Reached], read: Sequence[Sequence[str]], trials: int) -> None:
    pairs = list(zip(found, read, strict=True))
    hits = sum(len(each.trials.intersection(keys)) for each, keys in pairs)
    mean = sum(each.share(keys) for each, keys in pairs) / len(pairs)
    unseen = sum(len(each.unseen(keys)) for each, keys in pairs)
    capped = sum(len(each.unseen(keys, DETAILED)) for each, keys in pairs)
    print(
        f"  {name:8} {hits / trials:.3f} of the trials ({mean:.3f} a condition); "
        f"drugs without a record {unseen}, beyond {DETAILED} a condition {capped}"
    )


def landmarks(found: Mapping[str, Reached], held: frozenset[str]) -> None:
    """Print which of the landmark trials that the library holds were reached."""
    rows = [row for row in read_table("landmark_trials.tsv", "benchmarks") if row["condition"] in found]
    there = [row for row in rows if row["record"] in held]
    missed = [row for row in there if row["record"] not in found[row["condition"]].read]
    names = ", ".join(f"{row['trial']} ({row['condition']})" for row in missed)
    print(f"landmark trials: {len(there) - len(missed)} of {len(there)} reached{f'; not {names}' if names else ''}")


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--part", choices=[*PARTS, "both"], default="both")
    parser.add_argument("--depth", choices=list(DEPTHS), default="standard")
    given = parser.parse_args()
    library = open_library(given.library)
    trials = titles_of(library)
    chosen = [each for each in conditions() if given.part in (each.part, "both")]
    found: dict[str, Reached] = {}
    for condition in chosen:
        reached = due(condition, trials)
        async with Transport(Endpoints(library=library)) as transport:
            reached.read = await searched(f"Which existing drugs treat {condition.name}?", transport, given.depth)
            reached.by_hand = await by_hand(condition, transport, DEPTHS[given.depth])
        found[condition.name] = reached
        if reached.trials:
            shares = f"{reached.share(reached.read):.2f}, by hand {reached.share(reached.by_hand):.2f}"
            print(f"{condition.name:45} {len(reached.trials):4} trials: {shares}, {len(reached.read)} read", flush=True)
    counted = [each for each in found.values() if each.trials]
    for part in PARTS:
        own = [each for each in counted if each.condition.part == part]
        if own:
            show(part, own)
    if given.part == "both":
        show("both", counted)
    rows = read_table("landmark_trials.tsv", "benchmarks")
    held = (_record_of(line).key for line in library.named(*(row["record"] for row in rows)))
    landmarks(found, frozenset(held))


if __name__ == "__main__":
    asyncio.run(main())
