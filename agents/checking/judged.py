"""A judge's words through the checker: what the records that it cites do not bear out is left out of its view."""

from collections.abc import Collection, Iterator

from willowbark.tools.appraisal.judgement import JudgedDomain, JudgedDrug, JudgedReason, JudgeView

from ..asking.drafts import SentenceDraft

NOT_SHOWN = "for a reason that its records do not bear out"
"""In the place of why a drug is not for the people asked about: that it is said stands, its words do not."""
MOST_DRUGS = 12
LEFT_OUT = "its records do not bear it out"


def list_judged(view: JudgeView) -> list[SentenceDraft]:
    """List the judge's sentences that a report shows first, with the keys of what each rests on.

    Those are what decides, what contradicts, and on the first `MOST_DRUGS` drugs and those that it calls no option why;
    a sentence without a key rests on all that was read, and no passages can bear it out.
    """
    sentences = {text: keys for text, keys in _list_texts(view) if text and keys}
    return [SentenceDraft(text=text, keys=keys) for text, keys in sentences.items()]


def leave_out(view: JudgeView, texts: Collection[str]) -> JudgeView:
    """Return a view without some of its sentences, which are counted among those left out."""
    if not texts:
        return view
    drugs = [_blank_drug(drug, texts) for drug in view.drugs]
    return view.model_copy(
        update={
            "decides": _keep_standing(view.decides, texts),
            "contradicts": _keep_standing(view.contradicts, texts),
            "drugs": drugs,
            "dropped": [*view.dropped, *[LEFT_OUT] * len(texts)],
        }
    )


def _list_texts(view: JudgeView) -> Iterator[tuple[str, list[str]]]:
    for reason in (*view.decides, *view.contradicts):
        yield reason.text, reason.keys
    for drug in view.drugs:
        yield drug.not_for, drug.keys
    for drug in view.drugs[:MOST_DRUGS]:
        yield drug.reason, drug.keys
        for domain in drug.domains:
            yield domain.reason, domain.keys


def _keep_standing(reasons: list[JudgedReason], texts: Collection[str]) -> list[JudgedReason]:
    return [reason for reason in reasons if reason.text not in texts]


def _blank_drug(drug: JudgedDrug, texts: Collection[str]) -> JudgedDrug:
    reason = "" if drug.reason in texts else drug.reason
    not_for = NOT_SHOWN if drug.not_for in texts else drug.not_for
    domains = [_blank_domain(domain, texts) for domain in drug.domains]
    return drug.model_copy(update={"reason": reason, "not_for": not_for, "domains": domains})


def _blank_domain(domain: JudgedDomain, texts: Collection[str]) -> JudgedDomain:
    return domain.model_copy(update={"reason": ""}) if domain.reason in texts else domain
