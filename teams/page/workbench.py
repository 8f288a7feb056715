"""The workbench of a run: its drugs drawn, its studies to filter and to correct, and what a correction moved."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from ..ledger import Ledger
from ..ledger.journal import FORMER
from ..run.history import list_ledger_runs, load_report
from .rendering import render_page

if TYPE_CHECKING:
    from willowbark.agents.report.model import ResearchReport
    from willowbark.agents.report.workbench import DrugLine

_LAST = "What your correction moved"
_ALL = "What corrections moved"


def render_workbench_page(run_id: str, root: Path, moved: Sequence[str]) -> str:
    """Render the workbench of a run with a report; UsageError if it has none.

    `moved` tells what the latest correction moved; empty if this server made none, which then tells of all.
    """
    report = load_report(root, run_id)
    is_in_ledger = any(run.run_id == run_id for run in list_ledger_runs())
    if moved or not (is_in_ledger and report.corrections):
        return render_workbench(run_id, report, moved, moved_by=_LAST, can_correct=is_in_ledger)
    return render_workbench(run_id, report, tell_all_moved(run_id, report), moved_by=_ALL, can_correct=is_in_ledger)


def render_workbench(
    run_id: str, report: "ResearchReport", moved: Sequence[str], *, moved_by: str, can_correct: bool
) -> str:
    """Render a report's drugs and studies; `moved_by` heads what moved, `can_correct` says if the run was kept."""
    from willowbark.agents.pictures.strip import (  # noqa: PLC0415
        draw_axis,
        draw_sample,
        draw_strip,
        write_figures,
    )
    from willowbark.agents.report.forms.html import render_cell, render_section  # noqa: PLC0415  agents take a second
    from willowbark.agents.report.tree import first_screen  # noqa: PLC0415
    from willowbark.agents.report.workbench import make_workbench  # noqa: PLC0415

    bench = make_workbench(report)
    cited_at = f"/runs/{run_id}/records/"
    number = len(report.references)
    return render_page(
        "workbench.html",
        title=report.title,
        question=report.research_question,
        run_id=run_id,
        bench=bench,
        can_correct=can_correct,
        moved_by=moved_by,
        moved=moved,
        answer=Markup(render_section(first_screen(report), number, cited_at)),  # noqa: S704  every text is escaped there
        effects={
            line.candidate.name: Markup(render_cell(line.cells.get("effect", ()), number, cited_at))  # noqa: S704  as above
            for line in bench.drugs
        },
        ruler=Markup(draw_axis(bench.axis)),  # noqa: S704  drawn from figures
        strips=lambda effects: Markup(draw_strip(effects, bench.axis)),  # noqa: S704  its texts are escaped
        sample=lambda direction: Markup(draw_sample(direction)),  # noqa: S704  as above
        write_figures=write_figures,
        count_stances=count_stances,
        block_of=find_block,
    )


def tell_all_moved(run_id: str, report: "ResearchReport") -> list[str]:
    """Tell what all corrections of a run moved, a line each."""
    from ..run.report_changes import tell_changes  # noqa: PLC0415

    with Ledger.existing() as ledger:
        former = ledger.taken(run_id, FORMER)
    return tell_changes(former, report.model_dump(mode="json")) if former is not None else []


def count_stances(line: "DrugLine") -> str:
    """Count a drug's studies by what they say, without those that are none."""
    drug = line.candidate
    missed = len(drug.missed_citations)
    numbers = {
        "supporting": len(drug.supporting_citations),
        "contradicting": len(drug.contradicting_citations),
        "missed": missed,
        "inconclusive": len(drug.undecided_citations) - missed,
    }
    return ", ".join(f"{number} {stance}" for stance, number in numbers.items() if number > 0) or "none"


def find_block(line: "DrugLine") -> str:
    """Return the address of a drug's block within its report; empty if it has none."""
    addresses = [getattr(node, "url", None) for node in line.cells.get("drug", ())]
    return next((address for address in addresses if address), "")
