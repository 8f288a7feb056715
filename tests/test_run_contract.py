"""What a run could not understand of its sources' replies stands in its limitations, with the field's name."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from faults.bent import Bend, BendingServer, list_bends
from faults.killed import killer
from faults.lives import Life
from faults.running import run
from faults.server import SourceServer

from willowbark.tools.contracts.run_contract import find_changes
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.reply import Reply
from willowbark.tools.http.sample import MOST_REPLIES, ReplySample

ASKED = "Does propranolol prevent migraine attacks?"


def trial(number: int, **status: str) -> dict[str, Any]:
    return {"protocolSection": {"identificationModule": {"nctId": f"NCT0000000{number}"}, "statusModule": status}}


def sampled(*studies: dict[str, Any], source: str = "clinicaltrials", path: str = "/api/v2/studies") -> ReplySample:
    sample = ReplySample()
    sample.note(path, "1", Reply(source, 200, {}, json.dumps({"studies": list(studies)}).encode()))
    return sample


def test_a_field_that_nearly_all_records_have_and_none_of_a_run_is_named() -> None:
    renamed = [trial(number, overallStatusV2="COMPLETED") for number in range(3)]
    [line] = find_changes(sampled(*renamed), is_public=False)

    assert line.startswith("ClinicalTrials.gov: ")
    assert "studies[].protocolSection.statusModule.overallStatus is in none of 3 entries" in line


def test_a_field_that_some_record_has_or_that_many_lack_is_none_to_name() -> None:
    studies = [trial(number, overallStatus="COMPLETED") for number in range(3)]
    lines = find_changes(sampled(*studies, trial(4)), is_public=False)

    assert [line for line in lines if "overallStatus" in line or "whyStopped" in line] == []


def test_another_form_and_a_code_that_nobody_knows_are_named_in_one_record() -> None:
    [by_form] = find_changes(sampled({"protocolSection": [trial(1)]}), is_public=False)
    [by_code] = find_changes(sampled(trial(1, overallStatus="PAUSED_FOR_GOOD")), is_public=False)

    assert "studies[].protocolSection is a list where one value was due" in by_form
    assert "overallStatus holds 'PAUSED_FOR_GOOD', a code that is not known here" in by_code


def test_the_same_replies_are_held_in_any_order_and_never_many() -> None:
    replies = {str(number): Reply("pubmed", 200, {}, str(number).encode()) for number in range(9)}
    forth, back = ReplySample(), ReplySample()
    for sample, order in ((forth, list(replies)), (back, list(replies)[::-1])):
        for hashed in order:
            sample.note(f"/pubmed/{hashed}/efetch.fcgi", hashed, replies[hashed])

    assert forth.by_source() == back.by_source()
    assert len(forth.by_source()["pubmed"]) == MOST_REPLIES


BENT = [
    ("clinicaltrials", "renamed", "designModule", "Not understood: ClinicalTrials.gov:"),
    ("clinicaltrials", "list for one", "briefTitle", "ClinicalTrials.gov:"),
    ("clinicaltrials", "code more", "overallStatus", "Not understood: ClinicalTrials.gov:"),
    ("pubmed", "renamed", "PublicationTypeList", "Not understood: PubMed:"),
    ("pubmed", "list for one", "count", "Not available: pubmed:"),
    ("europepmc", "list for one", "source", "Not understood: Europe PMC:"),
    ("opentargets", "list for one", "data", "Not available: opentargets:"),
    ("uniprot", "renamed", "properties", "Not understood: UniProt:"),
    ("reactome", "code more", "speciesName", "Not understood: Reactome:"),
    ("openfda", "list for one", "meta", "Not available: openfda:"),
]


def bend(source: str, kind: str, field: str) -> Bend:
    return next(each for each in list_bends(source) if (each.kind, each.field) == (kind, field))


@pytest.mark.whole
@pytest.mark.parametrize(("source", "kind", "field", "named"), BENT, ids=[" ".join(row[:3]) for row in BENT])
async def test_a_run_on_a_bent_reply_names_source_and_field(source: str, kind: str, field: str, named: str) -> None:
    bent = await asyncio.to_thread(bend, source, kind, field)
    with BendingServer() as server:
        server.bends = {source: bent}
        result = await run(ASKED, Endpoints.at(server.url))

    assert result.failure is None
    assert [line for line in result.limitations if named in line and f"{field} " in line] != [], result.limitations


@pytest.mark.whole
async def test_a_run_on_replies_as_they_are_due_names_nothing() -> None:
    with SourceServer() as server:
        result = await run(ASKED, Endpoints.at(server.url), factor=1.0, rounds=2, max_results=50)

    assert [line for line in result.limitations if line.startswith(("Not understood", "Not available"))] == []


@pytest.mark.whole
def test_limitations_are_the_same_in_the_same_order_after_a_kill_and_a_resume(tmp_path: Path) -> None:
    bends = {
        "clinicaltrials": bend("clinicaltrials", "renamed", "designModule"),
        "pubmed": bend("pubmed", "renamed", "PublicationTypeList"),
        "europepmc": bend("europepmc", "refused", ""),
    }
    with BendingServer() as server:
        server.bends = bends
        whole = Life(tmp_path / "whole.db", server.url, model="failing").lived().told
        resumed = []
        for number in (1, 3, 5):
            path = tmp_path / f"{number}.db"
            killed = Life(path, server.url, model="failing").lived(killer("checkpoint", number, 0.01))
            assert killed.told is None
            resumed.append(Life(path, server.url, model="failing", again=True).lived().told)

    assert whole is not None
    assert whole.report is not None
    limitations = whole.report["limitations"]
    kinds = {line.partition(":")[0] for line in limitations}
    assert {"Not understood", "Not available"} <= kinds
    assert len([line for line in limitations if "not read by the model" in line]) > 1, limitations
    assert [told and told.report and told.report["limitations"] for told in resumed] == [limitations] * len(resumed)
