"""Small real things that several tests are about: records, replies, messages."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import pytest
from autogen_agentchat.base import ChatAgent
from autogen_agentchat.messages import BaseChatMessage, TextMessage
from autogen_core import CancellationToken, FunctionCall
from autogen_core.models import CreateResult, ModelFamily, ModelInfo, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient

from willowbark.agents.asking.claims import Claim, Verdicts
from willowbark.agents.assessment import AssessmentDetails, AssessmentMessage, JudgeAssessment
from willowbark.agents.findings import Dossier, Findings, FindingsMessage, Specialist
from willowbark.agents.report.material import Material
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.config import Settings
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.candidates import appraise_candidates
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.facts import find_facts
from willowbark.tools.reading.reading import QuotedPassage, Reading
from willowbark.tools.reading.text import sentences
from willowbark.tools.records.evidence import Citation, Evidence
from willowbark.tools.search import SourceReply, Status

QUESTION = "Which existing drugs could prevent migraine attacks?"
SPECIALISTS = [
    Specialist(name="literature", takes=("queries", "numbers", "citations")),
    Specialist(name="mechanism", takes=("conditions", "drugs")),
    Specialist(name="trials", takes=("queries", "numbers")),
]


def needs(module: str) -> pytest.MarkDecorator:
    """Skip where a module of an extra is not installed."""
    try:
        missing = find_spec(module) is None
    except ImportError:
        missing = True
    return pytest.mark.skipif(missing, reason=f"{module} is not installed")


def short_run(**changes: Any) -> Settings:
    """Settings of two rounds with few records each; `research__depth` among the changes is `research.depth`."""
    few = {"research.max_iterations": 2, "research.max_results_per_tool": 5}
    return Settings().overridden(few | {name.replace("__", "."): value for name, value in changes.items()})


def without_clock(report: ResearchReport | dict[str, Any]) -> dict[str, Any]:
    """A report as JSON has it, without when it was made and its sources were asked."""
    told = report.model_dump(mode="json") if isinstance(report, ResearchReport) else report
    log = [{name: said for name, said in each.items() if name != "asked_at"} for each in told["search_log"]]
    return {**told, "generated_at": None, "search_log": log}


def evidence(
    content: str = "Text.",
    *,
    source: Any = "pubmed",
    title: str = "T",
    url: str = "",
    relevance: float = 0,
    **more: Any,
) -> Evidence:
    """A record of any source; `more` are its fields."""
    citation = Citation(source=source, title=title, url=url)
    return Evidence(content=content, citation=citation, relevance=relevance, metadata=more)


def record(pmid: str, title: str, abstract: str = "", **metadata: Any) -> Evidence:
    """A publication."""
    return Evidence(
        content=f"{title}\n\n{abstract}" if abstract else title,
        citation=Citation(
            source="pubmed",
            title=title,
            url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/",
            date="2001",
            authors=["Smith J", "Jones A"],
        ),
        metadata={"pmid": pmid, "has_abstract": bool(abstract), **metadata},
    )


TRIAL = record(
    "1",
    "Propranolol in migraine prevention: a double-blind trial",
    "Propranolol reduced migraine attacks compared with placebo in 500 patients (p<0.001).",
    publication_types=["Randomized Controlled Trial"],
)


def drug_record(drug: str, mechanism: str, gene: str, number: int = 27) -> Evidence:
    """What a drug database says of a drug."""
    return Evidence(
        content=f"{drug.capitalize()}: {mechanism} (target {gene}).",
        citation=Citation(
            source="chembl",
            title=drug.capitalize(),
            url=f"https://www.ebi.ac.uk/chembl/explore/compound/CHEMBL{number}",
        ),
        metadata={
            "kind": "drug",
            "drug": drug,
            "mechanisms": [{"mechanism_of_action": mechanism, "gene_symbols": [gene]}],
            "indications": [{"name": "Hypertension", "max_phase": 4}],
        },
    )


def reply(*records: Evidence, source: str = "pubmed", status: Status = Status.OK, **fields: Any) -> SourceReply:
    """A source's reply."""
    return SourceReply(
        source=source,
        query="migraine",
        status=status,
        records=list(records),
        total=len(records),
        **fields,
    )


def findings(specialist: str, *replies: SourceReply, iteration: int = 1, **fields: Any) -> FindingsMessage:
    """A specialist's findings as a message."""
    declared = next((each for each in SPECIALISTS if each.name == specialist), None)
    told = {"declared": declared, "summary": "Looked.", "replies": list(replies), **fields}
    content = Findings(specialist=specialist, iteration=iteration, **told)
    usage = RequestUsage(prompt_tokens=100, completion_tokens=10)
    return FindingsMessage(content=content, source=specialist, models_usage=usage)


def verdict(recommendation: str = "continue", iteration: int = 1, **fields: Any) -> AssessmentMessage:
    """A judge's verdict as a message."""
    content = JudgeAssessment(
        details=AssessmentDetails(
            mechanism_score=5,
            mechanism_reasoning="half of it is known",
            clinical_evidence_score=5,
            clinical_reasoning="some trials agree",
        ),
        confidence=0.5,
        reasoning="Some evidence is there, more is needed.",
        recommendation=cast(Any, recommendation),
        iteration=iteration,
        **fields,
    )
    return AssessmentMessage(content=content, source="judge")


def asked(question: str = QUESTION) -> TextMessage:
    """The user's question as a message."""
    return TextMessage(content=question, source="user")


def scripted(*answers: str | CreateResult, structured: bool = True) -> ReplayChatCompletionClient:
    """A model that answers what it is told to, in turn."""
    info = ModelInfo(
        vision=False,
        function_calling=True,
        json_output=True,
        family=ModelFamily.UNKNOWN,
        structured_output=structured,
        multiple_system_messages=True,
    )
    return ReplayChatCompletionClient(list(answers), model_info=info)


async def spoken(agent: ChatAgent, *messages: BaseChatMessage) -> Any:
    """The content of the message with which an agent answers."""
    answer = await agent.on_messages(messages, CancellationToken())
    return cast(Any, answer.chat_message).content


def calling(tool: str, *queries: str) -> CreateResult:
    """A model's answer that calls a tool, once with each query."""
    calls = [FunctionCall(id=str(at), name=tool, arguments=json.dumps({"query": q})) for at, q in enumerate(queries)]
    usage = RequestUsage(prompt_tokens=900, completion_tokens=20)
    return CreateResult(finish_reason="function_calls", content=calls, usage=usage, cached=False)


def arm_draft(name: str, **changes: Any) -> dict[str, Any]:
    """A group of a study as a model gives it: on the drug of its name, or on placebo."""
    is_placebo = name == "placebo"
    told = {"name": name, "role": "placebo" if is_placebo else "drug", "drugs": [] if is_placebo else [name]}
    return {**told, "dose": "", "n": 0, **changes}


def comparison_draft(quote: str, **changes: Any) -> dict[str, Any]:
    """A model's comparison of propranolol with placebo: better, significantly."""
    told = {"arm": "propranolol", "versus": "placebo", "quote": quote, "outcome": "", "endpoint": "efficacy"}
    told |= {"primary": "untold", "condition": "", "subgroup": "", "favours": "arm", "significant": "yes"}
    return {**told, "equivalence": "none", "basis": "own_data", "hedged": False, "estimate": "", **changes}


def statement_draft(quote: str, **changes: Any) -> dict[str, Any]:
    """What authors say of propranolol, as a model gives it: it works."""
    told = {"drug": "propranolol", "quote": quote, "says": "works", "basis": "judgement"}
    return {**told, "condition": "", "reason": "", **changes}


def study_draft(*comparisons: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A model's study of the record 11111111, of propranolol against placebo in migraine."""
    told = {"evidence_key": "pmid:11111111", "aim": "prevent", "condition": "migraine", "people": ""}
    arms = [arm_draft("propranolol"), arm_draft("placebo")]
    more = {"randomised": 0, "background": [], "harms": [], "statements": []}
    return {**told, **more, "arms": arms, "comparisons": [*comparisons], **changes}


def judge_draft(**changes: Any) -> dict[str, Any]:
    """A model's assessment with high scores of propranolol, one gap, and the word that it is enough."""
    lists: dict[str, Any] = {name: [] for name in ("misread", "strikes", "decides", "contradicts", "next_searches")}
    scores = dict.fromkeys(("mechanism_score", "clinical_evidence_score", "candidates_score"), 9)
    words = {"mechanism_reasoning": "Its target is known.", "clinical_reasoning": "Trials agree on it."}
    told = {"drugs": [judged_drug("propranolol")], "gaps": ["A second trial is missing."], "confidence": 0.9}
    ends = {"reasoning": "The evidence is good enough for a report.", "is_enough": True}
    return {**lists, **scores, **words, **told, **ends, **changes}


def judged_drug(drug: str, **changes: Any) -> dict[str, Any]:
    """What a model says of a drug as a judge: high certainty, for the people asked about."""
    told = {"drug": drug, "reason": "", "keys": [], "domains": [], "level": "high", "not_for": ""}
    return {**told, **changes}


def reading(key: str, drug: str, **fields: Any) -> Reading:
    """What a reader says: by default a drug tested against placebo for efficacy, with the record's last sentence."""
    told: dict[str, Any] = {
        "condition": "migraine",
        "role": "tested",
        "kind": "efficacy",
        "comparator": "placebo",
        "design": "rct",
        "reader": "scripted",
        "version": "1",
    }
    return Reading.model_validate({"key": key, "drug": drug, **told, **fields})


class ScriptedReader:
    """A reader that says the same of every record, or of each text what is written for a part of it.

    Args:
        effects: the effect for each text that holds these words.
        fields: of every reading.
    """

    name = "scripted"
    version = "1"

    def __init__(self, effects: Mapping[str, str] | None = None, **fields: Any) -> None:
        self.effects, self.fields = effects or {}, fields
        self.asked: list[str] = []

    def read_document(self, document: Document, drug: str, condition: str, key: str = "") -> Reading:
        """Note the text that was asked about, and answer."""
        text = document.whole[document.offset :]
        self.asked.append(text)
        last = sentences(document.whole)[-1]
        fields = {"passages": [QuotedPassage(text=last, start=0, end=len(last))], **self.fields}
        effects = [effect for known, effect in self.effects.items() if known in text]
        fields.update({"effect": effects[0]} if effects else {})
        facts = find_facts(document)
        told = {"condition": condition, "design": facts.design, "participants": facts.participants}
        return reading(key, drug, **{**told, **fields})


def count_calls(work: Callable[[], object]) -> int:
    """Count the calls that some work takes, in Python and in C: the same on every machine."""
    calls = 0

    def count(_: Any, event: str, __: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def material(
    question: str, pool: Sequence[Evidence], readings: Readings | None = None, dossier: Dossier | None = None
) -> Material:
    """What a report on these records is made of, with a claim that stands on each drug that they name."""
    candidates = appraise_candidates((dossier or Dossier(question=question)).asked, pool, readings)
    claims = [Claim(drug=c.drug, evidence_key=c.records[0].key, quote="") for c in candidates if c.records]
    return Material(
        dossier=dossier or Dossier(question=question),
        assessments=[],
        pool=list(pool),
        candidates=candidates,
        verdicts=Verdicts(kept=claims),
        readings=readings or Readings(),
    )


def run_python(*arguments: str | Path, folder: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run Python in a folder as users do: over the bundled library, one round with few records."""
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        "WILLOWBARK_LIBRARY__PATH": "bundled",
        "WILLOWBARK_RESEARCH__MAX_ITERATIONS": "1",
        "WILLOWBARK_RESEARCH__MAX_RESULTS_PER_TOOL": "4",
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, input=stdin, capture_output=True, text=True, timeout=600, check=False
    )
