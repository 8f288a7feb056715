"""BibTeX and BibLaTeX (https://ctan.org/pkg/biblatex), as reference managers and publishers write them."""

import re
import unicodedata
from collections.abc import Iterator, Mapping

from .item import FileItem, FileRecord, UnreadableRecord, date_of_parts, publication_fields

_ENTRY = re.compile(r"^[ \t]*@(\w+)\s*([{(])", re.MULTILINE)
_KEY = re.compile(r"\s*([^,\s{}()=]*)\s*,")
_FIELD = re.compile(r"[\s,]*([\w:.+-]+)\s*=\s*")
_BARE = re.compile(r"[\w:.+/-]+")
_ACCENT = re.compile(r"\\([`'^\"~=.uvHcrk])\s*(?:\{\s*(\\?[A-Za-z])\s*\}|(\\?[ij](?![A-Za-z])|[A-Za-z]))")
_MARKS = "\u0300\u0301\u0302\u0308\u0303\u0304\u0307\u0306\u030c\u030b\u0327\u030a\u0328"
_COMBINING = dict(zip("`'^\"~=.uvHcrk", _MARKS, strict=True))
_LETTERS = {"ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "aa": "å", "AA": "Å", "l": "ł",
            "L": "Ł", "i": "i", "j": "j", "textmu": "μ", "mu": "μ", "alpha": "α", "beta": "β", "gamma": "γ",
            "pm": "±", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "times": "×", "textendash": "–",
            "textemdash": "—", "ldots": "…", "textquoteright": "’", "percent": "%"}  # fmt: skip
_LETTER = re.compile(rf"\\({'|'.join(sorted(_LETTERS, key=len, reverse=True))})(?![A-Za-z])\s*(?:\{{\}})?")
_ESCAPED = re.compile(r"\\([&%$#_{}~^])")
_COMMAND = re.compile(r"\\[A-Za-z]+\s*")
_BRACES = str.maketrans("", "", "{}")
_NO_RECORDS = frozenset({"string", "comment", "preamble"})


def read_bibtex(text: str) -> Iterator[FileItem]:
    """Yield the entries of a text; one that is broken costs itself alone."""
    strings: dict[str, str] = {}
    entries = list(_ENTRY.finditer(text))
    number = 1
    counted = 0
    for place, entry in enumerate(entries):
        end = entries[place + 1].start() if place + 1 < len(entries) else len(text)
        kind = entry[1].lower()
        number += text.count("\n", counted, entry.start())
        counted = entry.start()
        begun = f"line {number}"
        if kind == "string":
            strings.update(_fields_of(text, entry.end(), end, {})[0])
            continue
        if kind in _NO_RECORDS:
            continue
        key = _KEY.match(text, entry.end(), end)
        values, stop = _fields_of(text, key.end() if key else entry.end(), end, strings)
        if not text[stop:end].strip():
            yield UnreadableRecord(begun, "an entry that is never closed")
        elif "title" not in values and "doi" not in values and "pmid" not in values:
            yield UnreadableRecord(begun, "neither title nor number")
        else:
            yield _record_of(values, begun, key[1] if key else "")


def _record_of(values: Mapping[str, str], begun: str, key: str) -> FileRecord:
    is_pubmed = "pubmed" in values.get("eprinttype", values.get("archiveprefix", "")).lower()
    dated = date_of_parts(filter(None, (values.get("year"), values.get("month"), values.get("day"))))
    fields = publication_fields(
        title=values.get("title", ""),
        texts=values.get("abstract", "").split("\n\n"),
        authors=[_turn_name(name) for name in re.split(r"\s+and\s+", values.get("author", "")) if name.strip()],
        date=values.get("date", "") or dated,
        pmid=values.get("pmid") or values.get("pubmedid") or (values.get("eprint", "") if is_pubmed else ""),
        pmcid=values.get("pmcid", ""),
        doi=values.get("doi", ""),
        notes=[values.get(name, "") for name in ("note", "annote", "url")],
        journal=values.get("journal") or values.get("journaltitle") or values.get("booktitle"),
        volume=values.get("volume"),
        issue=values.get("number") or values.get("issue"),
        pages=values.get("pages", "").replace("–", "-"),
    )
    return FileRecord(begun, fields, {"id": key} if key else {})


def _turn_name(name: str) -> str:
    """Write `Anna B. Larch` as `Larch, Anna B.`; names of groups stay as they are."""
    words = name.split()
    if "," in name or len(words) < 2 or not words[-1][0].isupper() or len(words) > 4:
        return name
    return f"{words[-1]}, {' '.join(words[:-1])}"


def _fields_of(text: str, start: int, end: int, strings: Mapping[str, str]) -> tuple[dict[str, str], int]:
    """Return the fields of an entry, and where they end: before its closing bracket, or where it is bent."""
    values: dict[str, str] = {}
    at = start
    while True:
        name = _FIELD.match(text, at, end)
        if name is None:
            return values, at
        value, at = _read_value(text, name.end(), end, strings)
        if value is None:
            return values, at
        values.setdefault(name[1].lower(), decode_latex(value))


def _read_value(text: str, start: int, end: int, strings: Mapping[str, str]) -> tuple[str | None, int]:
    """Return a value, of parts joined by `#`, and where it ends; None where it is never closed."""
    parts = list[str]()
    at = start
    while True:
        part, at = _read_part(text, at, end, strings)
        if part is None:
            return None, at
        parts.append(part)
        joint = re.compile(r"\s*#\s*").match(text, at, end)
        if joint is None:
            return "".join(parts), at
        at = joint.end()


def _read_part(text: str, at: int, end: int, strings: Mapping[str, str]) -> tuple[str | None, int]:
    opening = text[at : at + 1]
    if opening not in ('"', "{"):
        bare = _BARE.match(text, at, end)
        if bare is None:
            return None, at
        return strings.get(bare[0].lower(), bare[0]), bare.end()
    depth = 0
    place = at
    while place < end:
        letter = text[place]
        if letter == "\\":
            place += 2
            continue
        if letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
        is_quote_end = opening == '"' and letter == '"' and depth == 0 and place > at
        if is_quote_end or (opening == "{" and depth == 0):
            return text[at + 1 : place], place + 1
        place += 1
    return None, end


def decode_latex(text: str) -> str:
    r"""Write LaTeX's letters as themselves, and drop what only typesets.

    >>> decode_latex(r"M{\"u}ller and {\'E}. Nu{\~n}ez: 5\,\% of {DNA} \textit{in vivo} \& \ss")
    'Müller and É. Nuñez: 5 % of DNA in vivo & ß'
    """
    text = _ACCENT.sub(_compose, text)
    text = _LETTER.sub(lambda match: _LETTERS[match[1]], text)
    text = text.replace("\\,", " ").replace("\\ ", " ").replace("\\\\", "\n")
    text = _ESCAPED.sub(lambda match: {"{": "\ue000", "}": "\ue001"}.get(match[1], match[1]), text)
    text = _COMMAND.sub("", text).translate(_BRACES).replace("$", "").replace("~", " ")
    text = text.replace("\ue000", "{").replace("\ue001", "}").replace("---", "—").replace("--", "–")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n")).strip()


def _compose(match: re.Match[str]) -> str:
    letter = (match[2] or match[3]).removeprefix("\\")
    return unicodedata.normalize("NFC", letter + _COMBINING[match[1]])
