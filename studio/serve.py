"""AutoGen Studio on the loopback, closed to other web sites: it has no password, and can load any component.

python studio/serve.py PORT      (port 0 takes a free one)
"""

import os
import sys

os.environ.setdefault("AUTOGENSTUDIO_API_DOCS", "false")  # Studio reads its settings when it is imported

import uvicorn
from autogenstudio.web.app import app

from willowbark.teams.guard import Guarded, listen_at

with listen_at("127.0.0.1", int(sys.argv[1])) as listening:
    print(f"AutoGen Studio at http://127.0.0.1:{listening.getsockname()[1]} (Ctrl-C ends it)", flush=True)
    uvicorn.Server(uvicorn.Config(Guarded(app), log_config=None)).run([listening])
