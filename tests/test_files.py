"""Files from anywhere: each form is known by its content, gives its records, and says in a line what it cannot give."""

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import bibtexparser
import httpx
import pytest
import rispy
from typer.testing import CliRunner

from willowbark.teams.faces.cli import app
from willowbark.teams.run.research import research
from willowbark.tools.errors import UsageError
from willowbark.tools.files import FileItem, FileRecord, UnreadableRecord, read_records
from willowbark.tools.files import portable as pdf
from willowbark.tools.files.bibtex import decode_latex
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
from willowbark.tools.library import open_library
from willowbark.tools.library.building import build_library, verify_library
from willowbark.tools.library.looking_up import LookedUp, look_up_numbers
from willowbark.tools.local_files import UnusableFile
from willowbark.tools.sources.studies.clinicaltrials import parse_study

TITLE = "Timolol for the prevention of migraine"
ABSTRACT = "In 96 adults, timolol halved the days with migraine compared with placebo (p = 0.01)."
RIS = f"TY  - JOUR\nTI  - {TITLE}\nAB  - {ABSTRACT}\nAU  - Alder, Bea C.\nPY  - 1999\nER  - \n"
MEDLINE = (
    f"PMID- 90000031\nOWN - NLM\nTI  - Timolol for the prevention\n      of migraine\nAB  - {ABSTRACT}\n"
    "FAU - Alder, Bea C\nAU  - Alder BC\nDP  - 1999 Mar\nPT  - Clinical Trial\nPT  - Journal Article\n"
    "MH  - *Migraine Disorders/drug therapy\n"
    "AID - 10.1000/t31 [doi]\nPMC - PMC900031\nSI  - ClinicalTrials.gov/NCT09000031\n\nPMID- 90000032\nTI  - Second.\n"
)
ENDNOTE = (
    '<?xml version="1.0" encoding="UTF-8" ?><xml><records><record><database name="a.enl">a.enl</database>'
    '<ref-type name="Journal Article">17</ref-type><contributors><authors><author><style face="normal" size="100%">'
    "Alder, Bea C.</style></author></authors></contributors><titles><title><style face='normal'>Timolol for "
    "the </style>"
    f"<style face='italic'>prevention</style><style face='normal'> of migraine</style></title></titles><dates><year>"
    f"<style>1999</style></year></dates><abstract><style face='normal'>{ABSTRACT}</style></abstract><accession-num>"
    "<style>90000031</style></accession-num><remote-database-name><style>MEDLINE</style></remote-database-name>"
    "</record></records></xml>"
)
WOS = (
    f"FN Clarivate Analytics Web of Science\nVR 1.0\nPT J\nAU Alder, BC\n   Birch, D\nTI Timolol for the prevention\n"
    f"   of migraine\nSO HEADACHE NOTES\nAB {ABSTRACT}\nPY 1999\nDI 10.1000/t31\nPM 90000031\nER\n\nEF\n"
)
ENW = f"%0 Journal Article\n%T {TITLE}\n%A Alder, Bea C.\n%D 1999\n%J Headache Notes\n%X {ABSTRACT}\n%R 10.1000/t31\n\n"
BIBTEX = (
    '@string{hn = "Headache Notes"}\n@comment{left out}\n@Article{alder99,\n  title = "{Timolol} for the prevention of '
    f'migraine",\n  author = {{Alder, Bea C. and Carl D{{\\"o}}rn}},\n  journal = hn # " II",\n'
    f"  abstract = {{{ABSTRACT}}},\n"
    "  year = 1999, month = mar, pmid = {90000031}\n}\n"
)
CSL = json.dumps(
    [
        {
            "id": "a1",
            "type": "article-journal",
            "title": TITLE,
            "abstract": ABSTRACT,
            "author": [{"family": "Alder", "given": "Bea C."}],
            "issued": {"date-parts": [[1999, 3]]},
            "PMID": "90000031",
        }
    ],
    indent=1,
)
ZOTERO = json.dumps(
    {
        "items": [
            {
                "itemType": "journalArticle",
                "title": TITLE,
                "abstractNote": ABSTRACT,
                "creators": [{"creatorType": "author", "lastName": "Alder", "firstName": "Bea C."}],
                "date": "1999",
                "extra": "PMID: 90000031",
            }
        ]
    }
)
EUROPEPMC = json.dumps(
    {
        "version": "6.9",
        "hitCount": 1,
        "resultList": {
            "result": [
                {"id": "90000031", "source": "MED", "pmid": "90000031", "title": TITLE, "abstractText": ABSTRACT,
                 "authorString": "Alder BC.", "pubYear": "1999"}
            ]
        },
    },
    indent=2,
)  # fmt: skip
PUBTATOR = f"90000031|t|{TITLE}\n90000031|a|{ABSTRACT}\n90000031\t0\t7\tTimolol\tChemical\tMESH:D013999\n\n"
PUBMED_CSV = (
    "\ufeffPMID,Title,Authors,Citation,First Author,Journal/Book,Publication Year,Create Date,PMCID,NIHMS ID,DOI\n"
    f'"90000031","{TITLE}","Alder BC, Birch D.","Headache Notes.","Alder BC","Headache Notes","1999",'
    '"1999/03/01","","",""\n'
)
ONES: dict[str, tuple[str, dict[str, Any]]] = {
    "RIS": (RIS, {"authors": ["Alder BC"], "date": "1999"}),
    "RIS of JabRef": (f"Created by a program\n\n{RIS}", {"authors": ["Alder BC"]}),
    "RIS that Ovid numbered": (f"1. \n{RIS}\n", {"authors": ["Alder BC"]}),
    "RIS with pages and a DOI": (
        RIS.replace("ER  - ", "SP  - 11\nEP  - 19\nDO  - https://doi.org/10.1000/T31\nT2  - Headache Notes\nER  - "),
        {"pages": "11-19", "doi": "10.1000/t31", "journal": "Headache Notes"},
    ),
    "RIS with PubMed's address": (
        RIS.replace("ER  - ", "UR  - https://pubmed.ncbi.nlm.nih.gov/90000031/\nER  - "),
        {"pmid": "90000031"},
    ),
    "MEDLINE": (
        MEDLINE.partition("\n\n")[0],
        {
            "pmid": "90000031",
            "pmcid": "PMC900031",
            "doi": "10.1000/t31",
            "date": "1999-03",
            "authors": ["Alder BC"],
            "publication_types": ["Clinical Trial", "Journal Article"],
            "mesh_terms": ["Migraine Disorders"],
            "nct_ids": ["NCT09000031"],
        },
    ),
    "EndNote's XML": (ENDNOTE, {"pmid": "90000031", "authors": ["Alder BC"], "date": "1999"}),
    "EndNote's tags": (ENW, {"doi": "10.1000/t31", "journal": "Headache Notes", "authors": ["Alder BC"]}),
    "Web of Science": (WOS, {"pmid": "90000031", "authors": ["Alder BC", "Birch D"], "journal": "HEADACHE NOTES"}),
    "Web of Science with tabs": (
        f"PT\tAU\tTI\tSO\tAB\tPY\tPM\nJ\tAlder, BC; Birch, D\t{TITLE}\tHEADACHE NOTES\t{ABSTRACT}\t1999\t90000031\n",
        {"pmid": "90000031", "authors": ["Alder BC", "Birch D"]},
    ),
    "BibTeX": (
        BIBTEX,
        {"pmid": "90000031", "authors": ["Alder BC", "Dörn C"], "journal": "Headache Notes II", "date": "1999-03"},
    ),
    "CSL-JSON": (CSL, {"pmid": "90000031", "authors": ["Alder BC"], "date": "1999-03"}),
    "Zotero's JSON": (ZOTERO, {"pmid": "90000031", "authors": ["Alder BC"]}),
    "Europe PMC's JSON": (EUROPEPMC, {"pmid": "90000031", "authors": ["Alder BC"], "date": "1999"}),
    "PubTator": (PUBTATOR, {"pmid": "90000031"}),
    "a table": (
        f'Title;Abstract;DOI\n"{TITLE}";"{ABSTRACT}";10.1000/t31\n',
        {"doi": "10.1000/t31"},
    ),
    "our own JSON": (json.dumps([{"title": TITLE, "abstract": ABSTRACT, "pmid": 90000031}]), {"pmid": "90000031"}),
}


def write(folder: Path, content: str | bytes, name: str = "export") -> Path:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def read(folder: Path, content: str | bytes, name: str = "export") -> list[FileItem]:
    return list(read_records(write(folder, content, name)))


def only(folder: Path, content: str | bytes, name: str = "export") -> dict[str, Any]:
    [item] = read(folder, content, name)
    assert isinstance(item, FileRecord), item
    return item.fields


@pytest.mark.parametrize("name", ONES)
def test_each_form_is_known_by_its_content_and_gives_title_abstract_and_numbers(tmp_path: Path, name: str) -> None:
    content, due = ONES[name]
    fields = only(tmp_path, content)
    assert (fields["title"], fields["abstract"]) == (TITLE, ABSTRACT)
    assert {field: fields.get(field) for field in due} == due


ENCODINGS = {
    "UTF-16 with its mark": "utf-16",
    "UTF-16 without its mark": "utf-16-le",
    "UTF-16 in the other order": "utf-16-be",
    "UTF-8 with its mark": "utf-8-sig",
    "Windows-1252": "cp1252",
}


@pytest.mark.parametrize("encoding", ENCODINGS.values(), ids=ENCODINGS)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_text_is_read_in_its_encoding_whatever_ends_its_lines(tmp_path: Path, encoding: str, end: str) -> None:
    content = RIS.replace("Alder, Bea", "Ålder, Bea").replace("\n", end).encode(encoding)
    fields = only(tmp_path, content)
    assert (fields["title"], fields["authors"]) == (TITLE, ["Ålder BC"])


def test_a_single_letter_in_another_encoding_spoils_no_other(tmp_path: Path) -> None:
    content = RIS.replace("Alder", "Ålder").encode() + RIS.replace(TITLE, "Déjà vu").encode("cp1252")
    first, second = read(tmp_path, content)
    assert isinstance(first, FileRecord)
    assert isinstance(second, FileRecord)
    assert (first.fields["authors"], second.fields["title"]) == (["Ålder BC"], "Déjà vu")


def test_every_line_of_an_abstract_is_read_but_for_copyright_and_repetition(tmp_path: Path) -> None:
    lines = "AB  - Aim: days.\nAB  - Result: fewer.\nAB  - Copyright of Headache Notes is its own.\nN2  - Aim: days.\n"
    fields = only(tmp_path, RIS.replace(f"AB  - {ABSTRACT}\n", lines))
    assert fields["abstract"] == "Aim: days.\nResult: fewer."


def test_the_number_of_a_database_that_is_not_pubmeds_is_no_pmid(tmp_path: Path) -> None:
    fields = only(tmp_path, RIS.replace("ER  - ", "AN  - 90000031\nDB  - Embase\nER  - "))
    assert "pmid" not in fields
    fields = only(tmp_path, RIS.replace("ER  - ", "AN  - 90000031\nDB  - Ovid MEDLINE(R)\nER  - "))
    assert fields["pmid"] == "90000031"


def test_a_record_without_end_and_one_without_anything_cost_no_other(tmp_path: Path) -> None:
    content = f"TY  - JOUR\nTI  - Cut\nTY  - JOUR\nKW  - nothing\nER  - \n{RIS}"
    cut, empty, whole = read(tmp_path, content)
    assert isinstance(cut, FileRecord)
    assert isinstance(whole, FileRecord)
    assert (cut.fields["title"], whole.fields["title"]) == ("Cut", TITLE)
    assert empty == UnreadableRecord("line 3", "neither title nor number")


def test_a_broken_entry_of_bibtex_costs_itself_alone(tmp_path: Path) -> None:
    cut, whole = read(tmp_path, "@article{a,\n title = {never closed,\n year = 1999\n}\n" + BIBTEX)
    assert cut == UnreadableRecord("line 1", "an entry that is never closed")
    assert isinstance(whole, FileRecord)
    assert whole.own == {"id": "alder99"}


def test_latex_becomes_letters() -> None:
    assert decode_latex(r"5\,\% of $n$ in {M}\"uller \& {\'E}.~Nu{\~n}ez, \textit{post hoc}") == (
        "5 % of n in Müller & É. Nuñez, post hoc"
    )


def test_what_other_libraries_write_is_read(tmp_path: Path) -> None:
    entry = {
        "type_of_reference": "JOUR",
        "title": TITLE,
        "abstract": ABSTRACT,
        "authors": ["Alder, Bea"],
        "year": "1999",
    }
    assert only(tmp_path, rispy.dumps([entry]))["abstract"] == ABSTRACT
    written = bibtexparser.write_string(bibtexparser.parse_string(BIBTEX))
    assert only(tmp_path, written)["abstract"] == ABSTRACT


STUDY = {
    "protocolSection": {
        "identificationModule": {"nctId": "NCT09000031", "briefTitle": TITLE},
        "descriptionModule": {"briefSummary": "Timolol or placebo."},
    }
}
REGISTRY_CSV = (
    '\ufeff"NCT Number","Study Title","Study Status","Brief Summary","Study Results","Conditions","Interventions",'
    '"Primary Outcome Measures","Phases","Enrollment","Study Type","Study Design","Start Date"\n'
    f'NCT09000031,{TITLE},ACTIVE_NOT_RECRUITING,Timolol or placebo.,NO,Migraine|Headache,"DRUG: Timolol|DRUG: Placebo",'
    "Days with migraine|Severity,PHASE2|PHASE3,96,INTERVENTIONAL,"
    "Allocation: RANDOMIZED|Masking: DOUBLE (PARTICIPANT)|Primary Purpose: PREVENTION,2019-03\n"
)
OLD_CSV = (
    '"Rank","NCT Number","Title","Status","Study Results","Conditions","Interventions","Phases","Enrollment","URL"\n'
    f'1,NCT09000031,{TITLE},"Active, not recruiting",No Results Available,Migraine|Headache,'
    "Drug: Timolol|Drug: Placebo,"
    "Phase 2|Phase 3,96,https://clinicaltrials.gov/show/NCT09000031\n"
)
OLD_XML = (
    f'<?xml version="1.0"?><clinical_study rank="1"><id_info><nct_id>NCT09000031</nct_id></id_info>'
    f"<brief_title>{TITLE}"
    "</brief_title><brief_summary><textblock>Timolol or placebo.</textblock></brief_summary><overall_status>Active, "
    "not recruiting</overall_status><start_date>March 5, 2019</start_date><phase>Phase 2/Phase 3</phase><enrollment>96"
    "</enrollment><condition>Migraine</condition><condition>Headache</condition><intervention><intervention_type>Drug"
    "</intervention_type><intervention_name>Timolol</intervention_name></intervention><intervention><intervention_type>"
    "Drug</intervention_type><intervention_name>Placebo</intervention_name></intervention></clinical_study>"
)


@pytest.mark.parametrize("content", [REGISTRY_CSV, OLD_CSV, OLD_XML], ids=["CSV", "older CSV", "older XML"])
def test_a_download_of_the_registry_gives_its_trials(tmp_path: Path, content: str) -> None:
    record = parse_study(only(tmp_path, content))
    assert record is not None
    trial = record.trial
    assert trial is not None
    assert (record.key, record.citation.title) == ("nct:NCT09000031", TITLE)
    assert (trial.overall_status, trial.phases, trial.enrollment) == ("ACTIVE_NOT_RECRUITING", ["PHASE2", "PHASE3"], 96)
    assert trial.conditions == ["Migraine", "Headache"]
    assert [each["name"] for each in trial.interventions] == ["Timolol", "Placebo"]
    assert [each["type"] for each in trial.interventions] == ["DRUG", "DRUG"]


def test_the_registrys_csv_tells_design_outcomes_and_date(tmp_path: Path) -> None:
    record = parse_study(only(tmp_path, REGISTRY_CSV))
    assert record is not None
    trial = record.trial
    assert trial is not None
    assert (trial.allocation, trial.masking, trial.primary_purpose) == ("RANDOMIZED", "DOUBLE", "PREVENTION")
    assert [each["measure"] for each in trial.primary_outcomes] == ["Days with migraine", "Severity"]
    assert (trial.start_date, trial.has_results) == ("2019-03", False)


@pytest.mark.parametrize("content", [{"studies": [STUDY]}, [STUDY], STUDY], ids=["page", "list", "one"])
@pytest.mark.parametrize("indent", [None, 2])
def test_the_registrys_json_is_taken_as_it_is(tmp_path: Path, content: Any, indent: int | None) -> None:
    assert only(tmp_path, json.dumps(content, indent=indent)) == STUDY


NUMBERS = {
    "PMIDs under a heading": ("PMID\n90000031\n90000032\n", [{"pmid": "90000031"}, {"pmid": "90000032"}]),
    "PMIDs alone": ("90000031\n90000032\n", [{"pmid": "90000031"}, {"pmid": "90000032"}]),
    "PMIDs in a line": ("PMID: 90000031, 90000032", [{"pmid": "90000031"}, {"pmid": "90000032"}]),
    "numbers of all kinds": (
        "nct09000031\nhttps://doi.org/10.1000/T31\nPMC900031\n90000031\n",
        [{"nct_id": "NCT09000031"}, {"doi": "10.1000/t31"}, {"pmcid": "PMC900031"}, {"pmid": "90000031"}],
    ),
    "NCT numbers under a heading": ("NCT Number,Sponsor\nNCT09000031,A\n", [{"nct_id": "NCT09000031"}]),
    "PubMed's text for reading": (
        f"1. Headache Notes. 1999;1:1.\n\n{TITLE}.\n\nAlder BC.\n\n{ABSTRACT}\n\nPMID: 90000031\n",
        [{"pmid": "90000031"}],
    ),
}


@pytest.mark.parametrize(("content", "due"), NUMBERS.values(), ids=NUMBERS)
def test_a_list_gives_its_numbers(tmp_path: Path, content: str, due: list[dict[str, str]]) -> None:
    assert [item.fields for item in read(tmp_path, content) if isinstance(item, FileRecord)] == due


@pytest.mark.parametrize("content", ["12\n7\n180\n", "1999\n2004\n", "age,dose\n40,10\n", "To do: buy bread.\n"])
def test_counts_and_years_are_taken_for_no_numbers_of_publications(tmp_path: Path, content: str) -> None:
    with pytest.raises(UnusableFile, match="no file of records that is known"):
        read(tmp_path, content)


BOOK = (
    '<?xml version="1.0"?><PubmedArticleSet><PubmedBookArticle><BookDocument><PMID Version="1">90000041</PMID><Book>'
    "<BookTitle>Notes</BookTitle><PubDate><Year>2021</Year></PubDate></Book><ArticleTitle>Gout flares</ArticleTitle>"
    "<Abstract><AbstractText>Colchicine is given.</AbstractText></Abstract></BookDocument></PubmedBookArticle>"
    "</PubmedArticleSet>"
)


def test_a_chapter_of_a_book_is_a_record(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    file = write(tmp_path / "files", BOOK, "book.xml")
    assert open_library(file).contents.publications == 1
    build_library(tmp_path / "library", tmp_path / "files")
    [record] = open_library(tmp_path / "library").by_numbers(["pmid:90000041"], "pubmed")
    assert record.citation.title == "Gout flares"


def make_zip(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def test_what_archives_hold_is_read_and_each_member_told(tmp_path: Path) -> None:
    assert only(tmp_path, gzip.compress(RIS.encode()), "export.ris")["title"] == TITLE
    content = make_zip(good=RIS.encode(), packed=gzip.compress(MEDLINE.encode()), bad=b"To do: buy bread.")
    good, first, second, bad = read(tmp_path, content)
    assert [item.place for item in (good, first, second)] == ["good, line 1", "packed, line 1", "packed, line 16"]
    assert bad == UnreadableRecord("bad", "is no file of records that is known; save it as RIS, say")


REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "is empty"),
    "a bomb in gzip": (gzip.compress(b"TY  - JOUR\nTI  - A\nER  - \n" * 1_000_000), "expands to more than 100 times"),
    "half of gzip": (gzip.compress(RIS.encode())[:-12], "is cut or damaged"),
    "half of a zip": (make_zip(a=RIS.encode())[:-30], "is cut or damaged"),
    "a workbook": (make_zip(**{"xl/workbook.xml": b"<x/>"}), "is an Excel workbook; save"),
    "a document": (make_zip(**{"word/document.xml": b"<x/>"}), "is a Word document; save"),
    "a web page": (b"<!DOCTYPE html><html><body>Log in</body></html>", "is a web page; download"),
    "XML of another kind": (b"<rss><item/></rss>", "is XML <rss> of no kind that is known"),
    "XML with entities": (ENDNOTE.replace("<xml>", "<!DOCTYPE x [<!ENTITY a 'b'>]><xml>").encode(), "cut or broken"),
    "XML within XML": (b"<xml><records><record>" + b"<a>" * 50_000, "cut or broken"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9, "is no"),
    "JSON that is cut": (b'{\n "studies": [', "line 2: is not JSON; the file may be cut"),
    "JSON within JSON": (b"[" * 200_000, "is nested too deeply"),
    "a PDF that is none": (b"%PDF-1.7\nnothing", "is a PDF that cannot be read"),
}


@pytest.mark.parametrize(("content", "why"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_said_in_a_few_words(tmp_path: Path, content: bytes, why: str) -> None:
    with pytest.raises(UnusableFile, match=why) as caught:
        read(tmp_path, content)
    assert "\n" not in str(caught.value)


def test_a_bomb_in_a_zip_costs_itself_alone(tmp_path: Path) -> None:
    bomb, good = read(tmp_path, make_zip(bomb=b" " * 30_000_000, good=RIS.encode()))
    assert isinstance(bomb, UnreadableRecord)
    assert "expands to more than 100 times" in bomb.why
    assert isinstance(good, FileRecord)


def make_pdf(*lines: str) -> bytes:
    """Write a page of text, as simple as PDF can be."""
    shown = "".join(f"({line}) Tj T*\n" for line in lines)
    stream = f"BT /F1 11 Tf 50 780 Td 14 TL\n{shown}ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    content = b"%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % len(content)
    return content + b"xref\n0 6\n0000000000 65535 f \n" + table + end


def test_a_pdf_gives_title_abstract_and_doi(tmp_path: Path) -> None:
    lines = ("Headache Notes", TITLE, "https://doi.org/10.1000/t31", "Abstract", ABSTRACT[:40], ABSTRACT[40:])
    escaped = [
        line.replace("(", r"\(").replace(")", r"\)") for line in (*lines, "1. Introduction", "Migraine is common.")
    ]
    fields = only(tmp_path, make_pdf(*escaped))
    assert (fields["title"], fields["doi"]) == (TITLE, "10.1000/t31")
    assert fields["abstract"].replace(" ", "") == ABSTRACT.replace(" ", "")


def test_a_pdf_without_text_or_without_its_extra_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnusableFile, match="no text layer"):
        read(tmp_path, make_pdf(""))
    monkeypatch.setitem(__import__("sys").modules, "pypdf", None)
    with pytest.raises(UnusableFile, match=r"needs an extra: .*install .*'\.\[files\]'"):
        pdf.read_pdf(make_pdf(TITLE))


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A folder as it grows on a desk."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    write(folder, RIS, "a.ris")
    write(folder, MEDLINE, "b.txt")
    write(folder, BIBTEX, "c.bib")
    write(folder, REGISTRY_CSV, "d.csv")
    write(folder, "PMID\n90000031\n90000099\n", "e.csv")
    write(folder, "To do: buy bread.", "notes.md")
    write(folder, RIS, "z.bak")
    write(folder, "hidden", ".DS_Store")
    (folder / "old").mkdir()
    return folder


def test_a_mixed_folder_is_a_library_and_each_file_that_gives_less_is_told(shelf: Path) -> None:
    library = open_library(shelf)
    assert (library.contents.publications, library.contents.trials) == (3, 1)
    assert library.contents.unread == (
        "notes.md: is no file of records that is known; save it as RIS, say",
        "old: is a folder",
        "e.csv: 1 record left out, a number alone (pmid:90000099); "
        "`willowbark library build FOLDER --from e.csv` looks up what is lacking",
        "b.txt: 1 record without abstract, used by title alone (pmid:90000032); "
        "`willowbark library build FOLDER --from b.txt` looks up what is lacking",
        "c.bib: 1 record read before, counted once (pmid:90000031)",
        "z.bak: 1 record read before, counted once (own:alder-1999-timolol-for-the-prevention-of-migraine-a67865aa)",
    )


def test_a_list_alone_says_what_to_do(tmp_path: Path) -> None:
    file = write(tmp_path, "90000031\n", "pmids.txt")
    with pytest.raises(UsageError, match=r"a number alone \(pmid:90000031\); .*library build FOLDER --from pmids.txt"):
        open_library(file)


async def test_a_record_of_ones_own_is_found_by_each_source_and_cited_as_ones_own(shelf: Path) -> None:
    async with Transport(Endpoints(library=open_library(shelf / "a.ris"))) as transport:
        from willowbark.tools.sources.studies.europepmc import EuropePMC
        from willowbark.tools.sources.studies.pubmed import PubMed

        for source in (PubMed(transport), EuropePMC(transport)):
            [record] = await source.search("timolol migraine")
            assert record.citation.source == "own_file"
            assert record.citation.url.startswith("file:alder-1999-timolol")
            assert record.key == record.citation.url.replace("file:", "url:")


@pytest.mark.whole
async def test_a_run_over_a_file_names_its_records_and_invents_no_number(shelf: Path) -> None:
    report = await research("Which existing drugs could prevent migraine attacks?", library=shelf / "a.ris")
    assert [each.name for each in report.candidates] == ["timolol"]
    assert "pmid:" not in report.to_json()


class _Sources:
    """Answers as PubMed, Europe PMC and the registry do, and counts."""

    def __init__(self, *, is_up: bool = True) -> None:
        self.is_up = is_up
        self.paths: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.paths.append(request.url.path)
        if not self.is_up:
            return httpx.Response(404, text="gone")
        if request.url.path.endswith("efetch.fcgi"):
            article = (
                f"<PubmedArticle><MedlineCitation><PMID>90000099</PMID><Article><ArticleTitle>{TITLE}</ArticleTitle>"
                f"<Abstract><AbstractText>{ABSTRACT}</AbstractText></Abstract></Article></MedlineCitation></PubmedArticle>"
            )
            return httpx.Response(200, text=f"<PubmedArticleSet>{article}</PubmedArticleSet>")
        return httpx.Response(200, json=STUDY)


def look_up_at(sources: _Sources) -> Any:
    def look_up(names: Any) -> LookedUp:
        import asyncio

        async def ask() -> LookedUp:
            async with Transport(Endpoints.public({}), network=httpx.MockTransport(sources)) as transport:
                return await look_up_numbers(names, transport)

        return asyncio.run(ask())

    return look_up


def test_numbers_alone_are_looked_up_when_a_library_is_built(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    write(tmp_path / "files", "90000099\n90000098\nNCT09000031\n", "list.txt")
    sources = _Sources()
    manifest = build_library(tmp_path / "library", tmp_path / "files", look_up=look_up_at(sources))
    library = open_library(tmp_path / "library")
    assert (library.contents.publications, library.contents.trials) == (1, 1)
    assert library.by_numbers(["pmid:90000099"])[0].content == f"{TITLE}\n\n{ABSTRACT}"
    assert manifest.files["list.txt"]["unread_first"] == ["pmid:90000098: no source has a record of it"]
    count = len(sources.paths)
    build_library(tmp_path / "library", tmp_path / "files", look_up=look_up_at(sources))
    assert len(sources.paths) == count, "what was looked up is not asked again"


def test_numbers_whose_sources_were_silent_wait_for_the_next_call(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    write(tmp_path / "files", RIS + "\n", "a.ris")
    write(tmp_path / "files", "90000099\n", "list.txt")
    library = tmp_path / "library"
    manifest = build_library(library, tmp_path / "files", look_up=look_up_at(_Sources(is_up=False)))
    assert manifest.refused["list.txt"].startswith("its numbers were not looked up (pubmed: ")
    assert (manifest.records, manifest.files["list.txt"]["wanted"]) == (1, ["pmid:90000099"])
    assert list(verify_library(library))[-1] == "list.txt: 1 number not looked up yet; build or update it again"
    manifest = build_library(library, tmp_path / "files", look_up=look_up_at(_Sources()))
    assert (manifest.records, manifest.refused) == (2, {})


def test_a_library_of_files_is_built_offline_and_each_file_counted(shelf: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["library", "build", str(tmp_path / "built"), "--from", str(shelf), "--offline"])
    assert done.exit_code == 4, done.output
    assert done.stdout.splitlines()[-1].startswith("4 records of 6 files")
    for line in (
        "a.ris: 1 record; file 1 of 8",
        "c.bib: 0 records, 1 in the library already",
        "old: is a folder; skipped",
        "e.csv: 1 number not looked up; run it without --offline",
        "notes.md: is no file of records that is known; save it as RIS, say; skipped",
    ):
        assert line in done.stderr
    library = open_library(tmp_path / "built")
    assert (library.contents.publications, library.contents.trials) == (3, 1)


def test_a_file_is_read_for_what_it_says_and_a_registered_plan_for_no_verdict(shelf: Path) -> None:
    plan = json.loads(CliRunner().invoke(app, ["read", str(shelf / "d.csv"), "--quiet"]).stdout.splitlines()[0])
    assert {(row["drug"], row["verdict"], row["says"]) for row in plan["drugs"]} == {("timolol", "none", "none")}
    done = CliRunner().invoke(app, ["read", "-", "--quiet"], input=RIS.encode("utf-16"))
    assert [row["drug"] for row in json.loads(done.stdout)["drugs"]] == ["timolol"]
    done = CliRunner().invoke(app, ["read", str(shelf / "e.csv")])
    assert (done.exit_code, "library build FOLDER --from FILE" in done.stderr) == (2, True)
