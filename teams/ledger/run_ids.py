"""Ids of runs: they sort by time, name the question and are safe in paths."""

import re
import secrets
import unicodedata
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


RUN_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


_SLUG_CHARACTERS = 38  # keeps a run id, with time and random part, within 64


def make_run_id(question: str) -> str:
    """Generate a run id of local time and the question's first words: it sorts by time, and is safe in paths."""
    when = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    plain = unicodedata.normalize("NFKD", question).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain)[:_SLUG_CHARACTERS].strip("-")
    return "-".join(part for part in (when, slug, secrets.token_hex(4)) if part)
