"""EMA, medicines authorised centrally in the European Union (https://www.ema.europa.eu/en/about-us/about-website).

The data is one machine-readable file, updated twice a day: `medicines-output-medicines_json-report_en.json`, an object
whose `data` lists all medicines, human and veterinary. Every value is a text, empty if missing; dates are `22/05/2014`.
Fields used: `category` (`Human`), `name_of_medicine`, `ema_product_number`, `medicine_status` (`Authorised`,
`Withdrawn`, `Refused`, `Expired`, …), `international_non_proprietary_name_common_name` (parts of a combination
separated by `/`, `,` or `;`), `marketing_authorisation_developer_applicant_holder`, `marketing_authorisation_date` and
`medicine_url`. EMA's legal notice allows reproduction of what it publishes, with EMA named as the source.

National authorisations, which include most medicines from before 1995, are missing, and a status gives no reason:
medicines are also withdrawn for commercial reasons. The columns are those used by public programs; they have not been
checked against a live reply yet.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...evidence import Evidence
from ...http.reply import Reply, entries, reported
from ...lexicon import canonical_drug, same_drug
from ...records import Approval
from ...records.parts import Application
from ..card import SourceCard
from ..lookups import Item, LookUps
from ..publications import iso_date

CARD = SourceCard(
    name="ema",
    place=112,
    title="EMA",
    purpose="Whether the European Union authorised drugs centrally, and since when.",
    address="https://www.ema.europa.eu/en/documents/report",
    documentation="https://www.ema.europa.eu/en/about-us/about-website/download-website-data-json-data-format",
    per_second=1,  # none published
    typical_s=5,
    off="each run that asks it fetches its file of all medicines, some 6 MB",
    fresh_days=1,
    hosts=("www.ema.europa.eu",),
    gives="approval",
    entries="Database entry",
    dialect="names",
    use="named",
    by_condition=False,
    specialist="mechanism",
)
_PAGES = "https://www.ema.europa.eu/en/medicines"
_NAMES = "international_non_proprietary_name_common_name"
Medicine = Mapping[str, Any]


class EMA(LookUps):
    """Central authorisations of drugs in the European Union."""

    card = CARD
    path = "medicines-output-medicines_json-report_en.json"

    async def fetch(self, drugs: Sequence[str]) -> dict[str, Item]:
        """Look up the authorisations of drugs, all from one file."""

        async def read(files: Sequence[str]) -> dict[str, Sequence[Medicine]]:
            return {file: await self.transport.get(self.name, file, read=parse_medicines) for file in files}

        held = await self.transport.shelf.take(self.name, [self.path], read)
        return {drug: parse_authorisation(drug, held[self.path]) for drug in drugs}


def parse_medicines(reply: Reply) -> Sequence[Medicine]:
    """Parse the file; raises `UnreadableReply` for anything but a list of medicines."""
    return entries(reply.source, reply.json(), "data", what="a list of medicines", keys=("name_of_medicine", _NAMES))


def parse_authorisation(drug: str, medicines: Sequence[Medicine]) -> Item:
    """Convert the entries on a drug on its own, without combinations."""
    listed = []
    for each in medicines:
        parts = [part for part in re.split(r"[/,;]", str(each.get(_NAMES) or "")) if part.strip()]
        day = str(each.get("marketing_authorisation_date") or "").split("/")
        number, is_human = str(each.get("ema_product_number") or ""), each.get("category") == "Human"
        if (
            is_human
            and re.fullmatch(r"EMEA/H/\w+/\d+", number)
            and len(parts) == 1
            and same_drug(parts[0].strip(), drug)
        ):
            application: Application = reported(
                {
                    "number": number,
                    "sponsor": each.get("marketing_authorisation_developer_applicant_holder"),
                    "brand": each.get("name_of_medicine"),
                    "approved": iso_date(*reversed(day)) if len(day) == 3 else None,
                    "status": each.get("medicine_status"),
                }
            )
            listed.append((application, str(each.get("medicine_url") or _PAGES)))
    if not listed:
        note = f"no medicine that is authorised centrally holds {drug!r} alone; member states may authorise it"
        return Item(None, note=note)
    listed.sort(key=lambda each: (each[0].get("status") != "Authorised", each[0].get("approved", "9999")))
    applications, name = [each for each, _ in listed], canonical_drug(drug) or drug.lower()
    days = sorted(each["approved"] for each in applications if "approved" in each)
    states = [
        f"{each.get('brand')} ({each['number']}): {each.get('status', 'status not given')}" for each in applications
    ]
    said = [
        f"Of {name}, the European Medicines Agency lists: {'; '.join(states)}.",
        f"First authorised centrally: {days[0] if days else 'on a day that is not given'}.",
        "Authorisations by member states are not listed, and a status gives no reason.",
    ]
    record = Approval(
        drug=name,
        agency="EMA",
        first_approved=days[0] if days else None,
        applications=applications,
        is_sold=any(each.get("status") == "Authorised" for each in applications),
    )
    title = f"{name.capitalize()}: central authorisations in the European Union"
    return Item(Evidence.entry("ema", title, said, record, listed[0][1], days[0] if days else "Unknown"))
