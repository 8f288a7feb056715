"""The evidence as it is checked before a report: versions, standing, full texts; nothing that fails stops it."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from builders import QUESTION, record
from faults.breakage import FaultyServer
from faults.plan import Fault, FaultPlan
from recorded import publish, recorded
from trust_sample import PREPRINT_DOI, PUBLISHED_DOI, transport

from willowbark.agents.context import RunContext
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.sections import places
from willowbark.tools.records.evidence import Citation, Evidence

SAID = "Propranolol reduced migraine attacks compared with placebo in 500 patients (p<0.001)."


FULL_TEXT = """<article><front><article-meta><permissions><license href="https://creativecommons.org/licenses/by/4.0/"/>
</permissions></article-meta></front><body><sec><title>Results</title><p>Attacks were halved in 58% on propranolol.</p>
</sec></body></article>"""


@pytest.fixture(scope="module")
def replies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Replies with open full texts, and with a preprint and the article that it became."""
    said = {"title": "[SYNTHETIC] Migraine prevention", "abstract": SAID}
    open_ones = {f"PMC{number}": FULL_TEXT for number in range(11, 51)}
    return publish(
        tmp_path_factory.mktemp("replies"),
        *({"pmid": str(number), "pmcid": f"PMC{number}", **said} for number in range(11, 51)),
        {"pmid": "60", "doi": PUBLISHED_DOI, **said},
        {"ppr_id": "PPR61", "doi": PREPRINT_DOI, **said},
        full_texts=open_ones,
    )


def trial(number: int, drug: str = "propranolol", **more: Any) -> Evidence:
    said = SAID.replace("Propranolol", drug.capitalize())
    return record(str(number), f"{drug.capitalize()} in migraine prevention: trial {number}", said, **more)


def preprint() -> Evidence:
    cited = Citation(
        source="preprint", title="Propranolol in migraine prevention", url="https://europepmc.org/article/PPR/PPR61"
    )
    known = {"ppr_id": "PPR61", "doi": PREPRINT_DOI, "is_preprint": True}
    return Evidence(content=f"Propranolol in migraine prevention\n\n{SAID}", citation=cited, metadata=known)


Check = Callable[..., Awaitable[tuple[dict[str, Evidence], list[str]]]]


@pytest.fixture
def check(replies: Path) -> Check:
    """Checks a pool over a server with faults or without: the records by key, and what was asked."""

    async def run(pool: Sequence[Evidence], faults: FaultPlan | None = None) -> tuple[dict[str, Evidence], list[str]]:
        with FaultyServer(faults, replies=replies) as server:
            async with transport(server) as way:
                known, candidates = await RunContext(way).check(parse_question(QUESTION), pool)
            asked = [f"{request.source}/{request.path}" for request in server.requests]
        assert candidates
        return {each.key: each for each in known}, asked

    return run


async def test_without_a_way_to_the_sources_nothing_is_looked_up_and_candidates_are_appraised() -> None:
    known, candidates = await RunContext().check(parse_question(QUESTION), [trial(11, pmcid="PMC11")])

    assert [candidate.drug for candidate in candidates] == ["propranolol"]
    assert "full_text" not in known[0].metadata


async def test_records_behind_candidates_get_their_standing_and_their_full_text(check: Check) -> None:
    known, _ = await check([trial(11, pmcid="PMC11"), trial(12)])

    assert [place.title for place in places(known["pmid:11"])] == ["Results"]
    assert known["pmid:11"].metadata["trust_state"] == "checked-clean"
    assert not places(known["pmid:12"])


async def test_two_texts_of_a_candidate_are_read_and_every_candidates_first_before_any_second(check: Check) -> None:
    drugs = ["propranolol", "timolol", "metoprolol", "topiramate", "candesartan", "amitriptyline", "flunarizine"]
    pool = [
        trial(11 + place * 3 + turn, drug, pmcid=f"PMC{11 + place * 3 + turn}")
        for place, drug in enumerate(drugs)
        for turn in range(3)
    ]
    known, asked = await check(pool)
    read = [key for key in known if places(known[key])]
    by_drug = [sum(f"pmid:{11 + place * 3 + turn}" in read for turn in range(3)) for place in range(len(drugs))]

    assert len([path for path in asked if path.endswith("fullTextXML")]) == len(read) == 12
    assert sorted(by_drug) == [1, 1, 2, 2, 2, 2, 2]


@pytest.mark.parametrize(
    "faults",
    [
        FaultPlan(dead={"europepmc": "status", "biorxiv": "status", "pubmed": "status"}),
        FaultPlan(faults=(Fault(kind="html", source="europepmc"),)),
    ],
    ids=["down", "junk"],
)
async def test_what_can_not_be_looked_up_is_noted_and_stops_nothing(check: Check, faults: FaultPlan) -> None:
    known, _ = await check([trial(11, pmcid="PMC11"), preprint()], faults)

    assert "full_text_unread" in known["pmid:11"].metadata
    assert known["pmid:11"].content == trial(11).content


async def test_a_preprint_gives_way_to_its_article_which_is_fetched_and_checked(check: Check) -> None:
    known, asked = await check([trial(11), preprint()])

    assert set(known) == {"pmid:11", "pmid:60"}
    [linked] = known["pmid:60"].metadata["preprint_versions"]
    assert linked["url"].endswith("PPR61")
    assert known["pmid:60"].metadata["trust_state"] == "checked-clean"
    assert f"biorxiv/pubs/medrxiv/{PREPRINT_DOI}/na/json" in asked


async def test_a_preprint_of_unknown_fate_stays_and_says_so(check: Check) -> None:
    known, _ = await check([trial(11), preprint()], FaultPlan(dead={"biorxiv": "status"}))

    assert "published_version_unknown" in known[preprint().key].metadata


async def test_a_notice_flags_its_record_and_is_no_evidence_itself() -> None:
    on = [{"flag": "retracted", "name": "pmid:11"}]
    notice = trial(13, kind="notice", notice_on=on)
    async with recorded() as way:
        known, candidates = await RunContext(way).check(parse_question(QUESTION), [trial(11), trial(12), notice])

    assert known[0].metadata["retracted"] is True
    assert candidates[0].appraisal.supporting == ["pmid:12"]
