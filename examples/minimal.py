"""Ask one question, print the report.

Without network: start `willowbark sandbox`, and set WILLOWBARK_SANDBOX_URL to the address it tells.
"""

import asyncio

from willowbark.teams import research

report = asyncio.run(research("Which existing drugs could prevent migraine attacks?"))
print(report.to_markdown())
