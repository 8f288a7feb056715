"""ClinicalTrials.gov: what is asked, what is read, and what every known form of failure turns into."""

from typing import Any

import httpx
import pytest
from recorded import Answer, answering

from willowbark.tools.errors import SourceRefused
from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.search import Status
from willowbark.tools.sources.studies.clinicaltrials import (
    FIELDS,
    ClinicalTrials,
    TrialFilters,
    clean_term,
    parse_study,
)


def registry(answer: Answer, seen: list[httpx.Request] | None = None) -> ClinicalTrials:
    return answering(ClinicalTrials, answer, seen, policy=RetryPolicy(first_wait_s=0.001, longest_wait_s=0.002))


def study(number: int = 1, **modules: Any) -> dict[str, Any]:
    identity = {"nctId": f"NCT{number:08d}", "briefTitle": f"Study {number}"}
    return {"protocolSection": {"identificationModule": identity, **modules}}


def read(**modules: Any) -> Evidence:
    record = parse_study(study(**modules))
    assert record
    return record


def page(*studies: Any, **more: Any) -> httpx.Response:
    return httpx.Response(200, json={"studies": list(studies), **more})


GROUPS = [{"id": "OG000", "title": "Active"}, {"id": "OG001", "title": "Placebo"}]
VALUES = [{"groupId": "OG000", "value": "2.1", "spread": "0.4"}, {"groupId": "OG001", "value": "3.0"}]
ANALYSIS = {
    "groupIds": ["OG000", "OG001"],
    "pValue": "=0.003",
    "paramType": "Mean Difference (Net)",
    "paramValue": "-0.9",
    "ciPctValue": "95",
    "ciLowerLimit": "-1.5",
    "ciUpperLimit": "-0.3",
}
PRIMARY: dict[str, Any] = {
    "type": "PRIMARY",
    "title": "Attacks a month",
    "unitOfMeasure": "attacks",
    "groups": GROUPS,
    "denoms": [{"counts": [{"groupId": "OG000", "value": "40"}, {"groupId": "OG001", "value": "41"}]}],
    "classes": [{"categories": [{"measurements": VALUES}]}],
    "analyses": [ANALYSIS],
}


def posted(*measures: dict[str, Any], events: list[dict[str, Any]], **modules: Any) -> Evidence:
    section = {
        "outcomeMeasuresModule": {"outcomeMeasures": [*measures]},
        "adverseEventsModule": {"eventGroups": events},
    }
    record = parse_study({**study(**modules), "resultsSection": section, "hasResults": True})
    assert record
    return record


async def test_a_search_asks_for_interventional_trials_of_every_status() -> None:
    seen, answer = list[httpx.Request](), page(study(1), study(2), totalCount=7)
    reply = await registry(answer, seen).find("(migraine[tiab] OR hemicrania) AND propranolol", 2)
    params = dict(seen[0].url.params)
    assert seen[0].url.path == "/clinicaltrials/studies"
    assert params == {
        "query.term": "(migraine OR hemicrania) AND propranolol",
        "filter.advanced": "AREA[StudyType]INTERVENTIONAL",
        "countTotal": "true",
        "pageSize": "2",
        "fields": "|".join(FIELDS),
    }
    assert (reply.status, reply.total, len(reply.records)) == (Status.OK, 7, 2)
    assert "studies?" in reply.url


async def test_a_trial_is_looked_up_by_its_number_also_by_an_older_one() -> None:
    seen = list[httpx.Request]()
    reply = await registry(httpx.Response(200, json=study(12)), seen).trial(" nct00000012 ")
    older = await registry(httpx.Response(200, json=study(13))).trial("NCT00000012")
    none = await registry(httpx.Response(404, text="NCT number NCT00000012 not found")).trial("NCT00000012")

    assert [request.url.path for request in seen] == ["/clinicaltrials/studies/NCT00000012"]
    assert (reply.status, reply.warnings) == (Status.OK, [])
    assert reply.records[0].citation.url == "https://clinicaltrials.gov/study/NCT00000012"
    assert older.records[0].metadata["nct_id"] == "NCT00000013"
    assert older.warnings == ["NCT00000012 is an older number of NCT00000013"]
    assert (none.status, none.warnings) == (Status.EMPTY, ["there is no trial NCT00000012"])


@pytest.mark.parametrize("wrong", ["", "NCT123", "../studies", "NCT00000012?x=1"])
async def test_what_is_no_nct_number_is_never_asked_for(wrong: str) -> None:
    seen = list[httpx.Request]()
    with pytest.raises(SourceRefused):
        await registry(httpx.Response(404), seen).trial(wrong)
    assert not seen


@pytest.mark.parametrize(
    ("query", "term"),
    [
        ("migraine[MeSH Terms] AND aspirin[tiab]", "migraine AND aspirin"),
        ("AREA[Phase]PHASE3 AND migraine", "PHASE3 AND migraine"),
        ('"sick headache', "sick headache"),
        ("(migraine AND (timolol)", "migraine timolol"),
        ("kidney, diabetic [x] therap*", "kidney diabetic therap"),
        ("migraine NOT (children OR infants)", "migraine AND NOT (children OR infants)"),
        ("migraine AND NOT infants", "migraine AND NOT infants"),
        ("migraine OR NOT infants", "migraine OR NOT infants"),
        ("NOT infants", "NOT infants"),
        ('(migraine NOT infants) "do NOT move"', '(migraine AND NOT infants) "do NOT move"'),
    ],
)
def test_reserved_characters_and_loose_ends_are_taken_out(query: str, term: str) -> None:
    assert clean_term(query) == term


def test_filters_become_parameters() -> None:
    said = {"status": ["terminated", "WITHDRAWN"], "phase": "phase2", "has_results": True, "mindate": 2015}
    params = TrialFilters.of("clinicaltrials", said).params()
    assert params["filter.overallStatus"] == "TERMINATED|WITHDRAWN"
    assert params["filter.advanced"] == (
        "AREA[StudyType]INTERVENTIONAL AND AREA[Phase](PHASE2) AND AREA[HasResults]true"
        " AND AREA[StartDate]RANGE[2015-01-01,MAX]"
    )


def test_why_a_trial_was_stopped_is_kept() -> None:
    record = read(statusModule={"overallStatus": "TERMINATED", "whyStopped": "Lack of efficacy &amp; slow accrual"})
    assert record.metadata["why_stopped"] == "Lack of efficacy & slow accrual"
    assert "STATUS: terminated." in record.content
    assert "WHY STOPPED: Lack of efficacy & slow accrual." in record.content


@pytest.mark.parametrize(
    ("design", "told"),
    [
        (None, {}),
        ({"enrollmentInfo": {"count": 99999999}}, {}),  # the registry's way to say that it is unknown
        ({"enrollmentInfo": {"count": 0}}, {"enrollment": 0}),
        (
            {"studyType": "OBSERVATIONAL", "designInfo": {"observationalModel": "COHORT"}},
            {"study_type": "OBSERVATIONAL"},
        ),
    ],
    ids=["nothing", "unknown enrollment", "nobody enrolled", "observational"],
)
def test_a_design_is_told_as_it_is_and_what_is_not_reported_is_left_out(design: Any, told: dict[str, Any]) -> None:
    record = read(**({"designModule": design} if design else {}))

    assert record.metadata == {"nct_id": "NCT00000001", "has_abstract": True, **told}
    assert "99999999" not in record.content


def test_posted_results_with_secondary_outcomes_and_deaths_are_kept_and_told() -> None:
    events = [
        {"title": "Active", "deathsNumAffected": 1, "deathsNumAtRisk": 40, "seriousNumAffected": 3},
        {"title": "Placebo", "deathsNumAffected": 0, "deathsNumAtRisk": 41, "seriousNumAffected": 0},
        {"title": "Nobody", "deathsNumAffected": 0, "deathsNumAtRisk": 0, "seriousNumAffected": 0}
        | {"seriousNumAtRisk": 0},
    ]
    planned = {"secondaryOutcomes": [{"measure": "Days off work", "timeFrame": "12 weeks"}]}
    secondary = {**PRIMARY, "type": "SECONDARY", "analyses": []}, {"type": "SECONDARY", "title": "Days off work"}
    record = posted(PRIMARY, *secondary, events=events, outcomesModule=planned)
    results = record.metadata["results"]
    [primary] = results["primary_outcomes"]
    assert (primary["title"], primary["groups"][0]) == ("Attacks a month", {"name": "Active", "n": "40"})
    assert primary["analyses"][0]["p_value"] == "0.003"
    assert results["serious_adverse_events"][1] == {"group": "Placebo", "affected": 0, "at_risk": None}
    assert [event["affected"] for event in results["deaths"]] == [1, 0]
    assert record.metadata["secondary_outcomes"] == [{"measure": "Days off work", "time_frame": "12 weeks"}]
    assert "SECONDARY OUTCOMES: Days off work." in record.content
    assert record.content.splitlines()[-5:] == [
        "RESULT: Attacks a month: Active 2.1; Placebo 3.0 attacks.",
        "ANALYSIS: Attacks a month: Active versus Placebo, Mean Difference (Net) -0.9, 95% CI -1.5 to -0.3, p = 0.003.",
        "SECONDARY RESULT: Attacks a month: Active 2.1; Placebo 3.0 attacks.",
        "SERIOUS ADVERSE EVENTS: Active 3; Placebo 0.",
        "DEATHS FROM ANY CAUSE: Active 1 of 40; Placebo 0 of 41.",
    ]


@pytest.mark.parametrize(
    ("unit", "told"),
    [
        ("Participants", "Active 12 of 40; Placebo 20 of 41 Participants"),
        ("percentage of participants", "Active 12 (of 40 analysed); Placebo 20 (of 41 analysed) percentage of"),
        ("attacks", "Active 12; Placebo 20 attacks"),
    ],
)
def test_people_and_shares_are_told_with_their_denominators(unit: str, told: str) -> None:
    values = [{"groupId": "OG000", "value": "12"}, {"groupId": "OG001", "value": "20"}]
    classes = [{"categories": [{"measurements": values}]}]
    record = posted({**PRIMARY, "unitOfMeasure": unit, "classes": classes}, events=[])
    assert f"RESULT: Attacks a month: {told}" in record.content


async def test_a_later_page_is_asked_for_by_its_token_and_keeps_the_count() -> None:
    tokens: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        tokens.append(request.url.params.get("pageToken"))
        count = {} if tokens[-1] else {"totalCount": 9}
        return page(study(len(tokens)), nextPageToken=f"t{len(tokens)}", **count)

    source = answering(ClinicalTrials, answer)
    replies = [await source.find("migraine", 1, {"page": number}) for number in (3, 4, 2)]

    assert tokens == [None, "t1", "t2", "t3", "t1"]
    assert [reply.total for reply in replies] == [9, 9, 9]


def test_background_reading_is_no_result_of_the_trial() -> None:
    references = [
        {"pmid": "1", "type": "BACKGROUND"},
        {"pmid": "2", "type": "RESULT"},
        {"pmid": "3", "type": "DERIVED"},
    ]
    assert read(referencesModule={"references": references}).metadata["result_pmids"] == ["2", "3"]
