"""A publication as PubMed writes it: EFetch's XML, ESummary's JSON and XML; what is not known is left out.

https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd
"""

import calendar
import re
from collections.abc import Iterable
from xml.sax.saxutils import escape

from .library import OWN_WORDS, Publication

_INITIALS = re.compile(r"(.+?) ([A-Z][A-Za-z]{0,3})(?: (Jr|Sr|2nd|3rd|I{2,3}))?")


def article(record: Publication) -> str:
    """One `PubmedArticle`, in the order of PubMed's DTD."""
    journal = f"<Title>{escape(record.journal)}</Title>" if record.journal else ""
    date = _date(record.date)
    doi = f'<ELocationID EIdType="doi" ValidYN="Y">{escape(record.doi)}</ELocationID>' if record.doi else ""
    abstract = ""
    if record.abstract:
        abstract = (
            f"<Abstract><AbstractText>{escape(record.abstract)}</AbstractText>"
            f"<CopyrightInformation>{OWN_WORDS}</CopyrightInformation></Abstract>"
        )
    return (
        f'<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="1">{record.pmid}</PMID>'
        f'<Article PubModel="Print"><Journal><JournalIssue CitedMedium="Print"><PubDate>{date}</PubDate></JournalIssue>'
        f"{journal}</Journal><ArticleTitle>{escape(record.title)}</ArticleTitle>{doi}{abstract}{_authors(record)}"
        f"{_trials(record)}"
        f"{_each('PublicationTypeList', 'PublicationType', record.publication_types)}</Article>{_headings(record)}"
        f"</MedlineCitation><PubmedData><PublicationStatus>ppublish</PublicationStatus>{_identifiers(record)}"
        "</PubmedData></PubmedArticle>\n"
    )


def _date(date: str | None) -> str:
    """Year, month and day as PubMed writes them, as far as they are known."""
    year, month, day = [*(date or "").split("-"), "", ""][:3]
    parts = (("Year", year), ("Month", calendar.month_abbr[int(month)] if month else ""), ("Day", day))
    return "".join(f"<{name}>{value}</{name}>" for name, value in parts if value)


def _authors(record: Publication) -> str:
    if not record.authors:
        return ""
    return f'<AuthorList CompleteYN="Y">{"".join(map(_author, record.authors))}</AuthorList>'


def _author(name: str) -> str:
    person = _INITIALS.fullmatch(name)
    if person is None:
        return f'<Author ValidYN="Y"><CollectiveName>{escape(name)}</CollectiveName></Author>'
    initials = " ".join(re.findall("[A-Z][a-z]*", person[2]))
    suffix = f"<Suffix>{person[3]}</Suffix>" if person[3] else ""
    return (
        f'<Author ValidYN="Y"><LastName>{escape(person[1])}</LastName><ForeName>{initials}</ForeName>'
        f"<Initials>{person[2]}</Initials>{suffix}</Author>"
    )


def _trials(record: Publication) -> str:
    if not record.nct_ids:
        return ""
    numbers = _each("AccessionNumberList", "AccessionNumber", record.nct_ids)
    bank = f"<DataBank><DataBankName>ClinicalTrials.gov</DataBankName>{numbers}</DataBank>"
    return f'<DataBankList CompleteYN="Y">{bank}</DataBankList>'


def _headings(record: Publication) -> str:
    headings = "".join(
        f'<MeshHeading><DescriptorName MajorTopicYN="N">{escape(term)}</DescriptorName></MeshHeading>'
        for term in record.mesh_terms
    )
    return f"<MeshHeadingList>{headings}</MeshHeadingList>" if headings else ""


def _identifiers(record: Publication) -> str:
    known = (("pubmed", record.pmid), ("doi", record.doi), ("pmc", record.pmcid))
    ids = "".join(f'<ArticleId IdType="{kind}">{escape(value)}</ArticleId>' for kind, value in known if value)
    return f"<ArticleIdList>{ids}</ArticleIdList>"


def _each(container: str, name: str, values: Iterable[str]) -> str:
    inner = "".join(f"<{name}>{escape(value)}</{name}>" for value in values)
    return f"<{container}>{inner}</{container}>" if inner else ""


def summary(record: Publication) -> dict[str, object]:
    ids = [{"idtype": "pubmed", "idtypen": 1, "value": record.pmid}]
    if record.doi:
        ids.append({"idtype": "doi", "idtypen": 3, "value": record.doi})
    if record.pmcid:
        ids.append({"idtype": "pmc", "idtypen": 8, "value": record.pmcid})
        ids.append({"idtype": "pmcid", "idtypen": 5, "value": f"pmc-id: {record.pmcid};"})
    year, month, day = [*(record.date or "").split("-"), "", ""][:3]
    shown = " ".join(filter(None, (year, calendar.month_abbr[int(month)] if month else "", day.lstrip("0"))))
    return {
        "uid": record.pmid,
        "pubdate": shown,
        "sortpubdate": f"{year}/{month or '01'}/{day or '01'} 00:00" if year else "",
        "source": record.journal or "",
        "fulljournalname": record.journal or "",
        "authors": [{"name": name, "authtype": "Author", "clusterid": ""} for name in record.authors],
        "title": record.title,
        "pubtype": record.publication_types,
        "articleids": ids,
        "attributes": ["Has Abstract"] if record.abstract else [],
    }


def docsum(record: Publication) -> str:
    authors = "".join(f'\t<Item Name="Author" Type="String">{escape(name)}</Item>\n' for name in record.authors)
    return (
        f'<DocSum>\n<Id>{record.pmid}</Id>\n<Item Name="PubDate" Type="Date">{record.date or ""}</Item>\n'
        f'<Item Name="AuthorList" Type="List">\n{authors}</Item>\n'
        f'<Item Name="Title" Type="String">{escape(record.title)}</Item>\n'
        f'<Item Name="FullJournalName" Type="String">{escape(record.journal or "")}</Item>\n'
        f'<Item Name="DOI" Type="String">{escape(record.doi or "")}</Item>\n</DocSum>\n'
    )
