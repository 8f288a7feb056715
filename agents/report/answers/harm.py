"""What drugs do to people: harm, safety, what to avoid; labels first, then what publications say."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from willowbark.tools.appraisal.harms import Harm, Stance, Warning, boxed, harms, subject, warnings
from willowbark.tools.questions.kinds import Kind
from willowbark.tools.registry import kind_of
from willowbark.tools.wording import capital, counted, listed, short

from ..content import CURATED, PUBLISHED
from ..forms.blocks import Block, Text, flow, paragraph, points
from ..material import Material, References
from .answer import LONGEST_QUOTE, MOST_QUOTED, Answer, named_in

_STANCES: Mapping[Stance, str] = {
    "reports": "with harm",
    "undecided": "undecided",
    "silent": "without a result on harm",
}
_ORDER = list(_STANCES)
_LEADS = "Single sentences say so, quoted under “What was asked”: leads, no verdict."


def on_harm(material: Material, references: References) -> Answer:
    """The answer on harm, safety or what to avoid."""
    asked, about = material.asked, short(subject(material.asked))
    found, told = harms(material.pool, asked, material.readings), warnings(material.pool, asked)
    reported = Counter(h.drug for h in found if h.stance == "reports")
    spoken_of = [*asked.drugs, *(w.drug for w in told), *(h.drug for h in found)]
    drugs = sorted(dict.fromkeys(spoken_of), key=lambda drug: (drug not in asked.drugs, -reported[drug]))
    first = [next(each for each in told if each.drug == drug) for drug in dict.fromkeys(each.drug for each in told)]
    said = [_warned(each, asked.kind, about) for each in first]
    if found and not about:
        caused = Counter(each.of for each in {(h.key, h.of): h for h in found}.values())
        named = listed([f"{harm} ({counted(number, 'publication')})" for harm, number in caused.most_common()], most=8)
        said.append(f"Read as caused by {named_in(material)}: {named}. {_LEADS}")
    elif asked.drugs or asked.drug_classes:
        said += _told_of(named_in(material), about, found, asked.drugs)
    elif found:
        named = listed(
            [f"{drug} ({counted(reported[drug], 'publication')})" for drug in drugs if reported[drug]], most=8
        )
        where = f"with harm in {about}" if asked.kind == "avoid" else f"as causing {about}"
        said.append(f"Read {where}: {named}. {_LEADS}")
    missing = [drug for drug in asked.drugs if drug not in spoken_of[len(asked.drugs) :]]
    if said and not told and not reported:
        whose = "" if asked.kind == "avoid" else f"{named_in(material)} and "
        said.insert(0, _nothing(material, f" on {whose}{about}", "surely "))
    elif missing or not said:
        whose = f" on {short(listed(missing))}" if missing else ""
        said.append(
            _nothing(material, f"{whose} and {about}" if whose and about else whose or f" on {about or 'harm'}")
        )
    shown_above = [each.drug for each in first if each.heading == "Boxed warning"]
    said += [
        f"{capital(each.drug)} carries a boxed warning: “{short(each.sentence, LONGEST_QUOTE)}”"
        for each in _boxed_of([drug for drug in drugs if drug not in shown_above], told, material)
    ]
    sure = CURATED if told else PUBLISHED if reported else 0.0
    return Answer(said, _shown_harms(found, told, about, references), sure)


def _boxed_of(drugs: Sequence[str], told: Sequence[Warning], material: Material) -> Iterator[Warning]:
    """The boxed warning of each drug that has one, and of it what is on the subject, where anything is."""
    for any_of_it in boxed(material.pool, drugs):
        on_it = (each for each in told if each.drug == any_of_it.drug and each.heading == "Boxed warning")
        yield next(on_it, any_of_it)


def _nothing(material: Material, what: str, how: str = "") -> str:
    labels = sum(kind_of(record) == "label" for record in material.pool)
    publications = sum(kind_of(record) == "publication" for record in material.pool)
    if material.asked.kind == "avoid":
        what = f" which drugs to avoid{what.replace(' on ', ' in ', 1)}"
    read = f"{counted(publications, 'publication')} and {counted(labels, 'drug label')}"
    says = "reports such harm" if material.asked.kind == "safety" else "says it"
    return f"No answer{what}: of {read} read none {how}{says}. That is no evidence of safety."


def _warned(warning: Warning, kind: Kind, about: str) -> str:
    label, heading = f"the United States label of {warning.drug}", warning.heading
    quote = f"“{short(warning.sentence, LONGEST_QUOTE)}”"
    if kind == "harm" and heading != "Contraindications":
        return f"{capital(label)} warns of {about or 'harm'}: {quote} ({heading})."
    if heading == "Contraindications" and about and kind != "harm":
        return f"{capital(label)} has {about} among its contraindications: {quote}"
    return f"On {about or 'safety'} {label} says: {quote} ({heading})."


def _told_of(named: str, about: str, found: Sequence[Harm], asked: Sequence[str]) -> Iterator[str]:
    """What publications say, in numbers, and of which drugs, unless of the one asked about; nothing without any."""
    by_key, by_drug = dict[str, int](), dict[str, int]()
    for each in found:
        place = _ORDER.index(each.stance)
        by_key[each.key] = min(place, by_key.get(each.key, place))
        by_drug[each.drug] = min(place, by_drug.get(each.drug, place))
    are_asked = len(asked) == 1 and list(by_drug) == list(asked)
    told = []
    for place, what in enumerate(_STANCES.values()):
        if number := sum(each == place for each in by_key.values()):
            drugs = [drug for drug, each in by_drug.items() if each == place]
            whose = f" ({listed(drugs, most=8)})" if drugs and not are_asked else ""
            told.append(f"{number} {what}{whose}")
    if told:
        speak = "speaks" if len(by_key) == 1 else "speak"
        yield f"{counted(len(by_key), 'publication')} on {named} {speak} of {about}: {listed(told)}."


def _shown_harms(found: Sequence[Harm], told: Sequence[Warning], about: str, references: References) -> list[Block]:
    labels = [
        flow(Text(each.drug, "strong"), f", {each.heading}: “{each.sentence}”", references.cite([each.key]))
        for each in told[:MOST_QUOTED]
    ]
    quoted = [each for each in found if each.sentence]
    often, met = Counter(each.of for each in quoted), Counter[str]()
    turns: list[tuple[int, int, int, int, Harm]] = []
    for each in quoted:  # of several harms, each once before any a second time, the one reported most first
        turns.append((_ORDER.index(each.stance), met[each.of], -often[each.of], len(turns), each))
        met[each.of] += 1
    records = [
        flow(
            Text(each.drug, "strong"),
            f", {_STANCES[each.stance] if about else f'with {each.of}'}: “{each.sentence}”",
            references.cite([each.key]),
        )
        for *_, each in sorted(turns)[:MOST_QUOTED]
    ]
    blocks: list[Block] = []
    for title, lines in (("What the labels say:", labels), ("What publications say:", records)):
        if lines:
            blocks += [paragraph(title), points(lines)]
    return blocks
