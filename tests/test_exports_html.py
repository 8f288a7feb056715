"""The page: whole, readable by everyone, and dead to whatever a record tries."""

import base64
import hashlib
import itertools
import re
import sys
from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest
from defusedxml.ElementTree import fromstring
from exports_sample import empty, hostile, reference, row, sample

from willowbark.agents.exports import render
from willowbark.tools.records.evidence import Citation, Evidence
from willowbark.tools.records.registry import linked_hosts

PAYLOADS = {
    "script": "<script>alert(1)</script>",
    "onerror": '<img src=x onerror="alert(1)">',
    "attribute": '" onmouseover="alert(1)" x="',
    "javascript link": "[click](javascript:alert(1))",
    "data link": "[click](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "foreign link": "[click](https://evil.example/?q=1)",
    "remote image": "![x](https://evil.example/pixel.png)",
    "svg": "<svg onload=alert(1)><animate onbegin=alert(1)></svg>",
    "svg in text": '</text><script href="data:,alert(1)"/><text>',
    "style": "<style>@import 'https://evil.example/x.css'</style>",
    "end of style": "</style><script>alert(1)</script>",
    "iframe": "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "comment": "<!-- --><script>alert(1)</script><!-- -->",
    "meta refresh": '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
    "mathtext": "$\\frac{1}{$ \\unknown",
    "invisible": "did\u200b not\u202e reduce\x00\x1b[31m",
    "marks": "[1](javascript:alert(1)) [1] onclick=alert(1)",
}
PICTURE = "data:image/svg+xml;base64,"
FORBIDDEN = set(
    "script iframe object embed image link base form input button textarea select video audio track "
    "foreignobject animate set applet frame frameset template portal".split()
)


class Seen(HTMLParser):
    """What a browser would see of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.comments: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def values(self, name: str) -> list[str]:
        return [value for _, attrs in self.tags for key, value in attrs.items() if key == name and value is not None]

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def live_parts(page: str) -> list[str]:
    """Everything in a page that runs, loads, sends or leads elsewhere than to the sources."""
    seen = Seen(page)
    found = [f"<{tag}>" for tag, _ in seen.tags if tag in FORBIDDEN]
    found += [f"comment {comment}" for comment in seen.comments]
    for tag, attrs in seen.tags:
        for name, value in attrs.items():
            if name in ("src", "srcset") and (value or "").startswith(PICTURE):
                found += live_parts_of_picture(base64.b64decode((value or "").removeprefix(PICTURE)).decode())
            elif name.startswith("on") or name in ("src", "srcset", "srcdoc", "action", "formaction", "ping"):
                found.append(f"{tag} {name}")
            if name.endswith("href") and not leads_to_a_source(tag, value or ""):
                found.append(f"{tag} {name}={value}")
            if name == "style" and value != "text-align:left":
                found.append(f"{tag} style={value}")
    return found


def live_parts_of_picture(svg: str) -> list[str]:
    """What of a picture would run or load; a browser does neither in an `img`, whoever opens it alone might."""
    tags = ((element.tag.rpartition("}")[2], element.attrib) for element in fromstring(svg).iter())
    return [
        f"{tag} in a picture"
        for tag, attributes in tags
        if tag in ("script", "foreignObject", "image", "a", "animate", "set")
        or any(name.startswith("on") or "://" in value for name, value in attributes.items())
    ]


def leads_to_a_source(tag: str, href: str) -> bool:
    if href.startswith("#"):
        return True
    parts = urlsplit(href)
    return tag == "a" and parts.scheme == "https" and parts.netloc in linked_hosts()


def page_of(report: object) -> str:
    return render(report, "html").decode()  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def page() -> str:
    return page_of(sample())


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_no_payload_is_live_in_the_page_or_a_notebook(payload: str) -> None:
    report = hostile(payload)
    record = Evidence(content=payload, citation=Citation(source="web", title=payload, url=payload, authors=[payload]))
    text = page_of(report)
    for shown in (text, report._repr_html_(), record._repr_html_()):
        assert live_parts(shown) == []
    seen = Seen(text)
    assert (len(seen.named("style")), len(seen.named("h1"))) == (1, 1)
    assert seen.values("http-equiv") == ["Content-Security-Policy"]


def test_the_scan_would_see_what_is_live() -> None:
    assert live_parts('<a href="https://evil.example/" onclick="x()">x</a><script></script><!-- c -->') == [
        "<script>",
        "comment  c ",
        "a href=https://evil.example/",
        "a onclick",
    ]


def test_invisible_characters_do_not_reach_the_page_and_template_code_stays_text() -> None:
    text = page_of(hostile(PAYLOADS["invisible"]))
    assert not re.search("[\u200b\u202e\x00\x1b]", text)
    assert "did not reduce" in text
    assert "{{ 7 * 7 }}" in page_of(hostile("{{ 7 * 7 }}"))


def test_the_policy_allows_the_one_style_sheet_and_the_page_names_nothing_remote(page: str) -> None:
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    (policy,) = (a["content"] for a in Seen(page).named("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert (
        policy == f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", page))
    assert {urlsplit(address).netloc for address in addresses} <= linked_hosts()
    assert "url(" not in page


def test_landmarks_headings_tables_and_pictures_are_there_for_those_who_listen(page: str) -> None:
    seen = Seen(page)
    order = "summary candidates comparison evidence clinical decision change methods-in-brief limitations".split()
    assert [attrs["id"] for attrs in seen.named("section")] == [*order, "references", "appendix"]
    assert seen.named("html") == [{"lang": "en"}]
    assert [len(seen.named(landmark)) for landmark in ("header", "nav", "main", "footer")] == [1] * 4
    levels = [int(tag[1]) for tag, _ in seen.tags if re.fullmatch(r"h[1-6]", tag)]
    assert (levels[0], levels.count(1)) == (1, 1)
    assert [(earlier, later) for earlier, later in itertools.pairwise(levels) if later > earlier + 1] == []
    assert [attrs for attrs in seen.named("th") if "scope" not in attrs] == []
    assert len(seen.named("caption")) == len(seen.named("table"))
    pictures = [(attrs["alt"] or "").split()[:2] for attrs in seen.named("img")]
    assert pictures == [["Effect", "estimates"]]
    ids = seen.values("id")
    assert len(ids) == len(set(ids))
    assert {href[1:] for href in seen.values("href") if href.startswith("#")} <= set(ids)
    assert {i for label in seen.values("aria-labelledby") for i in label.split()} <= set(ids)


def test_what_is_marked_in_the_report_is_marked_on_the_page(page: str) -> None:
    for markup in (
        '<p class="lead">Two randomised trials speak for bupropion',
        '<strong class="flag">boxed warning</strong>',
        "Searched <strong>widely</strong>.",
        "Results, full text</span></blockquote>",
        "<strong>clonidine</strong> was set aside (1 supporting, 1 contradicting, very low certainty): too old",
    ):
        assert markup in page, markup
    marks = '[<a href="#ref-1">1</a>, <a href="#ref-2">2</a>], see [9]'  # which is no reference
    assert re.sub(' aria-label="[^"]*"', "", page).count(marks) == 1
    log = page[page.index("Search log") : page.index("Use of the language model")]
    assert log.count("bupropion AND smoking") == 1  # both sources were asked it
    for words in ("PubMed: 512 hits, 3 retrieved", "1 failed", "sort=relevance, retmax=10"):
        assert words in page, words


def test_a_report_without_findings_is_a_page_that_says_so() -> None:
    text = page_of(empty())
    assert "None: no existing drug has verifiable evidence here" in text
    assert "No registered trial on the condition names a drug" in text
    assert "No source was searched" in text


def test_a_retracted_record_is_set_apart_and_a_reference_without_a_source_page_is_no_link() -> None:
    retracted = row("pmid:12859700", "A trial", retracted=True)
    elsewhere = reference(1, "url:example.org/x", "A page", url="https://example.org/x")
    text = page_of(sample(evidence_table=[retracted], references=[elsewhere]))
    assert "excluded</span> 1 study" in text
    assert '<strong class="flag">retracted</strong>' in text
    assert "A page" in text
    assert "https://example.org" not in text


def test_a_notebook_shows_the_same_pictures_as_the_page_but_for_the_appendix(page: str) -> None:
    shown = Seen(sample()._repr_html_()).values("src")

    assert shown == Seen(page.partition('id="appendix"')[0]).values("src")
    assert "Continuous abstinence" in sample()._repr_html_()


def test_without_matplotlib_the_words_of_a_picture_stand_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in [name for name in sys.modules if name.startswith(("willowbark.agents.pictures.plots", "matplotlib."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("willowbark.agents.pictures.plots", raising=False)

    for shown in (sample()._repr_html_(), page_of(sample())):
        assert "<img" not in shown
        assert "Effect estimates reported for bupropion" in shown
