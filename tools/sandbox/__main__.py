"""`python -m willowbark.tools.sandbox`: serve the library until Ctrl-C."""

import argparse
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from willowbark.tools.errors import UsageError

from .library import Library
from .server import SandboxServer, typical_s


def main(arguments: list[str] | None = None, serving: Callable[..., SandboxServer] = SandboxServer) -> int:
    """Print the server's address and serve; give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m willowbark.tools.sandbox", description=__doc__)
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--latency-ms", type=float, default=0.0, metavar="N", help="milliseconds before each answer")
    parser.add_argument("--live-like", action="store_true", help="answer as slowly as the public sources do")
    parser.add_argument("--library", type=Path, metavar="DIR", help="records to serve; the bundled ones by default")
    asked = parser.parse_args(arguments)
    try:
        latency_s = typical_s if asked.live_like else asked.latency_ms / 1000
        server = serving(Library.load(asked.library), latency_s=latency_s, port=asked.port)
        with suppress(KeyboardInterrupt), server:
            print(server.url, flush=True)
            threading.Event().wait()
    except UsageError as error:
        parser.error(str(error))
    except OSError as error:
        parser.error(f"port {asked.port} can't be had ({error.strerror})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
