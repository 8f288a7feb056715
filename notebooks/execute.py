"""Run the notebooks; compare their outputs with those that stand in them, or renew those.

    python notebooks/execute.py [--renew] [NAME…]

They search the bundled library, so outputs are the same on every machine, but for pictures, which are not compared.
"""

import argparse
import difflib
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

FOLDER = Path(__file__).parent
_TIMEOUT_S = 120  # for one cell
_LARGEST_BYTES = 250_000  # of a notebook with its outputs
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}|http://127\.0\.0\.1:\d+|\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?( UTC)?")  # or a time


def executed(path: Path) -> nbformat.NotebookNode:
    """Run a notebook; raises `CellExecutionError` where a cell fails."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as own:
        resources = {"metadata": {"path": own}}  # where it runs: its ledger goes with the folder
        client = NotebookClient(notebook, timeout=_TIMEOUT_S, record_timing=False, resources=resources)
        manager = client.create_kernel_manager()
        manager.transport, manager.ip = "ipc", f"{own}/kernel"  # no ports that others could read
        client.execute()
    for cell in notebook.cells:
        cell.outputs = [_slim(output) for output in cell.get("outputs", [])] if cell.cell_type == "code" else []
        if cell.cell_type != "code":
            del cell["outputs"]
    notebook.metadata["language_info"] = {"name": "python"}  # without the version of whoever ran it
    return notebook


def _slim(output: Any) -> Any:
    """An output without what is there twice."""
    data = output.get("data", {})
    if "text/html" in data:
        data.pop("text/markdown", None)
    return output


def shown(notebook: nbformat.NotebookNode) -> list[str]:
    """Every output as lines, without pictures, addresses and times."""
    lines = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            texts = [output.get("text", "")]
            texts += [text for kind, text in sorted(output.get("data", {}).items()) if kind.startswith("text/")]
            lines += [f"{cell.id}: {line}" for text in texts for line in _ADDRESS.sub("…", text).splitlines()]
    return lines


def run(path: Path, *, renew: bool) -> list[str]:
    """Run one notebook; gives what is wrong with it."""
    try:
        fresh = executed(path)
    except CellExecutionError as error:
        return [f"{path.name}: {_COLOUR.sub('', str(error))}"]
    text = nbformat.writes(fresh) + "\n"
    if len(text.encode()) > _LARGEST_BYTES:
        return [f"{path.name}: {len(text.encode())} bytes with its outputs; {_LARGEST_BYTES} are the most"]
    if renew:
        path.write_text(text, encoding="utf-8")
        return []
    before = shown(nbformat.read(path, as_version=4))
    return list(
        difflib.unified_diff(before, shown(fresh), f"{path.name} as it stands", "as it ran now", lineterm="", n=0)
    )


def main() -> int:
    """Run the notebooks that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--renew", action="store_true", help="write the outputs instead of comparing them")
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    problems = []
    with tempfile.TemporaryDirectory() as own:
        os.environ.update(IPYTHONDIR=own, MPLCONFIGDIR=own)
        for path in sorted(FOLDER.glob("*.ipynb")):
            if asked.names and path.stem not in asked.names:
                continue
            began = time.monotonic()
            found = run(path, renew=asked.renew)
            problems += found
            print(
                f"{path.name}: {'differs or fails' if found else 'as it should be'}, {time.monotonic() - began:.1f} s"
            )
    if problems:
        print(*problems, "Read what changed. Where it is right: make notebooks RENEW=--renew", sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
