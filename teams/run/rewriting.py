"""The answer written again on request, from a run's evidence as people corrected it: no source is asked."""

from contextlib import AsyncExitStack
from pathlib import Path

from willowbark.agents.asking import reads_requests
from willowbark.agents.autogen import ChatCompletionClient
from willowbark.agents.remaking import write_again
from willowbark.agents.report.model import ResearchReport
from willowbark.tools.appraisal.appraised import list_conditions
from willowbark.tools.errors import UsageError
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.corrections import find_corrections_file, read_corrections

from ..config import Settings
from ..ledger import Ledger, LedgerError
from ..model_clients import close, model_client
from .correcting import load_former_report, make_corrected, open_again
from .workspace import RunFolder


async def rewrite_run(
    run_id: str,
    ledger: Ledger,
    client: ChatCompletionClient | None = None,
    *,
    model: str | None = None,
    root: Path | None = None,
) -> ResearchReport:
    """Have a model write the answer of a run again, and return its report.

    Later corrections and replays keep what was written, and mark what of it is stale since.

    Args:
        run_id: a run with a report.
        ledger: holds the run, in a file.
        client: writes and checks, and is left open; None takes `model`.
        model: writes and checks, by name; None takes the models of the run's settings.
        root: folder of run folders, where the run's report is written anew; None writes none.

    Raises:
        LedgerError: no such run, one without a report, one that another process works on, or damaged content.
        UsageError: the run has no language model, its key is missing, or the model wrote nothing that stands.
    """
    if ledger.path is None:
        raise LedgerError("a run in memory keeps no answer; ask with a ledger in a file")
    former = load_former_report(run_id, ledger)
    run = ledger.run(run_id)
    settings = Settings.restored(run.settings)
    book = read_corrections(find_corrections_file(ledger.path)).select_conditions(
        list_conditions(parse_question(run.question))
    )
    async with AsyncExitStack() as stack:
        roles = settings.llm.roles
        writer = client or _open_model(model or roles.of("report") or run.model, settings, stack)
        checker = client or _open_model(model or roles.of("checker") or run.model, settings, stack)
        if reads_requests(writer):
            raise UsageError(
                f"run {run_id} was read without a language model, which writes nothing; name one with `--model`"
            )
        async with open_again(run_id, ledger, former) as again:
            rewritten = await write_again(again.messages, former, again.context, book, writer, checker)
    corrected = await make_corrected(run_id, ledger, book, former, rewritten)
    ledger.keep_corrected(run_id, book.write_content(), corrected.report, corrected.taken, rewritten)
    if root is not None and (root / run_id).is_dir():
        RunFolder.open(root, run_id).write_report(corrected.report, settings.output)
    return corrected.report


def _open_model(name: str, settings: Settings, stack: AsyncExitStack) -> ChatCompletionClient:
    """Open a model by its name, until the stack is left."""
    client = model_client(name, settings)
    stack.push_async_callback(close, client)
    return client
