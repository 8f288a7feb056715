"""Ask one question, print the report.

Without network: start `willowbark sandbox`, and set WILLOWBARK_SANDBOX_URL to the address it tells.
"""

from contextlib import suppress

from willowbark import ask

with suppress(KeyboardInterrupt):  # Ctrl-C ends it without a traceback
    print(ask("Which existing drugs could prevent migraine attacks?").to_markdown())
