"""What people correct on the page: a row, a record, a drug, whole files of records or an edited table."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from starlette.datastructures import QueryParams

from willowbark.tools.errors import UsageError
from willowbark.tools.wording import counted

from ..ledger import Ledger
from ..run.history import load_report
from .uploads import SentForm, name_file, write_files

if TYPE_CHECKING:
    from ..run.changes import ChangeRequest

_FIELDS = {
    "participants": "deciding.participants",
    "measure": "deciding.estimate.measure",
    "value": "deciding.estimate.value",
    "low": "deciding.estimate.low",
    "high": "deciding.estimate.high",
    "design": "design",
}
"""Fields of a study that the page's form changes, by name."""


def parse_requests(form: QueryParams) -> list["ChangeRequest"]:
    """Turn the form of a record into requests; UsageError for what cannot be understood."""
    from willowbark.tools.reading.reading import StudyDesign  # noqa: PLC0415

    from ..run.changes import ChangeRequest, parse_value  # noqa: PLC0415

    common = {name: form.get(name, "").strip() for name in ("record", "drug", "note")}
    if form.get("says"):
        return [ChangeRequest.of({**common, "says": form["says"]})]
    what = form.get("do", "")
    if what == "exclude":
        return [ChangeRequest.of({**common, "drug": "", "exclude": form.get("reason", "")})]
    if what in ("set_aside", "undo", "add", "count"):
        return [ChangeRequest.of({**common, what: True, **({"record": ""} if what == "set_aside" else {})})]
    labels = {design.label: design.value for design in StudyDesign}
    requests = list[ChangeRequest]()
    for name, field in _FIELDS.items():
        typed = form.get(name, "").strip()
        was = form.get(f"was_{name}", "").strip()
        if name in form and typed != was:
            value = labels.get(typed, typed) if name == "design" else parse_value(typed)
            drug = common["drug"] if field.startswith("deciding.") else ""
            requests.append(ChangeRequest.of({**common, "drug": drug, "field": field, "value": value}))
    if not requests:
        raise UsageError("nothing was changed: choose what the record says, or change a field")
    return requests


def change_run(run_id: str, requests: "Sequence[ChangeRequest]", by: str | None, root: Path) -> list[str]:
    """Change a run of this folder's ledger, and tell what moved, a line each; UsageError for what does not fit."""
    from ..run.correcting import ask_changes  # noqa: PLC0415  the whole team
    from ..run.report_changes import tell_changes  # noqa: PLC0415

    with Ledger.existing() as ledger:
        before = ledger.report(run_id)
        corrected = asyncio.run(ask_changes(run_id, ledger, requests, by=by, root=root))
    moved = tell_changes(before, corrected.model_dump(mode="json")) if before else []
    return moved or ["No drug's evidence moved."]


def write_run_again(run_id: str, root: Path) -> None:
    """Have a run's own model write its answer again; UsageError if there is none, or it wrote nothing that stands."""
    from ..run.rewriting import rewrite_run  # noqa: PLC0415  the whole team

    with Ledger.existing() as ledger:
        asyncio.run(rewrite_run(run_id, ledger, root=root))


def take_files(run_id: str, form: SentForm, by: str | None, root: Path) -> list[str]:
    """Add the records of files to a run, or take over what somebody edited in its table; tell what moved.

    Raises:
        UsageError: a file that holds neither, by its name; nothing is changed then.
    """
    from ..run.changes import ChangeRequest  # noqa: PLC0415  the whole team
    from ..run.edited_tables import is_table_of_evidence, read_table  # noqa: PLC0415

    note = form.fields.get("note", "").strip()
    requests = list[ChangeRequest]()
    lines = list[str]()
    with TemporaryDirectory(prefix="willowbark-") as folder:
        paths = list(write_files(form.files, Path(folder)))
        try:
            for file, path in zip(form.files, paths, strict=True):
                if is_table_of_evidence(path):
                    edited = read_table(path, load_report(root, run_id))
                    lines.append(f"{file.name}: {counted(len(edited), 'edited cell')} taken over.")
                    requests += edited
                else:
                    requests.append(ChangeRequest.of({"add": True, "file": str(path), "note": note}))
            if not requests:
                return [*lines, "Every cell is as the report has it."]
            moved = change_run(run_id, requests, by, root)
        except UsageError as error:
            line = str(error)
            for file, path in zip(form.files, paths, strict=True):
                line = name_file(line, path, file.name)
            raise UsageError(line.removeprefix("library ")) from None
    added = [request for request in requests if request.add]
    lines += [f"Records of {counted(len(added), 'file')} are in the run."] if added else []
    return [*lines, *moved]
