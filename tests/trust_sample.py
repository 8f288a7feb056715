"""What the recorded replies hold that Crossref, OpenAlex and bioRxiv have something to say of; synthetic but for two.

The retracted article of 1998 and its notices, and the preprint that bioRxiv's own documentation gives as its example,
are real identifiers; their titles in the replies are not the records' own.
"""

from typing import Any

from faults.server import SourceServer

from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.http.endpoints import Endpoints, RateLimiter
from willowbark.tools.http.transport import ExchangeLog, Transport

RETRACTED_DOI = "10.1016/s0140-6736(97)11096-0"
RETRACTED_PMID = "9500320"
CLEAN_DOI = "10.5555/synthetic.clean"
SILENT_DOI = "10.5555/synthetic.silent"
PREPRINT_DOI = "10.1101/2021.04.29.21256344"
PUBLISHED_DOI = "10.1371/journal.pone.0256482"


def transport(server: SourceServer, **more: Any) -> Transport:
    """The way to a server, quick to give up."""
    policy = RetryPolicy(attempts=2, first_wait_s=0.001, longest_wait_s=0.002, attempt_timeout_s=60, deadline_s=120)
    given = {"policy": policy, "recorder": ExchangeLog(), "limiter": RateLimiter(None), **more}
    return Transport(Endpoints.at(server.url), **given)
