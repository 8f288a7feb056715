"""The sources' own protocols on loopback, over a bundled library.

`server.SandboxServer` is a real HTTP server: the tools ask it as they ask the public sources, with other base URLs and
nothing else changed. It serves the offline demo, the tests and the benchmarks (with latency).

    python -m willowbark.tools.sandbox --port 8123
"""
