"""`python -m faults.matrix`: the fault matrix, measured and judged."""

import argparse
import json
import logging
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict

from . import (
    absent,
    bombs,
    firewall,
    killed,
    ledgers,
    limits,
    models,
    networks,
    quiet,
    refusing,
    scale,
    stopping,
    waiting,
)
from .verdict import Row

SIZES = {
    "F0": 1000,
    "F1": 1000,
    "F2": 500,
    "F3": 100,
    "F4": 50,
    "F5": 200,
    "F6": 100,
    "F7": 1,
    "F8": 200,
    "F9": 50,
    "F10": 100,
    "F12": 40,
    "F13": 12,
    "F14": 21,
    "F15": 12,
}
"""Runs of each row at full size; F3 counts them for each source. F11 is the soak."""
Job = Callable[[int, int, int], Row]

ROWS: dict[str, Job] = {
    "F0": lambda runs, seed, jobs: quiet.quiet_day(runs, seed),
    "F1": lambda runs, seed, jobs: networks.bad_days("F1", runs, seed, jobs),
    "F2": lambda runs, seed, jobs: networks.bad_days("F2", runs, seed, jobs),
    "F3": networks.one_dead,
    "F4": lambda runs, seed, jobs: absent.nobody_home(runs, seed),
    "F5": lambda runs, seed, jobs: waiting.asked_to_wait(runs, seed),
    "F6": lambda runs, seed, jobs: bombs.bombed(runs, seed),
    "F7": lambda runs, seed, jobs: limits.limited(1.0, seed),
    "F8": killed.killed,
    "F9": ledgers.crippled,
    "F10": lambda runs, seed, jobs: stopping.stopped(runs, seed),
    "F12": lambda runs, seed, jobs: ledgers.side_by_side(runs, seed),
    "F13": lambda runs, seed, jobs: scale.scaled(runs, seed),
    "F14": lambda runs, seed, jobs: models.hostile(runs, seed),
    "F15": lambda runs, seed, jobs: refusing.refused(runs, seed),
}


def main(arguments: list[str] | None = None) -> int:
    """Measure the rows asked for and print each as it is done; 1 where one falls short."""
    parser = argparse.ArgumentParser(prog="python -m faults.matrix", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="ROW", choices=ROWS, help=f"some of {', '.join(ROWS)}")
    parser.add_argument("--scale", type=float, default=1.0, metavar="X", help="share of the full size, such as 0.02")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes side by side")
    parser.add_argument("--json", action="store_true", help="one JSON object a row")
    asked = parser.parse_args(arguments)
    logging.getLogger().addHandler(logging.NullHandler())  # faults are told by the table, not by what logs them
    before, rows = time.perf_counter(), list[Row]()
    for name in asked.only or ROWS:
        if name == "F13" and not scale.has_ray():
            print("F13  not measured: Ray is an extra, willowbark[scale]", file=sys.stderr)
            continue
        if name == "F15" and not firewall.has_cryptography():
            print("F15  not measured: cryptography comes with what developing needs (make dev)", file=sys.stderr)
            continue
        rows.append(measured(name, asked.scale, asked.seed, asked.jobs))
        shown = json.dumps({**asdict(rows[-1]), "holds": rows[-1].holds}) if asked.json else str(rows[-1])
        print(shown, flush=True)
    if not asked.json:
        short = [row.name for row in rows if not row.holds]
        print(f"{time.perf_counter() - before:.0f} s; " + (f"falls short: {', '.join(short)}" if short else "all hold"))
    return int(not all(row.holds for row in rows))


def measured(name: str, scale: float = 1.0, seed: int = 1, jobs: int = 1) -> Row:
    """Measure one row.

    Args:
        name: of the row.
        scale: share of its full size; at least one run of each kind is done.
        seed: decides which request fails.
        jobs: processes side by side.
    """
    if name == "F7":
        return limits.limited(scale, seed)
    return ROWS[name](max(1, round(SIZES[name] * scale)), seed, jobs)


if __name__ == "__main__":
    sys.exit(main())
