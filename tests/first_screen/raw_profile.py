#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Facts of raw profiles, from the files alone: no code of the program has a say.

    raw_profile.py FILE...       files of one run together; prints the facts as JSON
"""
import json
import os
import statistics
import sys

import intervals
import raw_chrome
import raw_model
import raw_nsight
import raw_run
import raw_snapshot
from raw_model import COMMUNICATION, COPY


def kind_of(path):
    with open(path, "rb") as file:
        head = file.read(64)
    if head.startswith(b"SQLite format 3"):
        return "sqlite"
    if path.endswith((".pickle", ".pkl")) or head[:1] == b"\x80":
        return "snapshot"
    if path.endswith((".xplane.pb", ".pb")):
        return "xplane"
    return "json"


def ranks_of(path):
    """The ranks of one file. ValueError: a format that is not read here."""
    kind = kind_of(path)
    if kind == "sqlite":
        return raw_nsight.read(path)
    if kind == "snapshot":
        return raw_snapshot.read(path)
    if kind == "json":
        return [raw_chrome.read(path)]
    raise ValueError("XSpace files are not read by this checker")


def run_of(paths):
    """A raw_run.Run of the files of one run, ranks in order."""
    ranks = [rank for path in paths for rank in ranks_of(path)]
    if all(rank.rank is not None for rank in ranks):
        ranks.sort(key=lambda rank: rank.rank)
    return raw_run.Run(ranks)


def ms(ns):
    return None if ns is None else round(ns / 1e6, 6)


def rank_facts(rank, steps):
    copies = [w for w in rank.work if w.kind == COPY]
    known = [p for p in rank.products if p[2]]
    communication = [w for w in rank.work if w.kind == COMMUNICATION]
    operations = {}
    for request in rank.requests:
        operations[request[2]] = operations.get(request[2], 0) + 1
    return {
        "file": os.path.basename(rank.path),
        "kind": rank.kind,
        "rank": rank.rank,
        "world": rank.world,
        "device": rank.device,
        "device_bytes": rank.device_bytes,
        "slices": rank.slices,
        "cut": rank.cut,
        "steps": [{"name": s.name, "ms": ms(s.length()), "mark_ms": ms(s.mark[1] - s.mark[0]), "state": s.state} for s in steps],
        "kernels": len(rank.work) - len(copies),
        "communication_kernels": len(communication),
        "communication_ms": ms(intervals.length(intervals.union((w.begin, w.end) for w in communication))),
        "requests": operations,
        "copies": len(copies),
        "copied_bytes": sum(w.bytes for w in copies if w.bytes) or None,
        "products": len(rank.products),
        "products_with_shapes": len(known),
        "flops": sum(p[2] for p in known) or None,
        "backward": rank.has.get("backward", False),
        "optimizer": rank.has.get("optimizer", False),
        "allocator_events": rank.allocator_events,
        "allocated_peak": rank.allocated_peak,
        "allocated_rise": rank.allocated_rise,
        "memory": rank.memory or None,
    }


def facts(run):
    windows = [
        {"what": what, "ms": ms(end - begin), "shares": raw_model.mean_shares(run.ranks, begin, end) if any(r.work for r in run.ranks) else None}
        for what, begin, end in run.windows()
    ]
    waiting = run.waiting()
    if waiting:
        waiting = {
            "operations": waiting["operations"],
            "waiting_ms": [ms(v) for v in waiting["waiting"]],
            "transfer_ms": [ms(v) for v in waiting["transfer"]],
            "last_to_arrive": dict(waiting["last"]),
        }
    measured = [s.length() for s in run.job_steps() if s.state == "measured"]
    return {
        "ranks": [rank_facts(rank, run.steps[id(rank)]) for rank in run.ranks],
        "world": run.world(),
        "step_ms": ms(statistics.median_low(measured)) if measured else None,
        "windows": windows,
        "waiting": waiting,
    }


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print(json.dumps(facts(run_of(sys.argv[1:])), indent=1, default=str))


if __name__ == "__main__":
    main()
