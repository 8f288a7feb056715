"""HTTP access to the sources: the one way out of a run.

`Transport` sends all requests, with retries (`attempts`), limits and deadlines, through one of several clients
(`wires`; `ladder` remembers which one a source lets through), and gives replies (`reply`) whose parsers refuse what is
not whole.
"""
