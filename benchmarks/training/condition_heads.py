"""Learns which part a condition plays in a record, from the encoder's states of it and from where it is named."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from benchmarks.training.cases import Source, find_part, list_condition_roles
from benchmarks.training.thresholds import ROLE_RIGHT, find_least
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from willowbark.tools.reading.condition_roles import build_role_row, list_flags
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.fields import CONDITION_ROLES
from willowbark.tools.reading.learned import ROLE, THRESHOLD
from willowbark.tools.reading.view import View

STRENGTHS = (0.0003, 0.001, 0.003, 0.01)
"""Of the regression: the smaller, the simpler; chosen on development records."""
STEPS = 600
Learnt = dict[str, Any]
"""Arrays by name, as `reader.npz` holds them."""
_TARGETS = 2  # the first of `CONDITION_ROLES`


class RoleCase(NamedTuple):
    """A condition in a record, read with a drug of the record, with its role."""

    pmid: str
    drug: str
    condition: str
    role: str
    part: str


def list_role_cases(sources: Mapping[str, Source]) -> list[RoleCase]:
    """List the conditions whose role a reader told."""
    cases = []
    for pmid, source in sorted(sources.items()):
        if source.study is None and not source.roles:
            continue
        document = Document.cut(source.title, source.text, source.types)
        drug = find_main_drug(source, document)
        for condition, role in list_condition_roles(source, document).items():
            cases.append(RoleCase(pmid, drug, condition, role, find_part(source)))
    return cases


def find_main_drug(source: Source, document: Document) -> str:
    """Return the first drug that a label calls tested, else the first that the record names; empty if none."""
    tested = [ask.drug for ask in source.asks if ask.values.get("role") == "tested"]
    names = [name for name, _, _ in document.drugs]
    return next(iter(tested or names), "")


def learn_condition_roles(sources: Mapping[str, Source], find_rows: Callable[[Sequence[RoleCase]], Any]) -> Learnt:
    """Learn the head for roles of conditions, and from where on they are told; print what it is worth.

    `find_rows` gives the rows of cases (`learned.Weights.row`).
    """
    cases = list_role_cases(sources)
    rows = np.array(
        [
            build_role_row(row, list_flags(_make_view(sources[case.pmid], case)))
            for row, case in zip(find_rows(cases), cases, strict=True)
        ]
    )
    truth = np.array([CONDITION_ROLES.index(case.role) for case in cases])
    parts = np.array([case.part for case in cases])
    learnt = parts == "training"
    chosen = parts == "development"
    models = [_fit(rows[learnt], truth[learnt], strength) for strength in STRENGTHS]
    losses = [_count_loss(model, rows[chosen], truth[chosen]) for model in models]
    best = int(np.argmin(losses))
    chances = _tell(models[best], rows)
    hits = chances.argmax(1) == truth
    least = find_least(chances.max(1)[chosen], hits[chosen], ROLE_RIGHT)
    for part in ("development", "closing"):
        _print_report(part, chances[parts == part], truth[parts == part], least)
    weights, bias = _fit(rows[parts != "closing"], truth[parts != "closing"], STRENGTHS[best])
    return {"condition": weights, "condition.bias": bias, f"{THRESHOLD}{ROLE}": np.array(least, np.float32)}


def _make_view(source: Source, case: RoleCase) -> View:
    return View(Document.cut(source.title, source.text, source.types), case.drug, case.condition)


Linear = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Weights and bias."""


def _fit(rows: Any, truth: Any, strength: float) -> Linear:
    scaler = StandardScaler().fit(rows)
    model = LogisticRegression(C=strength, max_iter=STEPS).fit(scaler.transform(rows), truth)
    weights = np.zeros((rows.shape[1], len(CONDITION_ROLES)), np.float32)
    bias = np.full(len(CONDITION_ROLES), -20, np.float32)
    weights[:, model.classes_] = (model.coef_ / scaler.scale_).T
    bias[model.classes_] = model.intercept_ - model.coef_ @ (scaler.mean_ / scaler.scale_)
    return weights, bias


def _tell(model: Linear, rows: Any) -> Any:
    scores = rows @ model[0] + model[1]
    chances = np.exp(scores - scores.max(1, keepdims=True))
    return chances / chances.sum(1, keepdims=True)


def _count_loss(model: Linear, rows: Any, truth: Any) -> float:
    return float(-np.log(_tell(model, rows)[np.arange(len(truth)), truth] + 1e-9).mean())


def _print_report(part: str, chances: Any, truth: Any, least: float) -> None:
    """Print how many roles are right, of all and of those told, and how well the target is told from the rest."""
    chosen = chances.argmax(1)
    is_certain = chances.max(1) >= least
    target = chances[:, :_TARGETS].sum(1) > 0.5
    true = truth < _TARGETS
    print(
        f"{part}, role of a condition: {len(truth)}, right {100 * (chosen == truth).mean():.1f}; "
        f"told from {least:.2f} {is_certain.sum()}, right {100 * (chosen == truth)[is_certain].mean():.1f}; "
        f"target or not {100 * (target == true).mean():.1f} "
        f"(P/R {100 * true[target].mean():.0f}/{100 * target[true].mean():.0f})"
    )
    for at, role in enumerate(CONDITION_ROLES):
        precision = (truth[chosen == at] == at).mean() if (chosen == at).any() else 0.0
        print(f"    {role} {100 * precision:.0f}/{100 * (chosen[truth == at] == at).mean():.0f}")
