"""Code shared by the publication sources: dates, superscripts, trial numbers, query conversion, filters."""

import html
import re
from calendar import month_abbr, monthrange
from collections.abc import Iterable
from datetime import date
from functools import partial
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, Field

from ..errors import SourceRefused
from ..http.xml import lift_markup
from ..questions.query import OPERATORS, remove_tags
from ..records.evidence import UNKNOWN_DATE, Evidence, checked_identifier
from ..search import SearchFilters

MAX_CITATIONS = 20  # citing publications, and as many cited ones: both lists may hold thousands
PREPRINT_MARK = "[PREPRINT - Not peer-reviewed]"
NO_TITLE = "[Title not given]"
NOTICE_TYPES = frozenset(
    {"Retraction of Publication", "Retraction Notice", "Expression of Concern", "Published Erratum"}
)
"""Publication types of notices on other articles, which report no study: PubMed's, then Europe PMC's."""

_MONTHS = {name.lower(): number for number, name in enumerate(month_abbr) if name}
_TRUNCATED = re.compile(r"\s*\(ABSTRACT TRUNCATED(?: AT \d+ WORDS)?\)\s*$")
_TRIAL = re.compile(r"\bNCT\d{8}\b", re.IGNORECASE)
_ACRONYM = re.compile(
    r"\b(?:Trial|Study|Evaluation|Survival|Investigation|Intervention|Program(?:me)?|Project)\b[^().;]{0,90}"
    r"\((?P<after>[A-Z][\w/-]*[A-Z][\w/-]*)\)|\((?P<before>[A-Z][\w/-]*[A-Z][\w/-]*)\)\s+(?:[Tt]rial|[Ss]tudy)\b"
)
"""An acronym in brackets after the words that it stands for."""
_NAMED = (
    r"(?P<name>[A-Z]+(?:-?[A-Z\d]+)*[A-Z]{2}(?:-[A-Z\d]+|-[A-Z][a-z]+| [A-Z\d]{2,5})*)"
    r" (?:[Ss]ub-?)?(?:[Ss]tudy|[Tt]rial)\b"
)
_IN_TITLE = re.compile(rf"\b(?!I+[A-C]?\b){_NAMED}")  # not "a phase III trial"
_PART_OF = re.compile(
    rf"\b(?:part|data|participants|patients|enrolled|randomi[sz]ed) (?:of|from|in|into|to) the {_NAMED}"
)
_TAG = re.compile(
    r"</?([A-Za-z][\w:.-]{0,40})(?:\s+[\w:.-]{1,40}\s*=\s*(?:\"[^\"<>]{0,300}\"|'[^'<>]{0,300}'|[^\s\"'<>=]{1,300}))*\s*/?>"
)
_HEADING = re.compile(r"<h\d>([^<>]*)</h\d>", re.IGNORECASE)
_SUPERSCRIPT = re.compile(r"<sup>([^<>]*)</sup>", re.IGNORECASE)
_LINES = frozenset({"p", "br", "li", "div", "ul", "ol", "sec", "title"})
_PAGES = re.compile(r"\b(?P<head>[A-Za-z]{0,2})(?P<first>\d+)-(?P<last>\d+)\b(?!\.)")
_REDACTED = re.compile(
    r"https?://\S+|www\.\S+"  # may hold a key, and reports are not to link to them
    r"|\b\d{1,3}(?:\.\d{1,3}){3}\b"  # the caller's IP address
    r"|\b[0-9a-f]{20,}\b",  # NCBI's keys are 36 hexadecimal digits
    re.IGNORECASE,
)


class Citations(NamedTuple):
    """Citing and cited publications, by PMID, in the source's order."""

    citing: list[str]
    cited: list[str]

    @property
    def chosen(self) -> list[str]:
        """The ones to fetch: at most `MAX_CITATIONS` of either kind."""
        return list(dict.fromkeys([*self.citing[:MAX_CITATIONS], *self.cited[:MAX_CITATIONS]]))

    @property
    def notes(self) -> list[str]:
        """Describe what was left out."""
        kinds = (("cite it", self.citing), ("it cites", self.cited))
        return [
            f"the first {MAX_CITATIONS} of {len(pmids):,} that {how}" for how, pmids in kinds if pmids[MAX_CITATIONS:]
        ]

    def noted(self, records: Iterable[Evidence], pmid: str) -> list[Evidence]:
        """Add to each record how it is linked to the publication; keeps their order."""
        by_pmid = {record.record.pmid: record for record in records}
        return [
            by_pmid[number].noting(
                found_by=[f"cites PMID {pmid}" if number in self.citing else f"cited by PMID {pmid}"]
            )
            for number in self.chosen
            if number in by_pmid
        ]


def check_pmid(source: str, pmid: str) -> str:
    """Return a PMID in canonical form; raises `SourceRefused` if it is invalid."""
    if (number := checked_identifier("pmid", pmid)) is None:
        raise SourceRefused(source, f"{redact(pmid)!r} is not a PMID")
    return number


def write_content(title: str, abstract: str, *, preprint: bool = False) -> str:
    """Compose a record's text: title, blank line, abstract; preprints start with a mark.

    What MEDLINE wrote after abstracts that it cut is no part of the text.
    """
    abstract = _TRUNCATED.sub("", abstract)
    head = f"{PREPRINT_MARK} {title}" if preprint else title
    return f"{head}\n\n{abstract}" if abstract else head


def remove_markup(text: str) -> str:
    """Remove markup: headings become labels, superscripts stay readable; a lone `<` is not markup."""

    def replace_tag(tag: re.Match[str]) -> str:
        name = tag[1].lower()
        return tag[0] if name == "sup" else "\n" if name in _LINES else ""

    text = _HEADING.sub(lambda m: f"\n{m[1].strip().rstrip(':')}: " if m[1].strip() else "\n", text)
    text = _TAG.sub(replace_tag, text)
    text = _SUPERSCRIPT.sub(lambda m: lift_markup(text[max(0, m.start() - 1) : m.start()], m[1]), text)
    lines = (" ".join(line.split()) for line in html.unescape(_TAG.sub("", text)).split("\n"))
    return "\n".join(line for line in lines if line)


def is_code(text: str, least: int, most: int, marks: str = "") -> bool:
    """Whether a text is an identifier of `least` to `most` ASCII letters and digits, with `marks` between them.

    >>> is_code("CHEMBL27", 2, 20), is_code("HLA-A", 2, 20, "-"), is_code("a b", 2, 20), is_code("-", 1, 20, "-")
    (True, True, False, False)
    """
    return text.isascii() and least <= len(text) <= most and text.translate(dict.fromkeys(map(ord, marks))).isalnum()


def cut_at_sentence(text: str, most: int, ends: str = ".!?") -> str:
    """Cut a text to at most `most` characters, at the end of a sentence if one ends within them.

    >>> cut_at_sentence("It helps. It is safe.", 12), cut_at_sentence("It helps. It is safe.", 5)
    ('It helps.', 'It he')
    """
    if len(text) <= most:
        return text
    end = max((at for at in range(1, most) if text[at - 1] in ends and text[at].isspace()), default=most)
    return text[:end].rstrip()


def format_iso_date(year: str, month: str = "", day: str = "") -> str | None:
    """Return a date as precise as its parts allow; None without a year.

    >>> format_iso_date("2021", "Mar", "4"), format_iso_date("2021", "Winter"), format_iso_date("2021", "02", "31")
    ('2021-03-04', '2021', '2021-02')
    """
    if not (len(year.strip()) == 4 and year.strip().isdecimal() and year.strip()[0] in "12"):
        return None
    number = int(month) if month.strip().isdecimal() else _MONTHS.get(month.strip()[:3].lower(), 0)
    if not 1 <= number <= 12:
        return year.strip()
    last = monthrange(int(year), number)[1]
    if day.strip().isdecimal() and 1 <= int(day) <= last:
        return f"{year.strip()}-{number:02}-{int(day):02}"
    return f"{year.strip()}-{number:02}"


def find_date(text: str) -> str | None:
    """Return a date from free text, as precise as the text allows: of a range, the leading part its ends share.

    >>> find_date("2018 Nov-Dec"), find_date("2011 Mar 15-20"), find_date("2025-12-31"), find_date("03/03/2018")
    ('2018', '2011-03', '2025-12-31', '2018')
    """
    parts = text.strip().split("-")
    if [*map(len, parts)] in ([4, 2], [4, 2, 2]) and all(map(str.isdecimal, parts)):
        return format_iso_date(*parts)
    if exact := re.fullmatch(r"\s*([0-9]{4})\s+([A-Za-z]{3,9})(?:\s+([0-9]{1,2}))?(?:\s*-\s*[0-9]{1,2})?\s*", text):
        return format_iso_date(exact[1], exact[2], "" if "-" in text else exact[3] or "")
    return next(iter(find_years(text)), None)


def find_years(text: str) -> list[str]:
    """Return the years named in a text, in order."""
    return re.findall(r"(?<!\d)[12][0-9]{3}(?!\d)", text)


def choose_publication_date(issue: str | None, online: str | None) -> str:
    """Return the date to cite: the issue's, or the online date if it is in the same year and more precise."""
    if issue and online and online[:4] == issue[:4] and len(online) > len(issue):
        return online
    return issue or online or UNKNOWN_DATE


def format_pages(text: object) -> str | None:
    """Expand page ranges that MEDLINE shortens; None for a blank value.

    >>> format_pages("1167-70"), format_pages("S12-9; discussion S20"), format_pages("e5807"), format_pages(" ")
    ('1167-1170', 'S12-S19; discussion S20', 'e5807', None)
    """

    def expand(pages: re.Match[str]) -> str:
        head = pages["head"]
        first = pages["first"]
        last = pages["last"]
        return f"{head}{first}-{head}{first[: len(first) - len(last)]}{last}" if len(last) < len(first) else pages[0]

    return _PAGES.sub(expand, " ".join(str(text or "").split())) or None


def find_trial_numbers(*texts: str) -> list[str]:
    """Return the ClinicalTrials.gov numbers named in texts, in order, each once."""
    numbers: dict[str, None] = {}
    for text in texts:
        if "nct" in text.lower():  # most texts name none: faster than the pattern
            numbers |= {number.upper(): None for number in _TRIAL.findall(text)}
    return list(numbers)


def find_trial_acronyms(title: str, text: str) -> list[str]:
    """Return the acronyms of a record's trials, in order: those spelt out, and those that title or text call a trial.

    Other abbreviations that the text explains in brackets are none: "a PET study".

    >>> find_trial_acronyms("Heart Outcomes Prevention Evaluation (HOPE)", "As part of the PEACE trial, …")
    ['HOPE', 'PEACE']
    """
    names: list[str] = []
    for match in (*_ACRONYM.finditer(title), *_ACRONYM.finditer(text)):
        names.append(match["after"] or match["before"])
    for match in (*_IN_TITLE.finditer(title), *_PART_OF.finditer(text)):
        names += [match["name"]] if f"({match['name']})" not in text else []
    return list(dict.fromkeys(name.upper() for name in names))


def extract_words(query: str) -> str:
    """Return a boolean query's words, without operators, field tags and exclusions: for ranking alone."""
    query = re.sub(r"\bNOT\s+(\"[^\"]*\"|\([^()]*\)|[^\s()]+)", " ", query)
    words = remove_tags(query.replace("*", " ")).translate(dict.fromkeys(map(ord, '"()'), " ")).split()
    return " ".join(word for word in words if word not in OPERATORS)


def _parse_boundary(first: bool, value: object) -> object:
    """Return the date meant by a value: a year or month becomes its first or its last day."""
    if value is None:
        return None
    year, *further = str(value).strip().replace("/", "-").split("-")
    is_short = len(year) == 4 and len(further) <= 2 and all(len(part) <= 2 for part in further)
    if not is_short or not all(map(str.isdecimal, (year, *further))):
        raise ValueError("years and dates (YYYY-MM-DD) are understood")
    month = int(further[0]) if further else 1 if first else 12
    return date(int(year), month, int(further[1]) if further[1:] else 1 if first else monthrange(int(year), month)[1])


def redact(message: object) -> str:
    """Return a source's own words in one line of at most 120 characters, without addresses and keys."""
    line = " ".join(_REDACTED.sub("…", str(message)).split())
    return line if len(line) <= 120 else line[:119] + "…"


class DatedFilters(SearchFilters, frozen=True):
    """Filters by date, of a paper's publication or a trial's start; both ends included."""

    mindate: Annotated[date | None, BeforeValidator(partial(_parse_boundary, True))] = Field(
        default=None, description="Earliest date (of publication; of a trial, its start): YYYY, YYYY-MM or YYYY-MM-DD"
    )
    maxdate: Annotated[date | None, BeforeValidator(partial(_parse_boundary, False))] = Field(
        default=None, description="Latest date, likewise"
    )
