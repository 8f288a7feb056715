"""Drugs@FDA, drug approvals in the United States, and whether a drug is still sold (https://open.fda.gov/apis/drug/drugsfda/).

Only reference products are requested, since old drugs have hundreds of generics. The date is the earliest approval
among them; an application that is no longer listed may have an earlier one.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from string import ascii_uppercase
from typing import Any

from ...http.reply import dicts, read_each, reported
from ...lexicon import canonical_drug, common_drug_names, same_drug
from ...records import Application, DrugApproval
from ...records.card import SourceCard
from ...records.evidence import Evidence
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
    burst=20,
    key="OPENFDA_API_KEY",
    key_in="parameter",
    without_key="openFDA gives 1,000 drug labels and approvals a day, not 120,000",
    fresh_days=7,
    hosts=("www.accessdata.fda.gov",),
    gives="approval",
    dialect="names",
    use="on_demand",
    tool="get_approvals",
    specialist="mechanism",
)
_LIMIT = 1000  # applications per reply, the API's own limit; the reference products of twenty drugs are fewer
_NUMBER = re.compile(r"[A-Z]{2,4}[0-9]{5,6}")


class DrugsFDA(LookUps):
    """Drug approvals by the Food and Drug Administration."""

    card = CARD
    path = "drug/drugsfda.json"

    async def fetch(self, drugs: Sequence[str]) -> dict[str, Item]:
        names = dict.fromkeys(name for drug in drugs for name in (drug, *common_drug_names(drug)[:MAX_NAMES]))
        search = f'products.active_ingredients.name:{any_of(names, len(names))} AND products.reference_drug:"Yes"'
        read = partial(parse_page, ("application_number", "products"))
        params = {"search": search, "limit": _LIMIT}
        given = await self.transport.get(self.name, self.path, params=params, also=(404,), read=read)
        return {drug: parse_approval(drug, given) for drug in drugs}


def parse_approval(drug: str, results: Sequence[Mapping[str, Any]]) -> Item:
    """Convert the approvals of a drug on its own, without combinations."""
    own = {at: alone for at, result in enumerate(results) if (alone := _products_of(drug, result))}
    read, unread = read_each([results[at] for at in own], _application)
    found = sorted(read, key=lambda each: each.get("approved") or "9999")
    if not found:
        why = f" ({'; '.join(unread)})" if unread else ""
        return Item(None, note=f"no reference product holds {drug!r}{why}")
    name = canonical_drug(drug) or drug.lower()
    first = found[0]
    when = f"approved {first['approved']}" if "approved" in first else "approved on a day that is not given"
    brand = f" as {first['brand']}" if first.get("brand") else ""
    sold = [each for each in found if each.get("status") not in (None, "Discontinued")]
    title = f"{name.capitalize()}: United States approvals"
    said = [
        f"{name.capitalize()} was first {when}{brand} ({first['number']}) by the United States Food and Drug "
        "Administration, among the reference products that are listed.",
        f"Reference products listed: {len(found)}, of which {len(sold)} not discontinued.",
    ]
    products = [each for alone in own.values() for each in alone if each.get("marketing_status") != "Discontinued"]
    number = first["number"].lstrip(ascii_uppercase)
    address = f"https://www.accessdata.fda.gov/scripts/cder/daf/index.cfm?event=overview.process&ApplNo={number}"
    record = DrugApproval(
        drug=name,
        agency="FDA",
        first_approved=first.get("approved"),
        applications=found,
        is_sold=bool(sold),
        routes=sorted({str(product["route"]) for product in products if product.get("route")}),
    )
    return Item(Evidence.entry("drugsfda", title, said, record, address, first.get("approved") or "Unknown"))


def _products_of(drug: str, result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    parts = [(product, dicts(product, "active_ingredients")) for product in dicts(result, "products")]
    return [product for product, held in parts if len(held) == 1 and same_drug(str(held[0].get("name")), drug)]


def _application(result: Mapping[str, Any]) -> Application | None:
    number = str(result.get("application_number") or "")
    if not _NUMBER.fullmatch(number):
        return None
    approved = sorted(
        found
        for each in dicts(result, "submissions")
        if each.get("submission_type") == "ORIG" and each.get("submission_status") == "AP"
        if (found := day(each.get("submission_status_date"))) != "Unknown"
    )
    products = dicts(result, "products")
    states = [str(product["marketing_status"]) for product in products if product.get("marketing_status")]
    application: Application = reported(
        {
            "number": number,
            "sponsor": result.get("sponsor_name"),
            "brand": next((str(product["brand_name"]) for product in products if product.get("brand_name")), None),
            "approved": next(iter(approved), None),
            "status": next(iter(sorted(states, key=lambda state: state == "Discontinued")), None),
        }
    )
    return application
