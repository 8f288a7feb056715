"""openFDA, labels of drugs on the United States market (https://open.fda.gov/apis/drug/label/).

`search` uses Lucene syntax: words without an operator between them are alternatives, so OR is always written. A label
lists a drug's approved uses and its warnings. It reports no study.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from ...errors import UnreadableReply
from ...http.reply import Reply, at, count, entries, read_each
from ...lexicon import canonical_drug, common_drug_names, find_drugs, is_same_drug
from ...questions.query import remove_syntax
from ...reading.text import sentences
from ...records import Label, NamedDrug
from ...records.card import SourceCard
from ...records.evidence import Citation, Evidence
from ..lookups import Item, LookUps
from ..publications import cut_at_sentence, find_date

CARD = SourceCard(
    name="openfda",
    place=100,
    title="openFDA",
    purpose="The United States label of one drug, by its generic name: approved uses, boxed warning, contraindications,"
    " interactions, warnings, pregnancy, mechanism.",
    address="https://api.fda.gov",
    documentation="https://open.fda.gov/apis/authentication/",
    per_second=4,  # 240 a minute
    burst=20,
    key="OPENFDA_API_KEY",
    key_in="parameter",
    without_key="openFDA gives 1,000 drug labels and approvals a day, not 120,000",
    fresh_days=7,  # updated every week
    hosts=("dailymed.nlm.nih.gov",),
    gives="label",
    dialect="names",
    use="on_demand",
    tool="get_label",
    specialist="mechanism",
)
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Indications and usage": ("indications_and_usage",),
    "Boxed warning": ("boxed_warning",),
    "Contraindications": ("contraindications",),
    "Drug interactions": ("drug_interactions",),
    "Warnings": ("warnings_and_cautions", "warnings"),  # since 2006, and before
    "Pregnancy": ("pregnancy",),
    "Mechanism of action": ("mechanism_of_action",),
}
"""Quoted sections by heading, each with the fields that may hold it."""
MAX_NAMES = 5  # names of a drug or a condition in a query
MAX_NAMED = 60  # other drugs in a record
MAX_SECTION = 1200  # characters quoted per section; whole labels have 100,000

_CHOICE = 10  # newest labels of a drug, of which the most complete is used
NO_MATCH = {"code": "NOT_FOUND", "message": "No matches found!"}

OpenFDALabel = Mapping[str, Any]


class OpenFDA(LookUps):
    """Drug labels: approved uses and warnings."""

    card = CARD
    path = "drug/label.json"

    async def fetch(self, drugs: Sequence[str]) -> dict[str, Item]:
        """Look up the label of each drug; a name missing from the lexicon is used unchanged.

        Drugs are queried one at a time: among the newest labels of many drugs, some drugs would have none.
        """
        pages = await asyncio.gather(*map(self._ask, drugs))
        items = dict[str, Item]()
        for drug, labels in zip(drugs, pages, strict=True):
            label = choose_label(labels, drug)
            records, unread = read_each([label] if label else [], parse_label)
            note = "" if label and _is_of(label, drug) else f"no label is of {drug!r}{' alone' if label else ''}"
            items[drug] = Item(next(iter(records), None), unread, note)
        return items

    async def _ask(self, drug: str) -> Sequence[OpenFDALabel]:
        either = write_alternatives(dict.fromkeys((drug, *common_drug_names(drug))))
        search = f"openfda.generic_name:{either} OR openfda.brand_name:{either}"
        params = {"search": search, "limit": _CHOICE, "sort": "effective_time:desc"}
        read = partial(parse_page, ("set_id", "id", "openfda"))
        return await self.transport.get(self.name, self.path, params=params, also=(404,), read=read)


def write_alternatives(names: Iterable[str], most: int = MAX_NAMES) -> str:
    """Join names as alternatives, each a phrase, without Lucene syntax.

    >>> write_alternatives(["valproic acid", 'a "b"'])
    '("valproic acid" OR "a b")'
    """
    plain = (remove_syntax(name, "'.,+-") for name in list(names)[:most])
    phrases = (f'"{name}"' for name in plain if name)
    return f"({' OR '.join(phrases)})"


def parse_page(keys: Sequence[str], reply: Reply) -> Sequence[OpenFDALabel]:
    """Parse the entries of a reply, each with one of the `keys`.

    Raises:
        UnreadableReply: no list of entries, or a 404 that does not say that nothing matches.
    """
    data = reply.json()
    if reply.status == 404 and at(data, "error") == NO_MATCH:
        return []
    if reply.status == 404 or count(at(data, "meta", "results", "total")) is None:
        raise UnreadableReply(reply.source, "answered neither a count nor that nothing matches")
    return entries(reply.source, data, "results", what="a list of results", keys=keys)


def choose_label(labels: Sequence[OpenFDALabel], drug: str) -> OpenFDALabel | None:
    """Return the label to read for a drug: the one with most sections, of the drug alone if possible, else combined.

    The labels must be ordered newest first, and ties go to the newer one. None if none can be read.
    """
    readable = [label for label in labels if _parse_set_id(label)]
    return max(readable, key=lambda label: (_is_of(label, drug), len(_parse_sections(label))), default=None)


def _is_of(label: OpenFDALabel, drug: str) -> bool:
    names = _parse_names(label, "generic_name")
    return bool(names) and all(is_same_drug(name, drug) for name in names)


def parse_label(label: OpenFDALabel) -> Evidence | None:
    """Convert a label to evidence; None if it has no set id."""
    set_id = _parse_set_id(label)
    if set_id is None:
        return None
    generic = _parse_names(label, "generic_name")
    brand = _parse_names(label, "brand_name")
    own = next(iter([*generic, *_parse_texts(label, "spl_product_data_elements")]), "")
    name = " ".join(own.split())[:100] or f"number {set_id}"
    brand_words = f" ({brand[0]})" if brand and brand[0].lower() != name.lower() else ""
    title = f"{name[0].upper()}{name[1:].lower() if name.isupper() else name[1:]}{brand_words}: drug label"
    sections = _parse_sections(label)
    return Evidence(
        content="\n\n".join([title, *(f"{heading}: {text}" for heading, text in sections.items())]),
        citation=Citation(
            source="openfda",
            title=title,
            url=f"https://dailymed.nlm.nih.gov/dailymed/drugInfo.cfm?setid={set_id}",
            date=parse_day(label.get("effective_time")),
        ),
        record=Label(
            drug=(canonical_drug(name) or name.lower()) if generic else None,
            set_id=set_id,
            sections=list(sections),
            named_drugs=_find_named_drugs(label, generic),
            has_abstract=bool(sections),
        ),
    )


def _parse_sections(label: OpenFDALabel) -> dict[str, str]:
    """Return the quoted text by heading: the first field of a section that has text, cut at the end of a sentence."""
    texts = {}
    for heading, fields in SECTIONS.items():
        if text := next((text for field in fields if (text := " ".join(_parse_texts(label, field)))), ""):
            text = " ".join(text.split())
            is_long = len(text) > MAX_SECTION
            texts[heading] = f"{cut_at_sentence(text, MAX_SECTION, '.!?;:')} […]" if is_long else text
    return texts


def _find_named_drugs(label: OpenFDALabel, own: Sequence[str]) -> list[NamedDrug]:
    """Return other drugs named under interactions and contraindications, each with the first sentence that names it."""
    drugs: dict[tuple[str, str], NamedDrug] = {}
    for heading in ("Contraindications", "Drug interactions"):
        text = " ".join(" ".join(_parse_texts(label, field)) for field in SECTIONS[heading])
        for sentence in sentences(" ".join(text.split())):
            for name in dict.fromkeys(mention.name for mention in find_drugs(sentence)):
                is_own = any(is_same_drug(name, own_name) for own_name in own)
                if not is_own:
                    drugs.setdefault((heading, name), {"drug": name, "heading": heading, "sentence": sentence})
    return list(drugs.values())[:MAX_NAMED]


def _parse_set_id(label: OpenFDALabel) -> str | None:
    number = next(iter([*_parse_texts(label, "set_id"), *_parse_names(label, "spl_set_id")]), "")
    try:
        return number.lower() if str(UUID(number)) == number.lower() else None
    except ValueError:
        return None


def parse_day(effective: object) -> str:
    digits = str(effective)
    is_one = len(digits) == 8 and digits.isdecimal()
    return (find_date(f"{digits[:4]}-{digits[4:6]}-{digits[6:]}") if is_one else None) or "Unknown"


def _parse_names(label: OpenFDALabel, field: str) -> list[str]:
    return _parse_texts(at(label, "openfda") or {}, field)


def _parse_texts(holder: OpenFDALabel, field: str) -> list[str]:
    value = at(holder, field)
    listed = value if isinstance(value, list) else [value]
    return [text for text in listed if isinstance(text, str) and text.strip()]
