"""STRING, interactions of human proteins (https://string-db.org/help/api/).

Queried with GET `json/interaction_partners`: `identifiers` (gene symbols joined by carriage returns), `species=9606`,
`limit` (partners of each), `required_score` (700 of 1000 is called high confidence), `caller_identity`. A reply is a
list of rows of `stringId_A`, `preferredName_A` (the requested protein), `stringId_B`, `preferredName_B`, `ncbiTaxonId`,
`score` (0 to 1) and its parts: `escore` (experiments), `dscore` (databases), `tscore` (texts), and others. Unknown
names are left out; if all are unknown, and for other failures, the list holds objects of `Error` and `ErrorMessage`
instead. One request per second, none concurrently.

A score is the probability that two proteins work together, not that they bind, nor how one affects the other.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...errors import SourceRefused, UnreadableReply
from ...evidence import Evidence
from ...http.reply import Reply, dicts, entries, read_each, text
from ...questions import Question
from ...records import Protein
from ...records.parts import Partner
from ...search import SourceReply
from ..card import SourceCard
from ..lookups import Item, LookUps
from ..publications import is_code, redacted
from .uniprot import MAX_TARGETS, mechanisms_of

CARD = SourceCard(
    name="stringdb",
    place=80,
    title="STRING",
    purpose="Proteins that work together with the targets of drugs, by the drugs' generic names.",
    address="https://string-db.org/api",
    documentation="https://string-db.org/help/api/",
    per_second=1,
    typical_s=1.5,
    fresh_days=30,  # released every two years or so
    hosts=("string-db.org",),
    gives="protein",
    entries="Database entry",
    dialect="names",
    use="on_demand",
    tool="get_partners",
    batches=True,
    by_condition=False,
    specialist="mechanism",
)
HUMAN = "9606"  # NCBI's taxonomy id
MAX_GENES = 40  # per request
MAX_PARTNERS = 20  # requested per protein
LEAST_SCORE = 700  # of 1000: high confidence
_PARTS = {"escore": "experiments", "dscore": "databases", "tscore": "texts"}


class STRING(LookUps):
    """Partners of human proteins, by the drugs that act on them or by gene symbols in capitals."""

    card = CARD
    path = "json/interaction_partners"
    most_names = MAX_GENES

    async def without_drugs(self, asked: Question, size: int, page: int) -> SourceReply:
        """Return the partners of the genes that a query names; raises as `find`."""
        found = await self.request([word for word in asked.words.split() if _is_symbol(word)])
        return found.model_copy(update={"records": found.records[(page - 1) * size :]})

    async def find_wanted(self, names: Sequence[str]) -> tuple[Sequence[str], list[str]]:
        """Return the genes of drugs' human targets; raises as `find`, also where no database names any target."""
        told, notes = await mechanisms_of(names, self.transport)
        human = [entry.get("gene_symbols") or [] for _, entry in told if not entry.get("organism")]
        return list(dict.fromkeys(gene for held in human for gene in held[:MAX_TARGETS] if _is_symbol(gene))), notes

    async def fetch(self, genes: Sequence[str]) -> dict[str, Item]:
        """Look up partners by gene symbol."""
        params = {
            "identifiers": "\r".join(genes),
            "species": HUMAN,
            "limit": MAX_PARTNERS,
            "required_score": LEAST_SCORE,
            "caller_identity": "willowbark",
        }
        rows = await self.transport.get(self.name, self.path, params=params, also=(400, 404), read=parse_rows)
        pairs, unread = read_each(rows, parse_pair)
        by_gene: dict[str, tuple[str, list[Partner]]] = {}
        for gene, number, partner in pairs:
            by_gene.setdefault(gene, (number, []))[1].append(partner)
        why = f" ({'; '.join(unread[:5])})" if unread else ""
        lacking = f"no partner is listed of {', '.join(gene for gene in genes if gene not in by_gene)}{why}"
        known = {gene: Item(protein(gene, *said)) for gene, said in by_gene.items()}
        return {gene: known.get(gene, Item(None, note=lacking)) for gene in genes}


def parse_rows(reply: Reply) -> Sequence[Mapping[str, Any]]:
    """Parse the rows of a reply; empty if all proteins are unknown.

    Raises:
        SourceRefused: the reply reports another error.
        UnreadableReply: neither rows nor an error.
    """
    data = reply.json()
    rows = dicts({"rows": data if isinstance(data, list) else [data]}, "rows")
    failed = next((row for row in rows if "Error" in row), None)
    if failed is not None:
        said = text(failed.get("ErrorMessage")) or text(failed["Error"]) or "no reason given"
        if "not found" in f"{failed['Error']} {said}".lower():
            return []
        raise SourceRefused(reply.source, f"refused the request: {redacted(said)}")
    if reply.status != 200:
        raise UnreadableReply(reply.source, f"answered {reply.status} without a reason")
    return entries(reply.source, data, what="a list of partners", keys=("preferredName_A", "stringId_A"))


def _is_symbol(word: str) -> bool:
    return is_code(word, 2, 20, "-") and word.isupper() and word[0].isalpha()


def _is_human(number: str) -> bool:
    species, _, protein = number.partition(".")
    return species == str(HUMAN) and is_code(protein, 4, 30, "_.-")


def parse_pair(row: Mapping[str, Any]) -> tuple[str, str, Partner] | None:
    """Parse a row: symbol and id of the requested protein, and a partner; None if they are not human."""
    gene, number = text(row.get("preferredName_A")), str(row.get("stringId_A") or "")
    name, other = text(row.get("preferredName_B")), str(row.get("stringId_B") or "")
    if not (gene and name and _is_human(number) and _is_human(other)):
        return None
    parts = {said: score for each, said in _PARTS.items() if (score := _score(row.get(each)))}
    return gene, number, {"symbol": name, "id": other, "score": _score(row["score"]) or 0.0, "parts": parts}


def protein(gene: str, number: str, partners: Iterable[Partner]) -> Evidence:
    """Build a protein's record with its partners, the likeliest first."""
    ranked = sorted(partners, key=lambda each: (-each["score"], each["symbol"]))
    title = f"{gene}: partners ({number})"
    record = Protein(gene_symbol=gene, string_id=number, partners=ranked)
    said = (sentence(gene, each) for each in ranked)
    return Evidence.entry("stringdb", title, said, record, f"https://string-db.org/network/{number}")


def sentence(gene: str, partner: Partner) -> str:
    """Describe a partner in one line.

    >>> sentence("BRAF", {"symbol": "MAP2K1", "score": 0.999, "parts": {"experiments": 0.9}})
    'BRAF works together with MAP2K1 (score 0.999; experiments 0.900).'
    """
    parts = "".join(f"; {name} {score:.3f}" for name, score in partner.get("parts", {}).items())
    return f"{gene} works together with {partner['symbol']} (score {partner['score']:.3f}{parts})."


def _score(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return float(value) if is_number else None
