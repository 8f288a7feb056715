"""A baseline of PubMed that is made up: files in PubMed's own XML, gzipped, with MD5, updates and deletions.

    python -m benchmarks.baseline FOLDER [--records 200000] [--per-file 30000] [--updates 2] [--seed 1]

Names of drugs and conditions are the lexicon's, all else is drawn by seed: nothing in it was ever found by anybody.
Articles have the parts and about the size (6 KB) of real ones, the words of abstracts about their frequencies (Zipf).
Each update file revises 2 % of the articles, and takes 0.2 % away.
"""

import argparse
import gzip
import hashlib
import random
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from xml.sax.saxutils import escape

from willowbark.tools.lexicon.conditions import known_names
from willowbark.tools.lexicon.drugs import load_drug_names

FIRST_PMID = 10_000_000
SENTENCES = ("BACKGROUND", "METHODS", "RESULTS", "CONCLUSIONS")
TYPES = ("Journal Article", "Randomized Controlled Trial", "Review", "Case Reports", "Meta-Analysis")
_SYLLABLES = "ba co di fe go hu la me ni or pa qui re si tu va xe yl zo mer tan lis ver con".split()
_HEAD = (
    '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, '
    '1st January 2025//EN" "https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd">\n<PubmedArticleSet>\n'
)


class Author:
    """Writes articles.

    Args:
        seed: everything is drawn by.
    """

    types: Sequence[str] = TYPES
    weights: Sequence[int] = (60, 8, 15, 10, 3)

    def __init__(self, seed: int = 1) -> None:
        self._draw = random.Random(seed)
        self._drugs = sorted(set(load_drug_names().common))
        self._conditions = sorted(set(known_names()))
        self._words = ["".join(self._draw.choices(_SYLLABLES, k=self._draw.randint(1, 4))) for _ in range(50_000)]
        self._weights = list(accumulate(1 / rank for rank in range(1, len(self._words) + 1)))

    def words(self, number: int) -> str:
        """So many words, the first of them most often."""
        return " ".join(self._draw.choices(self._words, cum_weights=self._weights, k=number))

    def make_abstract(self, drug: str, other: str, condition: str) -> tuple[str, ...]:
        """The four parts of an abstract."""
        p = self._draw.randint(1, 999) / 1000
        size = self._draw.randint(20, 900)
        return (
            f"{self.words(30)} {condition} {self.words(20)}.",
            f"{self.words(30)} patients with {condition} received {drug} or {other} {self.words(20)}.",
            f"{self.words(40)} {drug} reduced {self.words(6)} (p < {p}; n = {size}). {self.words(20)}.",
            f"{drug} {self.words(12)} {condition}.",
        )

    def article(self, pmid: int, revision: int = 0, *, retracted: bool = False) -> str:
        """An article in PubMed's XML."""
        draw = self._draw
        drug, other = draw.choices(self._drugs, k=2)
        condition = draw.choice(self._conditions)
        year = draw.randint(1980, 2025)
        month = draw.randint(1, 12)
        day = draw.randint(1, 28)
        date = f"<Year>{year}</Year><Month>{month:02}</Month><Day>{day:02}</Day>"
        texts = map(escape, self.make_abstract(drug, other, condition))
        abstract = "".join(
            f'<AbstractText Label="{label}" NlmCategory="{label}">{text}</AbstractText>'
            for label, text in zip(SENTENCES, texts, strict=True)
        )
        names = [self.words(1).title() for _ in range(10)]
        authors = "".join(
            f'<Author ValidYN="Y"><LastName>{name}</LastName><ForeName>{name[0]} A</ForeName><Initials>{name[0]}A'
            f"</Initials><AffiliationInfo><Affiliation>Department of {self.words(9)}.</Affiliation></AffiliationInfo>"
            "</Author>"
            for name in names[: draw.randint(1, 9)]
        )
        headings = "".join(
            f'<MeshHeading><DescriptorName UI="D0{draw.randint(10000, 99999)}" MajorTopicYN="N">{escape(name)}'
            f'</DescriptorName><QualifierName UI="Q000188" MajorTopicYN="N">drug therapy</QualifierName></MeshHeading>'
            for name in (condition.title(), "Humans", "Adult", *(self.words(2).title() for _ in range(6)))
        )
        chemicals = "".join(
            f'<Chemical><RegistryNumber>0</RegistryNumber><NameOfSubstance UI="D0{draw.randint(10000, 99999)}">'
            f"{escape(name.title())}</NameOfSubstance></Chemical>"
            for name in (drug, other)
        )
        references = "".join(
            f"<Reference><Citation>{self.words(14)}. {year - 1}</Citation><ArticleIdList><ArticleId IdType="
            f'"pubmed">{draw.randint(1, 9_999_999)}</ArticleId></ArticleIdList></Reference>'
            for _ in range(draw.randint(0, 12))
        )
        title = f"{drug.capitalize()} in {condition}: {self.words(8)}{' (revised)' if revision else ''}."
        kinds = [draw.choices(self.types, self.weights)[0], *(["Retracted Publication"] if retracted else [])]
        types = "".join(f'<PublicationType UI="D016428">{kind}</PublicationType>' for kind in kinds)
        return (
            f'<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM" IndexingMethod="Automated"><PMID Version='
            f'"1">{pmid}</PMID><DateCompleted>{date}</DateCompleted><DateRevised>{date}</DateRevised><Article PubModel='
            f'"Print-Electronic"><Journal><ISSN IssnType="Electronic">0000-0000</ISSN><JournalIssue CitedMedium='
            f'"Internet"><Volume>{draw.randint(1, 90)}</Volume><Issue>{draw.randint(1, 12)}</Issue><PubDate>{date}'
            f"</PubDate></JournalIssue><Title>Journal of {names[0]}</Title><ISOAbbreviation>J {names[0]}"
            f"</ISOAbbreviation></Journal><ArticleTitle>{escape(title)}</ArticleTitle><Pagination><MedlinePgn>"
            f'{draw.randint(1, 500)}-9</MedlinePgn></Pagination><ELocationID EIdType="doi" ValidYN="Y">10.9999/made.'
            f'{pmid}</ELocationID><Abstract>{abstract}</Abstract><AuthorList CompleteYN="Y">{authors}</AuthorList>'
            f"<Language>eng</Language><PublicationTypeList>{types}"
            f"</PublicationTypeList></Article><MedlineJournalInfo><Country>Nowhere</Country><MedlineTA>J {names[0]}"
            f"</MedlineTA></MedlineJournalInfo><ChemicalList>{chemicals}</ChemicalList><MeshHeadingList>{headings}"
            f'</MeshHeadingList><KeywordList Owner="NOTNLM"><Keyword MajorTopicYN="N">{self.words(2)}</Keyword>'
            f'</KeywordList></MedlineCitation><PubmedData><History><PubMedPubDate PubStatus="received">{date}'
            f'</PubMedPubDate><PubMedPubDate PubStatus="accepted">{date}</PubMedPubDate></History><PublicationStatus>'
            f'ppublish</PublicationStatus><ArticleIdList><ArticleId IdType="pubmed">{pmid}</ArticleId><ArticleId '
            f'IdType="doi">10.9999/made.{pmid}</ArticleId></ArticleIdList><ReferenceList>{references}</ReferenceList>'
            "</PubmedData></PubmedArticle>\n"
        )


def write_file(path: Path, articles: Iterable[str], deleted: Iterable[int] = ()) -> None:
    """Write a file of articles and deletions, and its MD5 beside it."""
    gone = "".join(f'<PMID Version="1">{pmid}</PMID>' for pmid in deleted)
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 4, raw, mtime=0) as packed:
        packed.write(_HEAD.encode())
        for article in articles:
            packed.write(article.encode())
        packed.write((f"<DeleteCitation>{gone}</DeleteCitation>\n" if gone else "").encode())
        packed.write(b"</PubmedArticleSet>\n")
    md5 = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    path.with_name(f"{path.name}.md5").write_text(f"MD5({path.name})= {md5}\n", encoding="ascii")


def write_baseline(folder: Path, records: int, per_file: int = 30_000, updates: int = 2, seed: int = 1) -> int:
    """Write a baseline and its updates; gives how many articles are left in the end."""
    folder.mkdir(parents=True, exist_ok=True)
    author = Author(seed)
    draw = random.Random(seed + 1)
    place = 0
    alive = set(range(FIRST_PMID, FIRST_PMID + records))
    for start in range(0, records, per_file):
        place += 1
        pmids = range(FIRST_PMID + start, FIRST_PMID + min(records, start + per_file))
        write_file(folder / f"pubmed26n{place:04}.xml.gz", map(author.article, pmids))
    for _ in range(updates):
        place += 1
        chosen = draw.sample(sorted(alive), max(2, len(alive) * 22 // 1000))
        gone = chosen[: max(1, len(chosen) // 11)]
        revised = (author.article(pmid, 1) for pmid in chosen[len(gone) :])
        write_file(folder / f"pubmed26n{place:04}.xml.gz", revised, gone)
        alive.difference_update(gone)
    return len(alive)


def main() -> None:
    """Write a baseline into a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    for name, number in (("records", 200_000), ("per-file", 30_000), ("updates", 2), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=number)
    options = parser.parse_args()
    article_count = write_baseline(options.folder, options.records, options.per_file, options.updates, options.seed)
    print(f"{article_count:,} articles in {options.folder} once all files are in")


if __name__ == "__main__":
    main()
