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
from ...lexicon import canonical_drug, common_drug_names, is_same_drug
from ...records import Application, DrugApproval
from ...records.card import SourceCard
from ...records.evidence import Evidence
from ..lookups import Item, LookUps
from .openfda import MAX_NAMES, parse_day, parse_page, write_alternatives

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
        names: dict[str, None] = {}
        for drug in drugs:
            names |= dict.fromkeys((drug, *common_drug_names(drug)[:MAX_NAMES]))
        search = (
            f"products.active_ingredients.name:{write_alternatives(names, len(names))}"
            ' AND products.reference_drug:"Yes"'
        )
        read = partial(parse_page, ("application_number", "products"))
        params = {"search": search, "limit": _LIMIT}
        results = await self.transport.get(self.name, self.path, params=params, also=(404,), read=read)
        return {drug: parse_approval(drug, results) for drug in drugs}


def parse_approval(drug: str, results: Sequence[Mapping[str, Any]]) -> Item:
    """Convert the approvals of a drug on its own, without combinations."""
    own_results: list[Mapping[str, Any]] = []
    products: list[Mapping[str, Any]] = []
    for result in results:
        own_products = _list_products(drug, result)
        own_results += [result] if own_products else []
        products += [product for product in own_products if product.get("marketing_status") != "Discontinued"]
    applications, unread = read_each(own_results, _parse_application)
    applications.sort(key=lambda application: application.get("approved") or "9999")
    if not applications:
        why = f" ({'; '.join(unread)})" if unread else ""
        return Item(None, note=f"no reference product holds {drug!r}{why}")
    name = canonical_drug(drug) or drug.lower()
    first = applications[0]
    when = f"approved {first['approved']}" if "approved" in first else "approved on a day that is not given"
    brand = f" as {first['brand']}" if first.get("brand") else ""
    sold = [application for application in applications if application.get("status") not in (None, "Discontinued")]
    title = f"{name.capitalize()}: United States approvals"
    lines = [
        f"{name.capitalize()} was first {when}{brand} ({first['number']}) by the United States Food and Drug "
        "Administration, among the reference products that are listed.",
        f"Reference products listed: {len(applications)}, of which {len(sold)} not discontinued.",
    ]
    number = first["number"].lstrip(ascii_uppercase)
    address = f"https://www.accessdata.fda.gov/scripts/cder/daf/index.cfm?event=overview.process&ApplNo={number}"
    record = DrugApproval(
        drug=name,
        agency="FDA",
        first_approved=first.get("approved"),
        applications=applications,
        is_sold=bool(sold),
        routes=sorted({str(product["route"]) for product in products if product.get("route")}),
    )
    return Item(Evidence.entry("drugsfda", title, lines, record, address, first.get("approved") or "Unknown"))


def _list_products(drug: str, result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """List the products of an application that hold the drug and nothing else."""
    products: list[Mapping[str, Any]] = []
    for product in dicts(result, "products"):
        ingredients = dicts(product, "active_ingredients")
        if len(ingredients) == 1 and is_same_drug(str(ingredients[0].get("name")), drug):
            products.append(product)
    return products


def _parse_application(result: Mapping[str, Any]) -> Application | None:
    number = str(result.get("application_number") or "")
    if not _NUMBER.fullmatch(number):
        return None
    approved: list[str] = []
    for submission in dicts(result, "submissions"):
        day = parse_day(submission.get("submission_status_date"))
        is_original = submission.get("submission_type") == "ORIG" and submission.get("submission_status") == "AP"
        approved += [day] if is_original and day != "Unknown" else []
    products = dicts(result, "products")
    states = [str(product["marketing_status"]) for product in products if product.get("marketing_status")]
    application: Application = reported(
        {
            "number": number,
            "sponsor": result.get("sponsor_name"),
            "brand": next((str(product["brand_name"]) for product in products if product.get("brand_name")), None),
            "approved": min(approved, default=None),
            "status": next(iter(sorted(states, key=lambda state: state == "Discontinued")), None),
        }
    )
    return application
