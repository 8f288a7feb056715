"""`python -m faults.serve`: recorded replies on loopback in the sources' place, failing by a plan or not."""

import argparse
import sys
import threading
from contextlib import suppress
from pathlib import Path

from .breakage import FaultyServer
from .plan import FaultPlan
from .server import typical_s


def main(arguments: list[str] | None = None) -> int:
    """Print the server's address and serve; give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m faults.serve", description=__doc__)
    parser.add_argument("plan", type=Path, nargs="?", help="what goes wrong: a `faults.plan.FaultPlan` in JSON")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--latency-ms", type=float, default=0.0, metavar="N", help="milliseconds before each answer")
    parser.add_argument("--live-like", action="store_true", help="answer as slowly as the public sources do")
    asked = parser.parse_args(arguments)
    plan = FaultPlan.model_validate_json(asked.plan.read_bytes()) if asked.plan else None
    latency_s = typical_s if asked.live_like else asked.latency_ms / 1000
    with suppress(KeyboardInterrupt), FaultyServer(plan, latency_s, port=asked.port) as server:
        print(server.url, flush=True)
        threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
