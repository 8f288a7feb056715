"""Ask one question, print the report.

Without network: set WILLOWBARK_LIBRARY__PATH to `bundled`.
"""

from contextlib import suppress

from willowbark import ask

with suppress(KeyboardInterrupt):  # Ctrl-C ends it without a traceback
    print(ask("Which existing drugs could prevent migraine attacks?").to_markdown())
