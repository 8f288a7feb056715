"""Drugs@FDA: the earliest approval of a drug alone; a true zero is told from a failure."""

from typing import Any

import httpx
from recorded import recorded

from willowbark.agents.report.forms import safe_url
from willowbark.tools.sources.labels.drugsfda import DrugsFDA, parse_approval


def application(
    number: str, day: str, *ingredients: str, status: str = "Prescription", state: str = "AP"
) -> dict[str, Any]:
    return {
        "application_number": number,
        "products": [
            {
                "brand_name": "B",
                "active_ingredients": [{"name": n} for n in ingredients],
                "marketing_status": status,
                "route": status[:4].upper(),
            }
        ],
        "submissions": [{"submission_type": "ORIG", "submission_status": state, "submission_status_date": day}],
    }


async def test_approvals_of_many_drugs_are_had_in_one_request() -> None:
    seen = list[httpx.Request]()
    async with recorded(seen=seen) as transport:
        found = await DrugsFDA(transport).look_up("propranolol", "topiramate", "losartan")

    assert {r.metadata["drug"]: r.metadata["first_approved"] for r in found.records} == {
        "propranolol": "1967-11-13",
        "topiramate": "1996-12-24",
        "losartan": "1995-04-14",
    }
    assert len(seen) == 1
    assert [record for record in found.records if safe_url(record.citation.url) != record.citation.url] == []


def test_the_earliest_approval_of_the_drug_alone_counts() -> None:
    given = [
        application("NDA000002", "19990101", "LOSARTAN POTASSIUM"),
        application("NDA000001", "19950414", "LOSARTAN POTASSIUM", status="Discontinued"),
        application("NDA000003", "19900101", "LOSARTAN POTASSIUM", "HYDROCHLOROTHIAZIDE"),
        application("NDA000004", "19800101", "LOSARTAN POTASSIUM", state="TA"),
        {"products": [{"active_ingredients": [{"name": "LOSARTAN"}]}]},
    ]
    found = parse_approval("losartan", given).record

    assert found is not None
    assert (found.metadata["first_approved"], found.metadata["is_sold"]) == ("1995-04-14", True)
    assert "NDA000001" in found.content
    assert found.metadata["routes"] == ["PRES"]
    assert parse_approval("losartan", [given[2]]) == (None, (), "no reference product holds 'losartan'")
    alone = parse_approval("losartan", [given[1]]).record
    assert alone is not None
    assert "0 not discontinued" in alone.content


def test_an_application_goes_by_its_number() -> None:
    numbers = ("NDA021588", "BLA12345", "NDA1234", "NDA0215888", "N021588", "")
    found = [parse_approval("losartan", [application(each, "19990101", "LOSARTAN")]).record for each in numbers]
    assert [each is not None for each in found] == [True, True, False, False, False, False]
