"""The forms of a report: its tree of blocks as Markdown and HTML, which link only to the sources' public pages."""

from urllib.parse import quote, urlsplit

from willowbark.tools.records.enclosure import visible
from willowbark.tools.records.evidence import checked_identifier
from willowbark.tools.records.registry import linked_hosts


def write_on_one_line(text: str) -> str:
    """Reduce a text to one line without invisible characters; keeps a space at either end."""
    words = " ".join(visible(text).split())
    before = " " * text[:1].isspace()
    after = " " * text[-1:].isspace()
    return f"{before}{words}{after}" if words else before


_PAGES = {
    "pmid": ("pmid", "https://pubmed.ncbi.nlm.nih.gov/{}/"),
    "nct": ("nct_id", "https://clinicaltrials.gov/study/{}"),
    "doi": ("doi", "https://doi.org/{}"),
}


def safe_url(url: str) -> str | None:
    """Return the address if it is a plain one of a source's public page, else None.

    >>> safe_url("https://doi.org/10.1136/bmj.n71")
    'https://doi.org/10.1136/bmj.n71'
    >>> safe_url("javascript:alert(1)") is None, safe_url("https://doi.org@evil.example/") is None
    (True, True)
    """
    if any(not "!" <= character <= "~" or character in "<>()[]{}\"'`\\|" for character in url):
        return None
    parts = urlsplit(url)
    plain = parts.scheme == "https" and parts.netloc == parts.hostname and parts.hostname in linked_hosts()
    return url if plain else None


def find_url(key: str, url: str = "") -> str | None:
    """Return the address of a record's page; None if no page of a source is known.

    Args:
        key: the record's key in claims and references, such as `pmid:…`.
        url: the record's own address, if it has one.

    >>> find_url("nct:NCT02188459")
    'https://clinicaltrials.gov/study/NCT02188459'
    >>> find_url("doi:10.1016/s0140-6736(99)00001-1")
    'https://doi.org/10.1016/s0140-6736%2899%2900001-1'
    """
    kind, _, value = key.partition(":")
    name, page = _PAGES.get(kind, ("", ""))
    identifier = checked_identifier(name, value) if name else None
    return safe_url(url) or (safe_url(page.format(quote(identifier))) if identifier else None)


def record_name(key: str) -> str:
    """Format a record's key for people.

    >>> record_name("pmid:123"), record_name("nct:NCT02188459"), record_name("url:example.org/a")
    ('PMID 123', 'NCT02188459', 'example.org/a')
    """
    kind, _, value = key.partition(":")
    return {"pmid": f"PMID {value}", "nct": value, "doi": f"doi:{value}", "pmcid": value}.get(kind, value or key)
