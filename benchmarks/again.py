"""How often one run of the demo looks at the same text again: calls and distinct texts, `python -m benchmarks.again`.

A text that is cut or searched twice is one that somebody did not ask a `Document` of. Due are 1.1 calls for each text.
"""

import asyncio
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from willowbark.agents.baseline import client  # noqa: F401 (all that a run imports is there before it is counted)
from willowbark.agents.report import assembly  # noqa: F401
from willowbark.teams import research
from willowbark.teams.run import course  # noqa: F401
from willowbark.tools.appraisal import harms  # noqa: F401
from willowbark.tools.lexicon import conditions, drugs
from willowbark.tools.reading import document, screening, text, view

QUESTION = "Which existing drugs could prevent migraine attacks?"
COUNTED = (
    ("cut into sentences", text, "split_spans"),
    ("cut into tokens", text, "split_tokens"),
    ("searched for drugs", drugs, "find_drugs"),
    ("searched for conditions", conditions, "find_known_conditions"),
    ("screened", screening, "pieces"),
)
MOST_CALLS = 1.1


def count_calls(of: Any, name: str, counts: dict[str, list[int]], first: int = 0) -> Callable[..., Any]:
    """A function that counts what it is called with, from an argument on, and does as before."""
    function: Callable[..., Any] = getattr(of, name)

    def call_and_count(*arguments: Any, **options: Any) -> Any:
        counts[of.__name__ if first else name].append(hash(arguments[first:]))
        return function(*arguments, **options)

    return call_and_count


def main() -> int:
    """Print a line for each way of looking at a text; fails where one is looked at again more often than is due."""
    counts = defaultdict[str, list[int]](list)
    for _, module, name in COUNTED:
        function = getattr(module, name)
        counting_function = count_calls(module, name, counts)
        for each in [loaded for loaded in sys.modules.values() if loaded and loaded.__name__.startswith("willowbark")]:
            for known in [alias for alias, value in vars(each).items() if value is function]:
                setattr(each, known, counting_function)
    for kind in (document.Document, view.View):
        kind.__init__ = count_calls(kind, "__init__", counts, first=1)  # type: ignore[method-assign]
    began = time.process_time()
    report = asyncio.run(research(QUESTION, offline=True))
    sys.stdout.write(f"{time.process_time() - began:.1f} s of processor, {report.total_papers_reviewed} papers\n")
    labels = {name: label for label, _, name in COUNTED} | {"Document": "documents", "View": "views of one"}
    failed = 0
    for name, calls in sorted(counts.items()):
        often = len(calls) / len(set(calls))
        failed += often > MOST_CALLS
        figures = f"{len(calls):>6} calls {len(set(calls)):>6} texts {often:>6.2f} a text"
        sys.stdout.write(f"{labels[name]:<30}{figures}\n")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
