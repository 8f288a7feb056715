"""Atomic file writes."""

import os
import uuid
from pathlib import Path

from .errors import UsageError


def write_whole(target: Path, content: bytes) -> Path:
    """Write a file atomically in a folder and return its path; an OSError leaves an existing file unchanged."""
    beside = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)
    return target


def write_file(target: Path, content: bytes, way_out: str = "") -> Path:
    """Write a file atomically, creating its folder; a UsageError, ending with `way_out`, says why that failed."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return write_whole(target, content)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{target}: cannot be written ({why}){way_out}") from None
