"""Atomic file writes."""

import os
import uuid
from pathlib import Path

from .errors import UsageError


def write_file(target: Path, content: bytes, way_out: str = "") -> Path:
    """Write a file, creating its folder, and return its path; a failure leaves an existing file unchanged.

    Raises:
        UsageError: it cannot be written; ends with `way_out`.
    """
    beside = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with beside.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{target}: cannot be written ({why}){way_out}") from None
    return target
