"""EMA: central authorisations from one file for all drugs. The rows are known medicines, in the columns that it has."""

import httpx
from recorded import answering, recorded

from willowbark.agents.report.forms.links import safe_url
from willowbark.tools.records import Approval
from willowbark.tools.registry import offered
from willowbark.tools.search import Status
from willowbark.tools.sources.labels.ema import EMA


async def test_drugs_are_told_from_one_file_without_their_combinations() -> None:
    seen = list[httpx.Request]()
    async with recorded(seen=seen) as transport:
        first = await EMA(transport).look_up("empagliflozin", "metformin")
        second = await EMA(transport).look_up("rimonabant")

    [record] = first.records
    said = record.record
    assert isinstance(said, Approval)
    assert (said.drug, said.agency, said.first_approved, said.is_sold) == ("empagliflozin", "EMA", "2014-05-22", True)
    assert [each["brand"] for each in said.applications] == ["Jardiance"]
    assert "no medicine that is authorised centrally holds 'metformin' alone" in first.warnings[0]
    assert safe_url(record.citation.url) == record.citation.url
    assert "Acomplia (EMEA/H/C/000666): Withdrawn" in second.records[0].content
    assert len(seen) == 1
    assert "ema" not in offered()


async def test_rows_that_lack_a_number_a_day_or_a_page_cost_no_other() -> None:
    rows = [
        {"category": "Human", "name_of_medicine": "A", "international_non_proprietary_name_common_name": "propranolol"},
        {
            "category": "Human",
            "name_of_medicine": "B",
            "ema_product_number": "EMEA/H/C/000001",
            "international_non_proprietary_name_common_name": "propranolol",
            "marketing_authorisation_date": "soon",
        },
    ]
    found = await answering(EMA, httpx.Response(200, json={"data": rows})).look_up("propranolol")

    assert found.status is Status.OK
    assert "B (EMEA/H/C/000001): status not given" in found.records[0].content
    assert found.records[0].citation.url == "https://www.ema.europa.eu/en/medicines"
