"""A run's material as a folder of plain files: each record, each search, what the team made of them.

    workspace/
        README.md           what is what
        papers/             a file a publication: pmid-….md
        trials/             a file a registered study
        mechanisms/         a file a drug or target
        labels/             a file a drug label
        search_results/     a file a search: query, status, warnings, keys of the records
        analysis/           what each specialist reported, and the judge's verdict, round by round

It is made from the ledger on demand; a run itself leaves nothing but its report.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from willowbark.agents.findings import Findings
from willowbark.agents.report.forms.markdown import escaped, linked
from willowbark.tools.evidence import Evidence, merge
from willowbark.tools.registry import kind_of
from willowbark.tools.search import SourceReply
from willowbark.tools.wording import counted

from ..exports import write_export
from ..ledger import Ledger, LedgerError, Run, Turn

FOLDER = "workspace"
_FOLDERS = {"trial": "trials", "label": "labels", "approval": "labels"} | dict.fromkeys(
    ("drug", "disease", "protein", "process"), "mechanisms"
)
"""By kind of record."""
_LONGEST_NAME = 80  # characters of a key in a file name; the longest DOIs have more


def write_workspace(ledger: Ledger, run_id: str, folder: Path) -> Path:
    """Write a run's material below a folder, and give the folder of it.

    Raises:
        LedgerError: no such run, one in which nobody has handed over anything, or damaged content.
        UsageError: the folder cannot be written to.
    """
    run, turns = ledger.run(run_id), ledger.turns(run_id)
    if not turns:
        raise LedgerError(f"run {run_id} has brought nothing yet; go on with `willowbark resume {run_id}`")
    root = folder / FOLDER
    for name, text in workspace_files(run, turns):
        write_export(root / name, text.encode("utf-8", "replace"))
    return root


def workspace_files(run: Run, turns: Sequence[Turn]) -> Iterator[tuple[str, str]]:
    """Path below the workspace and content of each of its files."""
    found = [Findings.model_validate(turn.message["content"]) for turn in turns if turn.type == "FindingsMessage"]
    records = merge(record for one in found for record in one.records)
    for record in records:
        kind = _FOLDERS.get(kind_of(record), "papers")
        yield f"{kind}/{file_name(_short(record))}.md", _told(record)
    for one in found:
        for number, reply in enumerate(one.replies, start=1):
            name = f"round-{one.iteration}-{file_name(one.specialist)}-{number:02}-{reply.source}.json"
            yield f"search_results/{name}", _json(_searched(reply))
        yield f"analysis/round-{one.iteration}-{file_name(one.specialist)}.md", _reported(one)
    for turn in turns:
        if turn.type == "AssessmentMessage":
            yield f"analysis/round-{turn.iteration}-{file_name(turn.source)}.json", _json(turn.message["content"])
    yield "README.md", _overview(run, records, sum(len(one.replies) for one in found))


def file_name(key: str) -> str:
    r"""A name that any file system takes, different for different keys.

    >>> file_name("pmid:38123456")
    'pmid-38123456'
    >>> file_name("doi:10.1000/x(1)")
    'doi-10.1000-x-1-90180fdc'
    """
    plain = re.sub(r"[^a-z0-9._-]+", "-", key.lower()).strip(".-")[:_LONGEST_NAME]
    return (
        plain if plain == key.lower().replace(":", "-") else f"{plain}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"
    )


def _short(record: Evidence) -> str:
    """A record's key; of one that has no identifier but its page, the source and the page's name there."""
    page = record.key.rsplit("/", 1)[-1]
    return f"{record.citation.source}:{page}" if record.key.startswith("url:") else record.key


def _told(record: Evidence) -> str:
    cited = record.citation
    known = {name: value for name, value in sorted(record.metadata.items()) if isinstance(value, str | int | float)}
    lines = [
        f"# {escaped(cited.title)}",
        "",
        f"{escaped(', '.join(cited.authors)) or 'Authors not reported'} ({cited.date})",
        "",
        linked(escaped(cited.url), cited.url),
        "",
        *(f"- {escaped(name)}: {escaped(str(value))}" for name, value in known.items()),
        "",
        *(f"{escaped(paragraph)}\n" for paragraph in record.content.split("\n\n")),
    ]
    return "\n".join(lines) + "\n"


def _searched(reply: SourceReply) -> dict[str, object]:
    plain = reply.model_dump(mode="json", exclude={"records"})
    return {**plain, "records": [record.key for record in reply.records]}


def _reported(found: Findings) -> str:
    lines = [f"# {escaped(found.specialist)}, round {found.iteration}", "", escaped(found.summary)]
    return "\n".join([*lines, *(["", *(f"- {escaped(note)}" for note in found.notes)] if found.notes else [])]) + "\n"


def _overview(run: Run, records: Iterable[Evidence], searches: int) -> str:
    kinds = [_FOLDERS.get(kind_of(record), "papers") for record in records]
    counts = ", ".join(f"{kinds.count(kind)} in `{kind}/`" for kind in ("papers", "trials", "mechanisms", "labels"))
    ended = (run.stop_reason or run.status).replace("_", " ")
    return (
        f"# {escaped(run.question)}\n\n"
        f"Run `{run.run_id}`, {counted(run.rounds, 'round')}, {ended}; Willowbark {run.version}.\n\n"
        f"Records: {counts}. Each stands once, however many searches found it.\n\n"
        f"`search_results/` holds {counted(searches, 'search')} with their status and the keys of what they found, "
        "`analysis/` what each specialist reported and the judge's verdicts, round by round. The report stands in the "
        "run's own folder.\n"
    )


def _json(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"
