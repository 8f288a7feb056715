"""How often one run of the demo looks at the same text again: calls and distinct texts, `python -m benchmarks.again`.

A text that is cut or searched twice is one that somebody did not ask a `Document` of. Due are 1.1 calls for each text.
"""

import asyncio
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from types import ModuleType
from typing import Any

from willowbark.agents.baseline import client  # noqa: F401 (all that a run imports is there before it is counted)
from willowbark.agents.report import assembly  # noqa: F401
from willowbark.teams import research
from willowbark.teams.run import course  # noqa: F401
from willowbark.tools.appraisal import harms  # noqa: F401
from willowbark.tools.lexicon import conditions, drugs
from willowbark.tools.reading import document, features, screening, text

QUESTION = "Which existing drugs could prevent migraine attacks?"
COUNTED = (
    ("cut into sentences", text, "sentence_spans"),
    ("cut into tokens", text, "tokens_of"),
    ("searched for drugs", drugs, "find_drugs"),
    ("searched for conditions", conditions, "find_known_conditions"),
    ("screened", screening, "pieces"),
)
DUE = 1.1


def counting(of: ModuleType, name: str, calls: Counter[str], seen: dict[str, set[int]]) -> None:
    """Count the calls of a function wherever it was imported, and the texts that it is called with."""
    function: Callable[..., Any] = getattr(of, name)

    def counted(given: str, *more: Any, **named: Any) -> Any:
        calls[name] += 1
        seen[name].add(hash((given, *more)))
        return function(given, *more, **named)

    for module in [each for each in sys.modules.values() if isinstance(each, ModuleType)]:
        if module.__name__.startswith("willowbark"):
            for known, value in list(vars(module).items()):
                if value is function:
                    setattr(module, known, counted)


def main() -> int:
    """Print a line for each way of looking at a text; fails where one is looked at again more often than is due."""
    calls, seen = Counter[str](), defaultdict[str, set[int]](set)
    for _, module, name in COUNTED:
        counting(module, name, calls, seen)
    for kind in (document.Document, features.View):
        made = kind.__init__

        def counted(self: Any, *given: Any, made: Any = made, kind: type = kind, **named: Any) -> None:
            calls[kind.__name__] += 1
            seen[kind.__name__].add(hash(tuple(map(str, given)) if kind is document.Document else given))
            made(self, *given, **named)

        kind.__init__ = counted  # type: ignore[method-assign]
    began = time.process_time()
    report = asyncio.run(research(QUESTION, offline=True))
    sys.stdout.write(f"{time.process_time() - began:.1f} s of processor, {report.total_papers_reviewed} papers\n")
    told = [(label, name) for label, _, name in COUNTED] + [("documents", "Document"), ("views of one", "View")]
    for label, name in told:
        often = calls[name] / max(1, len(seen[name]))
        sys.stdout.write(f"{label:<24}{calls[name]:>6} calls {len(seen[name]):>6} texts {often:>6.2f} a text\n")
    return int(any(calls[name] > DUE * len(seen[name]) for _, name in told))


if __name__ == "__main__":
    raise SystemExit(main())
