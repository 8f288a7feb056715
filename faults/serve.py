"""`python -m faults.serve PLAN.json`: the sandbox, failing by a plan; further options are the sandbox's own."""

import sys
from functools import partial
from pathlib import Path

from willowbark.tools.sandbox.__main__ import main

from .breakage import FaultySandbox
from .plan import FaultPlan

if __name__ == "__main__":
    plan = FaultPlan.model_validate_json(Path(sys.argv[1]).read_bytes())
    sys.exit(main(sys.argv[2:], partial(FaultySandbox, faults=plan)))
