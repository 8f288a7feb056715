"""Replies for rehearsals, made of the facts of the bundled library: as many records as an ordinary question finds.

`tests/replies` holds a few dozen records, which are read before the sources have answered; a run over these is as large
as a real one. Publications beyond those of the library are its own under other numbers, each from a centre of its own.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from itertools import count, islice
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from willowbark.tools.library.rows import PublicationRow, StudyRow, list_record_files, read_rows

from .bundled import BUNDLED, bundled_publications
from .replies import REPLIES

RECORDS = 340
"""Publications and trials that rehearsals find at most."""
_FIRST_PMID = 90_000_001  # beyond PubMed's own


def write_replies(folder: Path, records: int = RECORDS) -> Path:
    """Write a folder of replies as `SourceServer` takes it: recorded ones, with made ones of PubMed, Europe PMC and
    ClinicalTrials.gov in place of theirs."""
    shutil.copytree(REPLIES, folder, dirs_exist_ok=True)
    studies = list(_studies())
    papers = list(islice(_papers(), max(0, records - len(studies))))
    articles = "".join(map(_article, papers))
    set_of_articles = f'<?xml version="1.0" ?>\n<PubmedArticleSet>\n{articles}</PubmedArticleSet>\n'
    (folder / "pubmed" / "efetch.xml").write_text(set_of_articles, encoding="utf-8")
    results = {"resultList": {"result": [_hit(paper) for paper in papers]}}
    _change(folder / "europepmc" / "search.json", {**results, "hitCount": len(papers)})
    _change(folder / "clinicaltrials" / "studies.json", {"studies": studies, "totalCount": len(studies)})
    return folder


def _change(file: Path, fields: Mapping[str, Any]) -> None:
    content = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**content, **fields}, ensure_ascii=False), encoding="utf-8")


def _studies() -> Iterator[dict[str, Any]]:
    for row, _ in read_rows(list_record_files(BUNDLED), print):
        if isinstance(row, StudyRow):
            yield row.study


def _papers() -> Iterator[PublicationRow]:
    """Yield the library's publications, then endlessly the same from other centres."""
    known = [row for row in bundled_publications() if row.pmid and row.abstract]
    yield from known
    numbers = count(_FIRST_PMID)
    while True:
        for row in known:
            pmid = next(numbers)
            place = f"centre {pmid - _FIRST_PMID + 1}"
            told = {"title": f"{row.title.rstrip('.')}, {place}.", "abstract": f"{row.abstract} This was {place}."}
            yield row.model_copy(update={**told, "pmid": str(pmid), "doi": None, "pmcid": None, "nct_ids": []})


def _article(row: PublicationRow) -> str:
    """A publication as PubMed writes it."""
    names = [author.rpartition(" ") for author in row.authors]
    authors = "".join(
        f'<Author ValidYN="Y"><LastName>{escape(last or initials)}</LastName><Initials>{escape(initials)}</Initials>'
        "</Author>"
        for last, _, initials in names
    )
    types = "".join(f'<PublicationType UI="D016428">{escape(each)}</PublicationType>' for each in row.publication_types)
    return (
        f'<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="1">{row.pmid}</PMID>'
        f'<Article PubModel="Print"><Journal><JournalIssue CitedMedium="Print"><PubDate><Year>{_year(row)}</Year>'
        f"</PubDate></JournalIssue></Journal><ArticleTitle>{escape(row.title)}</ArticleTitle><Abstract><AbstractText>"
        f'{escape(row.abstract or "")}</AbstractText></Abstract><AuthorList CompleteYN="Y">{authors}</AuthorList>'
        f"<PublicationTypeList>{types}</PublicationTypeList></Article></MedlineCitation><PubmedData>"
        f'<PublicationStatus>ppublish</PublicationStatus><ArticleIdList><ArticleId IdType="pubmed">{row.pmid}'
        "</ArticleId></ArticleIdList></PubmedData></PubmedArticle>\n"
    )


def _hit(row: PublicationRow) -> dict[str, Any]:
    """A publication as Europe PMC writes it."""
    return {
        "id": row.pmid,
        "source": "MED",
        "pmid": row.pmid,
        "title": row.title,
        "authorString": f"{', '.join(row.authors)}.",
        "pubYear": _year(row),
        "journalInfo": {"dateOfPublication": _year(row)},
        "pubTypeList": {"pubType": row.publication_types},
        "abstractText": row.abstract,
    }


def _year(row: PublicationRow) -> str:
    return (row.date or "2000")[:4]
