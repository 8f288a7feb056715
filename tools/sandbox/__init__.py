"""The sources' own protocols on loopback, over a bundled library.

`SandboxServer` is a real HTTP server: the tools ask it as they ask the public sources, with other base URLs and nothing
else changed. It serves the offline demo, the tests (with a `FaultPlan`) and the benchmarks (with latency).

    python -m willowbark.tools.sandbox --port 8123
"""

from .faults import Fault, FaultPlan
from .library import Library
from .server import SandboxServer, SeenRequest

__all__ = ["Fault", "FaultPlan", "Library", "SandboxServer", "SeenRequest"]
