"""Has a model tell which studies are on what is asked: one prompt for all that they studied, each topic once."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, Field

from willowbark.agents.autogen import CancellationToken, ChatCompletionClient, RequestUsage
from willowbark.tools.appraisal.views import Fitting, MatchedStudy
from willowbark.tools.records.enclosure import enclose_lines
from willowbark.tools.records.study import Study
from willowbark.tools.wording import counted

from .answers import ModelAnswer, ask, make_messages, read_prompt
from .drafts import Count, Draft, UpTo

MOST_TOPICS = 300  # of a prompt, whose answer then is within 8,192 tokens


class StudyTopic(BaseModel, frozen=True, extra="forbid"):
    """What a study was on: why, for what and in whom a drug was given."""

    aim: str
    condition: str
    """In the record's words; its title where the reader told none."""
    people: str

    @classmethod
    def of(cls, study: Study, title: str) -> "StudyTopic":
        """Return a study's topic."""
        return cls(aim=study.aim or "treat", condition=study.condition or title, people=study.people)

    @property
    def line(self) -> str:
        """The topic for a model, without what is not told."""
        people = f" | {self.people}" if self.people else ""
        return f"{self.aim} | {self.condition}{people}"

    @property
    def name(self) -> str:
        """By which its fit is kept."""
        return " | ".join((self.aim, self.condition, self.people)).casefold()


class TopicFit(BaseModel, frozen=True, extra="forbid"):
    """How a topic fits the question, by a model."""

    condition: Fitting
    people: Fitting


class FitDraft(Draft):
    """How one topic fits."""

    number: Count
    condition: Fitting
    people: Fitting


class FitsDraft(Draft):
    """A model's answer on all topics."""

    fits: Annotated[list[FitDraft], UpTo(MOST_TOPICS)]


class FitAnswer(BaseModel, extra="forbid"):
    """What came of asking how topics fit."""

    fits: dict[str, TopicFit] = {}
    """By the topics' names."""
    failures: list[str] = []
    """Why the model told nothing of some."""
    usage: RequestUsage = Field(default_factory=lambda: RequestUsage(prompt_tokens=0, completion_tokens=0))


async def ask_fits(
    client: ChatCompletionClient,
    question: str,
    topics: Iterable[StudyTopic],
    marker: str,
    cancellation_token: CancellationToken | None = None,
) -> FitAnswer:
    """Ask how topics fit a question; those of which the model tells nothing are left to their words.

    Args:
        client: the model.
        question: as it was asked.
        topics: each once.
        marker: marks the block of topics, which are words of records.
        cancellation_token: stops the request.
    """
    every = list(topics)
    numbered = every[:MOST_TOPICS]
    lines = [{str(number): topic.line} for number, topic in enumerate(numbered, 1)]
    prompt_text = f"Question: {' '.join(question.split())}\n{enclose_lines(lines, marker)}"
    messages = make_messages(read_prompt("fit.md"), prompt_text, source="judge")
    answer: ModelAnswer[FitsDraft] = await ask([client], messages, FitsDraft, cancellation_token)
    fits = FitAnswer(failures=answer.failures, usage=answer.usage)
    for row in answer.given.fits if answer.given is not None else ():
        if 1 <= row.number <= len(numbered):
            fits.fits[numbered[row.number - 1].name] = TopicFit(condition=row.condition, people=row.people)
    untold = len({topic.name for topic in every} - fits.fits.keys())
    if untold and not fits.failures:
        fits.failures.append(f"it left out {untold} of {counted(len(every), 'topic')}")
    return fits


def list_topics(
    studies: Sequence[MatchedStudy], titles: Mapping[str, str], fits_known: Mapping[str, TopicFit]
) -> list[StudyTopic]:
    """List the topics of studies of which nothing is known yet, each once, in the studies' order."""
    topics = {}
    for study in studies:
        topic = StudyTopic.of(study.study, titles.get(study.study.key, ""))
        if topic.name not in fits_known:
            topics[topic.name] = topic
    return list(topics.values())
