"""Faults on purpose: whole runs and single calls against a server that misbehaves by plan, measured and judged.

`make faults` prints the table at full size, `make bench-soak` the long run; the tests run a small slice of each row.
Not part of the installed package.
"""
