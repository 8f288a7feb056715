"""A sample of the replies that a run read, kept to be held against what each source is known to send."""

from typing import NamedTuple

from .reply import Reply

MOST_REPLIES = 3  # of each kind of request: enough to see a field that the source renamed
MOST_BYTES = 2 << 20  # of one reply; larger ones are not kept


class SampledReply(NamedTuple):
    """A reply, with what was asked: the path of the address, and what was sent."""

    source: str
    request: str
    reply: Reply


class ReplySample:
    """Keeps a few replies of each kind: those whose requests have the smallest hashes, whatever their order.

    A run that is resumed or replayed so keeps the same ones, in whatever order its replies come.
    """

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, str], dict[str, SampledReply]] = {}

    def note(self, request: str, hashed: str, reply: Reply) -> None:
        """Keep a reply that was read, if there is room among those of its kind."""
        if len(reply.body) > MOST_BYTES:
            return
        kind = self._kinds.setdefault((reply.source, _find_kind(request)), {})
        kind[hashed] = SampledReply(reply.source, request, reply)
        if len(kind) > MOST_REPLIES:
            del kind[max(kind)]

    def by_source(self) -> dict[str, list[SampledReply]]:
        """Return the replies by source, in alphabetical order, then in the order of their requests' hashes."""
        sampled = dict[str, list[SampledReply]]()
        for (source, _), kind in sorted(self._kinds.items()):
            sampled.setdefault(source, []).extend(kind[hashed] for hashed in sorted(kind))
        return sampled


def _find_kind(request: str) -> str:
    """Tell requests of one kind: by their path, without what is asked for in it, and the name of a GraphQL query."""
    path, _, sent = request.partition(" ")
    steps = [step for step in path.split("/") if not any(map(str.isdigit, step))]
    name = sent.partition("query ")[2].partition("(")[0] if "query " in sent else ""
    return f"{'/'.join(steps[-2:])} {name}"
