"""How drugs act, by the drug databases."""

from willowbark.tools.mechanism.graph import MechanismGraph
from willowbark.tools.wording import capital, listed, short

from ..argument import bears
from ..content import CURATED
from ..forms.blocks import Text, flow, paragraph, points
from ..material import Material, References, as_asked
from .answer import Answer, entries_of


def on_mechanism(material: Material, references: References) -> Answer:
    """The answer on how drugs act, and where a condition is asked about on how that bears on it."""
    known = entries_of(material)
    lines, drugs = [], dict.fromkeys([*material.asked.drugs, *known])
    for drug in drugs:
        entries = [said for _, said in known.get(drug, ())]
        acts = dict.fromkeys(m.get("mechanism_of_action") for said in entries for m in said.mechanisms)
        targets = dict.fromkeys(g for said in entries for m in said.mechanisms for g in m.get("gene_symbols") or ())
        if how := listed([str(each) for each in acts if each]):
            at = f" (targets {listed([*targets])})" if targets else ""
            lines.append((drug, f"{how}{at}", [key for key, _ in known[drug]]))
    unknown = [drug for drug in material.asked.drugs if drug not in {given for given, _, _ in lines}]
    unknown += () if lines else material.asked.drug_classes
    names = listed([as_asked(each, material.dossier.question) for each in unknown])
    missing = f"No drug database at hand gives a mechanism of action of {names}." if unknown else ""
    if not lines:
        return Answer([missing or "No drug database at hand gives a mechanism of action."], [], 0.0)
    shown = [f"{capital(drug)} acts as {how}, by the drug databases." for drug, how, _ in lines[:3]]
    items = [flow(Text(drug, "strong"), f": {how}", references.cite(keys)) for drug, how, keys in lines]
    if not material.asked.conditions:
        return Answer([" ".join([*shown, missing]).strip()], [points(items)], CURATED)
    graph = MechanismGraph(material.pool, material.asked, [drug for drug, _, _ in lines])
    chains = [graph.chain(drug) for drug, _, _ in lines]
    ends = [flow(Text(chain.drug, "strong"), ": ", *bears(chain, references)) for chain in chains]
    whole, broken = ([c.drug for c in chains if bool(c.missing) is missed] for missed in (False, True))
    topic = short(material.topic)
    bearing = f"Records connect with {topic} what these act on: {listed(whole)}." if whole else ""
    open_ended = f"No record connects the targets of {listed(broken)} with {topic}." if broken else ""
    answer = " ".join(filter(None, (*shown, missing, bearing, open_ended)))
    return Answer([answer], [points(items), paragraph(f"How that bears on {topic}:"), points(ends)], CURATED)
