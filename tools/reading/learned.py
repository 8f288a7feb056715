"""The learned reader: linear heads over the encoder's states, and fields that lead to the most probable verdict.

The heads combine the states, the predictions of the encoder's own heads and the verdict that each sentence carries;
they were trained on records that the encoder was not.
"""

import hashlib
import io
from collections.abc import Mapping, Sequence
from functools import cache, reduce
from importlib.resources import files
from itertools import product
from typing import NamedTuple, cast, get_args

import numpy as np

from ..lexicon.heads import Floats, compute_softmax
from .condition_roles import build_role_row, list_flags
from .document import Document
from .encoder import SENTENCES, States, load_encoder
from .facts import find_facts, has_no_result
from .fields import CONDITION_ROLES, FIELDS
from .numbers import list_figures, tells_figures
from .reading import (
    Comparator,
    Design,
    Effect,
    IndicationKind,
    Match,
    OutcomeKind,
    Primary,
    QuotedPassage,
    Reading,
    Role,
    Verdict,
    derive_verdict,
)
from .text import says
from .view import View

_OF_ENCODER = ("verdict", "role", "match", "kind", "effect", "comparator")
_WIDTH = 384
_VERDICTS = cast(tuple[Verdict, ...], FIELDS["verdict"])
THRESHOLD = "shown."
"""Before a verdict, names the array with the least probability from which on it is shown."""
ROLE = "role"
"""The same for the part that a condition plays."""
_HEDGED = (0.0, -2.0)  # log prior: a result in firm words, in hedged words
_NON_INFERIOR = (0.0, -0.5)
"""Log prior: of labelled results that do not differ from an active drug's, 58 in 100 count as non-inferior."""
_NAMING = {"DRUG": 2.0, "CLASS": 1.0, "COND": 0.3}
"""Log-odds bonus for quoting a sentence that names the drug, its class or the condition."""
_ITS_OWN_BASELINE = 0.2
"""Odds that a randomised trial compares with before treatment, where it is read so: 6 of 29 labelled ones did."""
_UNNAMED_PLACEBO = 0.01
"""Odds of a placebo that the record does not name."""
_TELLS_FIGURES = 0.1
"""Minimum probability that a result with figures carries the verdict, to show it beside a quote without figures."""
_CARRIES: dict[Verdict, str] = {"supports": "+", "contradicts": "-", "neutral": "~"}
Combination = tuple[Role, Match, OutcomeKind, Comparator, Effect, bool, bool]


class Weights:
    """The linear heads over the encoder's states.

    Attributes:
        version: the first twelve digits of the file's SHA-256.
        shown: by verdict the least probability from which on it is shown; others always are. By `ROLE` the same for the
            part that a condition plays.
    """

    def __init__(self, arrays: bytes) -> None:
        with np.load(io.BytesIO(arrays)) as stored:
            self._found = {name: np.asarray(array, np.float32) for name, array in stored.items()}
        self.version = hashlib.sha256(arrays).hexdigest()[:12]
        self.shown = read_thresholds(self._found)

    def probabilities(self, states: States, zones: Sequence[str]) -> dict[str, Floats]:
        """Predict the probabilities of each field's values, in the order of `FIELDS`."""
        row = self.row(states, zones)
        return {name: self._predict(name, row) for name in FIELDS}

    def row(self, states: States, zones: Sequence[str]) -> Floats:
        """Build the heads' input: states, predictions of the encoder's own heads, verdicts of the sentences."""
        own = states.whole[: 3 * _WIDTH]
        chances = np.concatenate([self._predict(f"encoder.{name}", own) for name in _OF_ENCODER])
        return np.concatenate([states.whole, np.log(chances + 1e-6), chances, _pool_sentences(states.sentences, zones)])

    def tell_role(self, states: States, view: View) -> Floats:
        """Predict which part a view's condition plays, in the order of `CONDITION_ROLES`."""
        row = build_role_row(self.row(states, view.document.zones), list_flags(view))
        return self._predict("condition", row)

    def _predict(self, name: str, row: Floats) -> Floats:
        return compute_softmax(row @ self._found[name] + self._found[f"{name}.bias"])


def _pool_sentences(sentences: Mapping[int, Floats], zones: Sequence[str]) -> Floats:
    """Pool the sentences' verdicts: for each the best, second, sum, best by zone, and last sentence."""
    pooled: list[float] = []
    for column in (0, 1, 3):  # all but no verdict
        chances = {order: float(chance_by_column[column]) for order, chance_by_column in sentences.items()}
        ranked = [*sorted(chances.values(), reverse=True), 0.0, 0.0]
        pooled += [ranked[0], ranked[1], sum(ranked)]
        for zone in "TRC":
            pooled.append(max((chances[order] for order in chances if zones[order] == zone), default=0.0))
        pooled.append(chances[max(chances)] if chances else 0.0)
    return np.array(pooled, np.float32)


class LearnedAnswer(NamedTuple):
    """What weights tell of a drug in a condition."""

    fields: dict[str, Floats]
    """Probabilities in the order of `FIELDS`."""
    sentences: Mapping[int, Floats]
    """By the order of a sentence the probabilities of what it carries, in the order of `SENTENCES`."""
    condition: Floats
    """Probabilities of the part that the condition plays, in the order of `CONDITION_ROLES`."""


class LearnedReader:
    """Reads with weights trained on labels made by reading; the default if there is no language model.

    Thread-safe. Each record is read alone on one core, so its reading never depends on the others.
    """

    name = "learned"

    def __init__(self) -> None:
        self._encoder = load_encoder()
        self._weights = load_weights()
        self.version = self._weights.version

    def read_document(self, document: Document, drug: str, condition: str, key: str = "") -> Reading:
        """Read a record for a drug in a condition, and for its design and participants."""
        view = View(document, drug, condition)
        facts = document.once(find_facts, document)
        chances, sentences, parts = self.tell(view)
        if _is_without_result(document, facts.design):
            for field, value in (("verdict", "none"), ("effect", "not_reported"), ("primary", "not_reported")):
                chances[field] = np.array([name == value for name in FIELDS[field]], np.float32)
        if facts.design == "rct":
            chances["comparator"][FIELDS["comparator"].index("before_after")] *= _ITS_OWN_BASELINE
        if not says("inert", document.whole):
            chances["comparator"][FIELDS["comparator"].index("placebo")] *= _UNNAMED_PLACEBO
        primary, indication, alone = (
            FIELDS[name][int(chances[name].argmax())] for name in ("primary", "indication", "alone")
        )
        verdict = _VERDICTS[int(chances["verdict"].argmax())]
        probability = float(chances["verdict"][FIELDS["verdict"].index(verdict)])
        role, match, kind, comparator, effect, hedged, non_inferior = find_consistent(verdict, chances)
        quoted_sentence = _find_quoted(view, sentences, verdict)
        passages = () if quoted_sentence is None else (_make_passage(view, quoted_sentence),)
        if verdict == "supports":
            sure = primary != "not_met"
        else:  # a failure is sure unless its sentence speaks of another drug alone
            signs = {"DRUG"} if quoted_sentence is None else set(view.sentences[quoted_sentence])
            sure = verdict != "contradicts" or "OTHER" not in signs or not signs.isdisjoint(("DRUG", "CLASS"))
        sure &= probability >= self.find_least(verdict)
        return Reading(
            key=key,
            drug=drug,
            condition=condition,
            role=role,
            condition_role=CONDITION_ROLES[int(parts.argmax())] if parts.max() >= self.find_least(ROLE) else None,
            match=match,
            kind=kind,
            comparator=comparator,
            effect=effect,
            primary=cast(Primary, primary),
            indication=cast(IndicationKind, indication),
            alone=alone == "alone",
            design=facts.design,
            participants=facts.participants,
            hedged=hedged,
            non_inferior=non_inferior,
            passages=passages,
            in_figures=_find_in_figures(view, sentences, verdict, passages),
            probability=probability,
            sure=sure,
            harm=_rate_harm(chances),
            reader=self.name,
            version=self.version,
        )

    def tell(self, view: View) -> LearnedAnswer:
        """Return what the weights tell of a view."""
        states = self._encoder.encode(view)
        fields = self._weights.probabilities(states, view.document.zones)
        return LearnedAnswer(fields, states.sentences, self._weights.tell_role(states, view))

    def find_least(self, what: str) -> float:
        """Return the probability from which on a verdict, or the part of a condition (`ROLE`), is sure."""
        return self._weights.shown.get(what, 0.0)


def read_thresholds(stored: Mapping[str, Floats]) -> dict[str, float]:
    """Return the least probability by verdict, of arrays named `shown.` and the verdict."""
    return {name.removeprefix(THRESHOLD): float(least) for name, least in stored.items() if name.startswith(THRESHOLD)}


def rate_effect(document: Document, drug: str, condition: str) -> dict[str, float]:
    """Return the chances that a text says that a drug did better, no differently or worse, which add up to 1."""
    states = load_encoder().encode(View(document, drug, condition))
    effects = load_weights().probabilities(states, document.zones)["effect"]
    chances = {name: float(effects[FIELDS["effect"].index(name)]) for name in ("better", "no_difference", "worse")}
    whole = sum(chances.values())
    return {name: chance / whole for name, chance in chances.items()}


def _is_without_result(document: Document, design: Design) -> bool:
    """Whether a record can carry no verdict: a title alone, or a plan of a study."""
    return not document.text.strip() or (design == "protocol" and has_no_result(document))


def _rate_harm(chances: Mapping[str, Floats]) -> float:
    """Probability that the drug does harm: worse on a harm outcome, or a cause of the condition."""
    kind, effect, cause = (
        float(chances[field][FIELDS[field].index(name)])
        for field, name in (("kind", "harm"), ("effect", "worse"), ("role", "cause"))
    )
    return min(1.0, max(kind * effect, cause))


_JOINED = ("role", "match", "kind", "comparator", "effect")
_VALUES = (*(FIELDS[name] for name in _JOINED), (False, True), (False, True))  # … hedged result, non-inferiority


@cache
def _mask_combinations() -> dict[Verdict, np.ndarray]:
    """Score masks by verdict, in the order of `product`: 0 if a combination leads to it, else -inf."""
    verdicts = np.array([derive_verdict(*cast(Combination, combination)) for combination in product(*_VALUES)])
    return {name: np.where(verdicts == name, np.float32(0), np.float32(-np.inf)) for name in get_args(Verdict)}


def find_consistent(verdict: Verdict, probabilities_of: Mapping[str, Floats]) -> Combination:
    """Find the most probable fields that lead to a verdict by the table, from the probabilities of each."""
    chances = [*(np.log(probabilities_of[name] + 1e-6) for name in _JOINED), np.array(_HEDGED), np.array(_NON_INFERIOR)]
    first, last = (reduce(np.add.outer, some).ravel() for some in (chances[:3], chances[3:]))  # long rows are fastest
    score = np.add.outer(first, last).ravel() + _mask_combinations()[verdict]
    places = np.unravel_index(score.argmax(), [len(values) for values in _VALUES])
    return cast(Combination, tuple(values[int(at)] for values, at in zip(_VALUES, places, strict=True)))


def _find_quoted(view: View, sentences: Mapping[int, Floats], verdict: Verdict) -> int | None:
    """Find the sentence that best carries the verdict, preferring those that name the drug; no aim, no background.

    The title is used only if there is nothing else.
    """
    if verdict == "none":
        return None
    column = SENTENCES.index(_CARRIES[verdict])
    zones = view.document.zones
    able = [at for at in sentences if zones[at] in "RCM"] or [at for at in sentences if zones[at] == "T"]
    return max(able, key=lambda at: _score_quote(view, at, sentences[at][column]) - (zones[at] == "M"), default=None)


def _find_in_figures(
    view: View, by_sentence: Mapping[int, Floats], verdict: Verdict, passages: Sequence[QuotedPassage]
) -> QuotedPassage | None:
    """Pick the result with figures that best carries the verdict, if the passages have no figures.

    Where none carries it, the only sentence of the record with an effect size, an interval or a p value is picked.
    """
    if not passages or any(list_figures(passage.text) for passage in passages):
        return None
    column = SENTENCES.index(_CARRIES[verdict])
    zones = view.document.zones
    able = [at for at in by_sentence if zones[at] == "R" and by_sentence[at][column] >= _TELLS_FIGURES]
    able.sort(key=lambda at: -_score_quote(view, at, by_sentence[at][column]))
    sentences = view.document.sentences
    carrying = [at for at in able if list_figures(sentences[at].text) and "harm" not in sentences[at].signs]
    if carrying:
        return _make_passage(view, carrying[0])
    estimates = [sentence for sentence in sentences if sentence.zone in "RMC" and tells_figures(sentence.text)]
    if len(estimates) != 1 or "harm" in estimates[0].signs:
        return None
    return _make_passage(view, estimates[0].order)


def _score_quote(view: View, at: int, chance: float) -> float:
    """Score a sentence as a quote: log chance of carrying the verdict, plus bonuses for what it names."""
    bonus = sum(more for sign, more in _NAMING.items() if sign in view.sentences[at])
    return float(np.log(chance + 1e-9)) + bonus


def _make_passage(view: View, at: int) -> QuotedPassage:
    sentence = view.document.sentences[at]
    section = "Title" if sentence.headed == "title" else "Abstract"
    return QuotedPassage(
        text=sentence.quote, section=section, start=sentence.start, end=sentence.start + len(sentence.quote)
    )


@cache
def load_weights() -> Weights:
    """Load the bundled weights once."""
    return Weights(files(__package__).joinpath("reader.npz").read_bytes())
