"""Drugs@FDA, drug approvals in the United States, and whether a drug is still sold (https://open.fda.gov/apis/drug/drugsfda/).

Queried with GET `drug/drugsfda.json`; `search` uses Lucene syntax, as for openFDA's labels, with which it shares a
daily limit. A reply has `meta.results.total` and `results[]` of `application_number` (`NDA020505`), `sponsor_name`,
`products[]` of `brand_name`, `active_ingredients[].name`, `route` (`ORAL`), `marketing_status` (`Prescription`,
`Over-the-counter`, `Discontinued`, `None (Tentative Approval)`) and `reference_drug` (`Yes`, `No`), and `submissions[]`
of `submission_type` (`ORIG`, `SUPPL`), `submission_status` (`AP`, `TA`) and `submission_status_date` (`19961224`). No
hit is 404 with `No matches found!`.

Only reference products are requested, since old drugs have hundreds of generics. The date is the earliest approval
among them; an application that is no longer listed may have an earlier one.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from string import ascii_uppercase
from typing import Any

from ...evidence import Evidence
from ...http.reply import dicts, read_each, reported
from ...lexicon import canonical_drug, common_drug_names, same_drug
from ...questions import Question
from ...records import Approval
from ...records.parts import Application
from ...search import SourceReply
from ..card import SourceCard
from ..lookups import Item, LookUps
from .openfda import MAX_NAMES, any_of, day, parse_page

CARD = SourceCard(
    name="drugsfda",
    place=110,
    title="Drugs@FDA",
    purpose="When the United States Food and Drug Administration approved drugs, and whether they are still sold.",
    address="https://api.fda.gov",
    documentation="https://open.fda.gov/apis/drug/drugsfda/",
    per_second=4,  # 240 a minute
    per_day=1000,
    per_day_with_key=120_000,
    typical_s=0.5,
    key="OPENFDA_API_KEY",
    key_in="parameter",
    without_key="openFDA gives 1,000 drug labels and approvals a day, not 120,000",
    fresh_days=7,
    hosts=("www.accessdata.fda.gov",),
    gives="approval",
    entries="Database entry",
    dialect="names",
    use="on_demand",
    tool="get_approvals",
    batches=True,
    specialist="mechanism",
)
_LIMIT = 500  # applications per reply: reference products of twenty drugs


class DrugsFDA(LookUps):
    """Drug approvals by the Food and Drug Administration."""

    card = CARD
    path = "drug/drugsfda.json"

    async def without_drugs(self, asked: Question, size: int, page: int) -> SourceReply | None:
        """Return nothing for a condition, which approvals do not state; an unknown name is assumed to be a drug's."""
        return self.reply(asked.words, []) if asked.conditions else None

    async def fetch(self, drugs: Sequence[str]) -> dict[str, Item]:
        """Look up the approvals of drugs, all at once."""
        names = dict.fromkeys(name for drug in drugs for name in (drug, *common_drug_names(drug)[:MAX_NAMES]))
        search = f'products.active_ingredients.name:{any_of(names, len(names))} AND products.reference_drug:"Yes"'
        read = partial(parse_page, ("application_number", "products"))
        given: list[Mapping[str, Any]] = []
        total = 1
        while len(given) < total:
            params = {"search": search, "limit": _LIMIT, "skip": len(given) or None}
            total, page, _ = await self.transport.get(self.name, self.path, params=params, also=(404,), read=read)
            given += page
            if not page:
                break
        return {drug: parse_approval(drug, given) for drug in drugs}


def parse_approval(drug: str, results: Sequence[Mapping[str, Any]]) -> Item:
    """Convert the approvals of a drug on its own, without combinations."""
    held = []
    for result in results:
        parts = [dicts(product, "active_ingredients") for product in dicts(result, "products")]
        if any(len(names) == 1 and same_drug(str(names[0].get("name")), drug) for names in parts):
            held.append(result)
    read, unread = read_each(held, _application)
    found = sorted(read, key=lambda each: each.get("approved") or "9999")
    dated = [each for each in found if each.get("approved")]
    if not found:
        why = f" ({'; '.join(unread)})" if unread else ""
        return Item(None, note=f"no reference product holds {drug!r}{why}")
    name = canonical_drug(drug) or drug.lower()
    first = dated[0] if dated else found[0]
    when = f"approved {first['approved']}" if dated else "approved on a day that is not given"
    brand = f" as {first['brand']}" if first.get("brand") else ""
    sold = [each for each in found if each.get("status") not in (None, "Discontinued")]
    title = f"{name.capitalize()}: United States approvals"
    said = [
        f"{name.capitalize()} was first {when}{brand} ({first['number']}) by the United States Food and Drug "
        "Administration, among the reference products that are listed.",
        f"Reference products listed: {len(found)}, of which {len(sold)} not discontinued.",
    ]
    number = first["number"].lstrip(ascii_uppercase)
    products = [product for result in held for product in dicts(result, "products") if _is_on_sale(product, drug)]
    address = f"https://www.accessdata.fda.gov/scripts/cder/daf/index.cfm?event=overview.process&ApplNo={number}"
    record = Approval(
        drug=name,
        agency="FDA",
        first_approved=dated[0]["approved"] if dated else None,
        applications=found,
        is_sold=bool(sold),
        routes=sorted({str(product["route"]) for product in products if product.get("route")}),
    )
    return Item(Evidence.entry("drugsfda", title, said, record, address, first.get("approved") or "Unknown"))


def _is_on_sale(product: Mapping[str, Any], drug: str) -> bool:
    """Whether a product is on sale and contains only this drug."""
    parts = dicts(product, "active_ingredients")
    is_of = len(parts) == 1 and same_drug(str(parts[0].get("name")), drug)
    return is_of and product.get("marketing_status") != "Discontinued"


def _application(result: Mapping[str, Any]) -> Application | None:
    """Return an application with the date of its first approval; None if it has no number."""
    number = str(result.get("application_number") or "")
    digits = number.lstrip(ascii_uppercase)
    if not (digits.isdecimal() and len(digits) in (5, 6) and 2 <= len(number) - len(digits) <= 4):
        return None
    approved = sorted(
        found
        for each in dicts(result, "submissions")
        if each.get("submission_type") == "ORIG" and each.get("submission_status") == "AP"
        if (found := day(each.get("submission_status_date"))) != "Unknown"
    )
    products = dicts(result, "products")
    states = [str(each["marketing_status"]) for each in products if each.get("marketing_status")]
    sold = [state for state in states if state != "Discontinued"]
    application: Application = reported(
        {
            "number": number,
            "sponsor": result.get("sponsor_name"),
            "brand": next((str(each["brand_name"]) for each in products if each.get("brand_name")), None),
            "approved": approved[0] if approved else None,
            "status": next(iter([*sold, *states]), None),
        }
    )
    return application
