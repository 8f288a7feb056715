"""A reader that reads each text once: it takes from stores what they hold, and gives them what it reads."""

from collections.abc import Callable
from typing import Any, Self

from ..reading.document import Document
from ..reading.reading import Reading
from ..reading.store import (
    ReaderIdentity,
    ReadSubject,
    StudyShelf,
    dump_content,
    hash_text,
    identify_reader,
    restore_reading,
)
from .appraised import DocumentReader, load_reader

Recall = Callable[[str], dict[str, Any] | None]
"""Returns what a run took for a subject before, by its digest; None if it took nothing."""


class StoredReader:
    """Reads by taking from a shelf of stores, and only what these lack by a reader.

    Args:
        shelf: takes in what is read.
        reader: None uses the bundled one, loaded when first needed.
        recall: what the run took before, which counts before any store.
        note: receives the digest of a subject and what was taken for it from a store.

    Attributes:
        made: number of readings that no store held.
    """

    def __init__(
        self,
        shelf: StudyShelf,
        reader: DocumentReader | None = None,
        recall: Recall = lambda _: None,
        note: Callable[[str, dict[str, Any]], None] = lambda *_: None,
    ) -> None:
        self._shelf = shelf
        self._reader = reader
        self._recall = recall
        self._note = note
        self.made = 0

    @property
    def name(self) -> str:
        """The reader's name."""
        return self._loaded.name

    @property
    def version(self) -> str:
        """The reader's version."""
        return self._loaded.version

    @property
    def identity(self) -> ReaderIdentity:
        """Who reads, as stores name it."""
        return identify_reader(self.name, self.version, Reading)

    @property
    def _loaded(self) -> DocumentReader:
        if self._reader is None:
            self._reader = load_reader()
        return self._reader

    def read_document(self, document: Document, drug: str, condition: str, key: str = "") -> Reading:
        """Read a record for a drug in a condition, or return what was read of its text before."""
        subject = ReadSubject(hash_text(document), drug, condition)
        recalled = self._recall(subject.digest)
        if recalled is not None:
            former = restore_reading(recalled, document, key)
            if former is not None:
                return former
        content = self._shelf.find(subject, self.identity, document)
        if content is not None:
            self._note(subject.digest, content)
            return Reading.model_validate({**content, "key": key})
        reading = self._loaded.read_document(document, drug, condition, key)
        self.made += 1
        self._shelf.keep(subject, dump_content(reading), self.identity)
        return reading

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def flush(self) -> None:
        """Write what was read."""
        self._shelf.flush()

    def close(self) -> None:
        """Write what was read, and close the stores."""
        self._shelf.close()
