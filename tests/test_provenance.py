"""Where a report's words come from: sections, limits that studies state, versions, records that look alike."""

from typing import Any, cast

import pytest
from builders import asked, findings, record, reply, scripted, spoken, verdict

from willowbark.agents.asking.claims import Claim
from willowbark.agents.asking.drafts import ReportDraft
from willowbark.agents.report.model import ResearchReport
from willowbark.agents.reporter import ReportAgent
from willowbark.tools.records.evidence import Evidence

SAID = "Propranolol reduced migraine attacks compared with placebo (p<0.001)."
RESULT = "Attacks were halved by propranolol more often than by placebo (OR 2.4; 95% CI 1.3-4.4; P=0.004)."
LIMIT = "A limitation of this trial is that follow-up was short."


def read(
    abstract: str = SAID, results: str = f"In all, 120 patients were randomised. {RESULT}", **more: Any
) -> Evidence:
    sections = [
        {"kind": "results", "title": "Results", "text": results},
        {"kind": "limitations", "title": "Discussion > Limitations", "text": LIMIT},
    ]
    known = {"full_text": {"pmcid": "PMC1", "licence": "CC BY 4.0", "sections": sections}, "pmcid": "PMC1"}
    types = ["Randomized Controlled Trial"]
    return record("1", "Propranolol in migraine prevention", abstract, publication_types=types, **{**known, **more})


async def report_on(*pool: Evidence, quote: str = SAID) -> ResearchReport:
    claim = Claim(drug="propranolol", evidence_key="pmid:1", quote=quote, stance="supports")
    agent = ReportAgent(
        "report", scripted(ReportDraft(claims=[claim], candidates=[]).model_dump_json()), words="quoted"
    )
    messages = [asked(), findings("literature", reply(*pool)), verdict("synthesize", stop_reason="no_new_evidence")]
    return cast(ResearchReport, await spoken(agent, *messages))


async def test_a_quote_of_the_full_text_is_shown_with_its_section_and_licence() -> None:
    report = await report_on(read(), quote=RESULT)
    written = report.to_markdown() + report.to_appendix()

    assert report.candidates[0].claims[0].section == "Results"
    assert "*(Results, full text)*" in written
    assert "Full text read (PMC1, CC BY 4.0): Results, Discussion > Limitations." in written
    assert report.references[0]["full_text"]["licence"] == "CC BY 4.0"
    assert [line for line in report.limitations if "1 publication" in line and "CC BY 4.0" in line], report.limitations


async def test_a_row_of_a_table_is_quoted_as_it_stands_and_lends_its_figures_to_no_other_passage() -> None:
    row = "Attacks; Propranolol vs placebo > OR (95% CI): 2.4 (1.3-4.4); P value: 0.004"
    sections = [{"kind": "table", "title": "Table 2", "text": f"Attacks by week 12\n{row}"}]
    record = read(full_text={"pmcid": "PMC1", "licence": "CC BY 4.0", "sections": sections})
    [told] = (await report_on(record, quote=SAID)).evidence_table
    report = await report_on(record, quote=row)
    [claim] = report.candidates[0].claims

    assert told.effects == []
    assert (claim.section, claim.quote) == ("Table 2", row)
    assert "*(Table 2, full text)*" in report.to_appendix()


async def test_what_studies_say_limits_them_is_quoted_with_the_candidate() -> None:
    report = await report_on(read())

    [limit] = report.candidates[0].study_limits
    assert (limit.key, limit.section, limit.quote) == ("pmid:1", "Discussion > Limitations", LIMIT)
    assert LIMIT in report.to_appendix()
    sound = record("2", "Propranolol in migraine prophylaxis, again", SAID)
    pulled = await report_on(read(retracted=True), sound)
    assert pulled.candidates
    assert [candidate for candidate in pulled.candidates if candidate.study_limits] == []


@pytest.mark.parametrize(
    ("abstract", "sizes"),
    [
        (SAID.replace("(", "(OR 0.5; "), [("Abstract", 0.5)]),
        (f"{SAID} Somnolence was likelier with propranolol (OR 3.1).", []),
        (f"{SAID} Migraine went on in fewer with propranolol (OR 0.4).", []),
        (f"{SAID} Adverse events of propranolol were likelier in migraine (OR 3.1).", []),
        (SAID, []),
    ],
    ids=["the passage's own", "another outcome", "another sentence", "harm", "full text"],
)
async def test_effect_sizes_are_those_of_the_passage(abstract: str, sizes: list[tuple[str, float]]) -> None:
    [row] = (await report_on(read(abstract), quote=abstract.partition(").")[0] + ").")).evidence_table

    assert [(row.effects_section, size.value) for size in row.effects] == sizes
    assert row.section == "Abstract"


async def test_a_preprint_that_was_published_is_shown_with_its_article() -> None:
    early = record("9", "Propranolol, early", SAID, is_preprint=True, published_version="1")
    report = await report_on(read(), early)

    [version] = report.references[0]["versions"]
    assert (version["relation"], version["key"]) == ("preprint", "pmid:9")
    assert "Preprint: [Propranolol, early](https://pubmed.ncbi.nlm.nih.gov/9/) (2001)." in report.to_markdown()
    assert sum(report.flow.identified.values()) == report.flow.duplicates + report.flow.screened == 2
    unread = await report_on(read(is_preprint=True, published_version="10.5555/later"))
    assert "Since published as 10.5555/later, which was not read." in unread.to_markdown()


async def test_a_notice_is_no_publication_that_was_read() -> None:
    on = [{"flag": "corrected", "name": "pmid:1"}]
    notice = record("8", "Correction: Propranolol in migraine prevention", SAID, kind="notice", notice_on=on)
    report = await report_on(read(), notice)

    assert report.total_papers_reviewed == 1
    assert report.candidates[0].supporting_citations == ["pmid:1"]
    assert "corrected" in report.references[0]["flags"]
    assert report.flow.included == 1
