"""What a query names, for sources that are asked for a condition or a drug and not for words."""

from ..errors import SourceRefused
from ..ranking import stems
from .query import ParsedQuestion, parse_question, plain_query

_SAYS_LITTLE = "disease diseases disorder disorders syndrome syndromes"


def asked_for(query: str) -> ParsedQuestion:
    """The conditions and drugs that a boolean query asks for; what it excludes is not among them.

    Commas of MeSH's inverted names don't part the name.

    >>> asked_for('("portal hypertension" OR "hypertension, portal") NOT propranolol').conditions
    ('portal hypertension',)
    >>> asked_for("migraine NOT (valproate OR topiramate)").drugs
    ()
    """
    return parse_question(query.replace(",", " "))


def words_of(source: str, query: str) -> str:
    """The words of a query.

    Raises:
        SourceRefused: it holds none.
    """
    words = plain_query(query)
    if not any(map(str.isalnum, words)):
        raise SourceRefused(source, "the query holds no words to search for")
    return words


def essence(name: str) -> frozenset[str]:
    """The stems that tell one condition's name from another's.

    >>> essence("Migraine Disorders") == essence("migraine")
    True
    """
    return frozenset(stems(name)).difference(stems(_SAYS_LITTLE))
