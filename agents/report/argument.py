"""The argument from mechanism: what has a part in the disease, and how a drug's action leads there, step by step."""

from collections.abc import Sequence

from willowbark.tools.mechanism.graph import MechanismGraph
from willowbark.tools.mechanism.steps import Backing, Chain, Step
from willowbark.tools.registry import title_of
from willowbark.tools.wording import capital, counted, short

from .content import NOT_REPORTED, ReportSection
from .forms.blocks import Block, Flow, Text, flow, joined, paragraph, points, table
from .material import References

MAX_INVOLVED = 10  # targets and processes of the condition in the section
MAX_CITED = 4  # records behind one step that are cited
LONGEST_QUOTE = 320  # characters of a quoted sentence
_NODES = {"target": "target", "process": "process or pathway"}


def disease_section(graph: MechanismGraph, references: References) -> ReportSection:
    """What the records say of the condition's targets and processes, the surest first, with the drugs acting there."""
    start, found, name = len(references.cited), graph.involved, graph.disease.name
    blocks: list[Block]
    if found:
        more = f"; {len(found) - MAX_INVOLVED} further ones are not shown" if len(found) > MAX_INVOLVED else ""
        about = (
            f"Targets and processes that a database, or a sentence of a record, connects with {name}, the surest first"
            f"{more}. That one has a part in it does not say that to act on it helps."
        )
        blocks = [paragraph(about), points(_involved(step, graph, references) for step in found[:MAX_INVOLVED])]
    else:
        said = (
            f"No database at hand, and no sentence that was found, connects a target or a process with {name}. That is "
            "a gap of these sources, no finding."
        )
        blocks = [paragraph(said)]
    return ReportSection.of("Disease mechanism", blocks, references.cited[start:])


def _involved(step: Step, graph: MechanismGraph, references: References) -> Flow:
    node = step.start
    by = graph.acting_on(node)
    drugs = f"; acted on by {', '.join(by)}" if by else ""
    number = f", {node.number}" if node.number else ""
    head = flow(Text(node.name, "strong"), f" ({_NODES[node.kind]}{number}{drugs}): ")
    return (*head, *_says(step.backings, references), *_quote(step.quoted))


def argument_section(chain: Chain, graph: MechanismGraph, references: References) -> ReportSection | None:
    """A chain in three sentences: what the drug acts on, where that takes part, what it has to do with it all.

    None where nobody says what it acts on; the mechanistic findings name such drugs.
    """
    start = len(references.cited)
    if chain.node("target") is None:
        return None
    sentences = [_acts(chain, references), _takes_part(chain, graph, references), bears(chain, references)]
    blocks: list[Block] = [paragraph(*(node for sentence in sentences for node in (*sentence, Text(" "))))]
    backings = (backing for step in chain.steps for backing in step.backings)
    if any(each.basis == "sentence" and not each.denies for each in backings):  # else the words above say it all
        rows = [_row(step, references) for step in chain.steps]
        caption = f"Each step from {chain.drug} to {graph.disease.name}, and what says it"
        blocks.append(table(caption, ("step", "relation", "said by", "in its words"), rows))
    blocks.append(paragraph(_confidence(chain), look="small"))
    return ReportSection.of("From drug to disease", blocks, references.cited[start:])


def _acts(chain: Chain, references: References) -> Flow:
    step = chain.steps[0]
    number = f" ({step.end.number})" if step.end.number else ""
    said = f"{capital(chain.drug)} acts on {step.end.name}{number} as “{step.relation}”, by "
    return (*flow(said), *_says(step.backings, references), Text("."))


def _takes_part(chain: Chain, graph: MechanismGraph, references: References) -> Flow:
    target, process = chain.steps[0].end, chain.node("process")
    if process is not None:
        step, number = chain.steps[1], f" ({process.number})" if process.number else ""
        said = (*flow(f"{target.name} takes part in {process.name}{number}, by "), *_says(step.backings, references))
        if (told := graph.about(process)) is not None:
            return (*said, *flow(f": “{short(told[1], LONGEST_QUOTE)}”", references.cite([told[0]]), Text(".")))
        return (*said, Text("."))
    if chain.steps[0].end != chain.steps[-1].start:
        step = chain.steps[1]
        said = flow(f"{target.name} {step.relation} {step.end.name}, by ")
        return (*said, *_says(step.backings, references), Text("."))
    if (function := graph.function_of(target)) is not None:
        key, words = function
        return flow(f"What it does: “{short(words, LONGEST_QUOTE)}”", references.cite([key]), ".")
    return flow(f"No record names a process of {target.name}.")


def bears(chain: Chain, references: References) -> Flow:
    """What the end of a chain has to do with the condition, in a sentence; that nothing says it, where nothing does."""
    last = chain.steps[-1]
    denied = [each for step in chain.steps for each in step.backings if each.denies]
    against = flow(
        f" {counted(len({each.key for each in denied}), 'record')} denies a step",
        references.cite(e.key for e in denied),
        ".",
    )
    if last.is_missing:
        said = flow(f"{capital('; '.join(chain.missing))}: that step is missing, and the argument is open there.")
    else:
        head = f"{capital(last.start.name)} {last.relation} {last.end.name}, by "
        said = (*flow(head), *_says(last.backings, references), *_quote(last.quoted), Text("."))
    return (*said, *(against if denied else ()))


def _confidence(chain: Chain) -> str:
    others = f", {counted(chain.others, 'further way')} known" if chain.others else ""
    return (
        f"Confidence in the chain: {chain.confidence:.2f} of 1 ({chain.arithmetic}{others}). It says how well the "
        "steps are known, not whether patients fare better."
    )


def _row(step: Step, references: References) -> tuple[Flow, ...]:
    ends = f"{step.start.name} → {step.end.name}"
    if step.is_missing:
        return flow(ends), flow(NOT_REPORTED), flow("nothing: the step is missing"), flow("")
    quoted = step.quoted
    words = (
        flow(f"“{short(quoted.quote, LONGEST_QUOTE)}”", references.cite([quoted.key])) if quoted else flow("a table")
    )
    return flow(ends), flow(step.relation), _says(step.backings, references), words


def _says(backings: Sequence[Backing], references: References) -> Flow:
    """Who says a step, with identifiers, cited."""
    told = [each for each in backings if not each.denies]
    entries = dict.fromkeys(_named(each) for each in told if each.basis != "sentence")
    sentences = {each.key: each for each in told if each.basis == "sentence"}
    hedged = sum(each.hedged for each in sentences.values())
    mark = f" ({hedged} of them hedged)" if hedged and len(sentences) > 1 else " (hedged)" if hedged else ""
    parts = [*entries, *([f"{counted(len(sentences), 'sentence')} of records{mark}"] if sentences else [])]
    keys = list(dict.fromkeys(each.key for each in told))[:MAX_CITED]
    return (*joined([flow(part) for part in parts], ", "), *flow(references.cite(keys)))


def _named(backing: Backing) -> str:
    if backing.basis == "shared protein":
        return f"what is said of {backing.number}"
    score = f", score {backing.score:.2f}" if backing.score is not None else ""
    return f"{title_of(backing.source)}{f' {backing.number}' if backing.number else ''}{score}"


def _quote(backing: Backing | None) -> Flow:
    return flow(f": “{short(backing.quote, LONGEST_QUOTE)}”") if backing else ()
