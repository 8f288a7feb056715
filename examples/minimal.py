"""Ask one question, print the report.

Without network: set WILLOWBARK_LIBRARY__PATH to `bundled`.
"""

import sys
from contextlib import suppress

from willowbark import WillowbarkError, ask

with suppress(KeyboardInterrupt):  # Ctrl-C ends it without a traceback
    try:
        print(ask("Which existing drugs could prevent migraine attacks?").to_markdown())
    except WillowbarkError as problem:  # no network, say: one line says what to do
        sys.exit(str(problem))
