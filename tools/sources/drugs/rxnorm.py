"""RxNorm, ingredients and brands behind names of drugs (https://lhncbc.nlm.nih.gov/RxNav/APIs/RxNormAPIs.html).

Two addresses. GET `rxcui.json` with `name` and `search=2` (the name itself, or normalised) gives
`idGroup.rxnormId[]`, which is missing where nothing bears the name. GET `rxcui/{id}/allrelated.json` gives
`allRelatedGroup.conceptGroup[]` of `tty` (`IN` an ingredient, `BN` a brand) and `conceptProperties[]` of `rxcui` and
`name`. No key; 20 requests a second.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import UnreadableReply
from ...evidence import Evidence
from ...http.reply import Reply, at, dicts, entries
from ...lexicon import canonical_drug
from ...records import Drug
from ...search import LookUps, SourceReply
from ..card import SourceCard

CARD = SourceCard(
    name="rxnorm",
    title="RxNorm",
    purpose="The ingredients and brands behind the name of a drug, for names that no other source knows.",
    address="https://rxnav.nlm.nih.gov/REST",
    documentation="https://lhncbc.nlm.nih.gov/RxNav/TermsofService.html",
    per_second=20,
    typical_s=0.4,
    off="two requests a name, which the bundled list of names mostly saves",
    fresh_days=30,  # released every month
    hosts=("mor.nlm.nih.gov",),
    gives="drug",
    entries="Database entry",
    dialect="names",
    use="named",
    by_condition=False,
    specialist="mechanism",
)
MOST_BRANDS = 20  # of one drug that a record keeps


class RxNorm(LookUps):
    """Names of drugs."""

    card = CARD

    async def look_up(self, *names: str) -> SourceReply:
        """Give what stands behind names, and none twice in a run; raises as `find`."""
        return await self.shelved("rxcui.json", names, self._looked_up)

    async def _looked_up(self, names: Sequence[str]) -> dict[str, Evidence | str]:
        return dict(zip(names, await asyncio.gather(*map(self._one, names)), strict=True))

    async def _one(self, name: str) -> Evidence | str:
        params = {"name": name, "search": 2}
        number = await self.transport.get(self.name, "rxcui.json", params=params, read=parse_number)
        if number is None:
            return f"nothing is named {name[:60]!r}"
        groups = await self.transport.get(self.name, f"rxcui/{number}/allrelated.json", read=parse_related)
        return parse_names(name, number, groups)


def parse_number(reply: Reply) -> str | None:
    """The number of a name; None where nothing bears it.

    Raises:
        UnreadableReply: no answer to that question.
    """
    group = at(reply.json(), "idGroup")
    if not isinstance(group, dict):
        raise UnreadableReply(reply.source, "answered without a group of numbers")
    listed = group.get("rxnormId") or []
    first = str(listed[0]) if isinstance(listed, list) and listed else ""
    return first if first.isdecimal() and first[0] != "0" and len(first) < 10 else None


def parse_related(reply: Reply) -> Sequence[Mapping[str, Any]]:
    """What is related to a number, by kind.

    Raises:
        UnreadableReply: no answer to that question.
    """
    data = reply.json()
    return entries(
        reply.source,
        data,
        "allRelatedGroup",
        "conceptGroup",
        what="groups of what is related",
        keys=("tty", "conceptProperties"),
    )


def parse_names(name: str, number: str, groups: Sequence[Mapping[str, Any]]) -> Evidence:
    """The record of a name: its ingredients and brands."""
    by_kind = {
        str(group.get("tty")): [str(each["name"]) for each in dicts(group, "conceptProperties") if each.get("name")]
        for group in groups
    }
    ingredients = list(dict.fromkeys(each.lower() for each in by_kind.get("IN", ())))
    brands = list(dict.fromkeys(by_kind.get("BN", ())))[:MOST_BRANDS]
    shown = f"{name} (RxNorm {number})"
    said = [f"Ingredients of {name}: {', '.join(ingredients) or 'not given'}."]
    said += [f"Brands: {', '.join(brands)}."] if brands else []
    only = ingredients[0] if len(ingredients) == 1 else name.lower()
    record = Drug(drug=canonical_drug(only) or only, rxnorm_id=number, ingredients=ingredients, brand_names=brands)
    url = f"https://mor.nlm.nih.gov/RxNav/search?searchBy=RXCUI&searchTerm={number}"
    return Evidence.entry("rxnorm", shown, said, record, url)
