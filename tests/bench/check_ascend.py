#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds imports of Ascend profiles against the profiler's own breakdown of a step.

    check_ascend.py FOURWALLS-CLI FOLDER…     each with a step_trace_time.csv beside the profile, or with a database

Of every step of the table (of a database: of its OVERLAP_ANALYSIS): computing, communication (not overlapped and overlapped) and free, worked out from the slices of
the imported trace. Free is what is left between the first and the last work of the step, as the profiler defines it. Exit
code 1 if a figure is off by more than 0.5 %."""
import csv
import os
import sqlite3
import subprocess
import sys
import tempfile

TOLERANCE = 0.005
COLUMNS = ["Computing", "Communication(Not Overlapped)", "Overlapped", "Free"]


def joined(intervals):
    out = []
    for begin, end in sorted(intervals):
        if out and begin <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([begin, end])
    return out


def length(intervals):
    return sum(end - begin for begin, end in joined(intervals))


def breakdown(trace, step):
    database = sqlite3.connect(trace)
    begin, end = database.execute("SELECT start, end FROM step WHERE step = ?", (step,)).fetchone()
    rows = database.execute(
        "SELECT op.activity, slice.start, slice.start + slice.dur FROM slice JOIN op ON op.id = slice.op"
        " WHERE op.activity IN (1, 2)").fetchall()
    work = {1: [], 2: []}
    for activity, start, stop in rows:
        if stop > begin and start < end:
            work[activity].append((max(start, begin), min(stop, end)))
    computing, communication, both = length(work[1]), length(work[2]), length(work[1] + work[2])
    everything = joined(work[1] + work[2])
    return [computing, both - computing, computing + communication - both, everything[-1][1] - everything[0][0] - both]


def of_table(path):
    """(step, wanted figures [us]) of each step."""
    for row in csv.DictReader(open(path, newline="", encoding="utf-8")):
        yield int(row["Step"]), [float(row[name]) for name in COLUMNS]


def of_database(path):
    database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    for step, begin, end in database.execute("SELECT id, startNs, endNs FROM STEP_TIME").fetchall():
        sums = dict(database.execute(
            "SELECT type, sum(endNs - startNs) / 1000.0 FROM OVERLAP_ANALYSIS WHERE startNs >= ? AND endNs <= ? GROUP BY type",
            (begin, end)))
        yield step, [sums[0], sums[2], sums[1] - sums[2], sums[3]]


def check(cli, folder):
    files = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
    table = next((path for path in files if path.endswith("step_trace_time.csv")), None)
    profile = os.path.join(os.path.dirname(table), "trace_view.json") if table else \
        next(path for path in files if path.endswith(".db"))
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        trace = os.path.join(scratch, "a.fourwalls")
        subprocess.run([cli, "import", profile, "-o", trace], check=True, stdout=subprocess.DEVNULL)
        for step, figures in of_table(table) if table else of_database(profile):
            for name, found, wanted in zip(COLUMNS, breakdown(trace, step), figures):
                off = abs(found / 1000 - wanted) / wanted if wanted else 0
                wrong += off > TOLERANCE
                print(f"{folder} step {step} {name}: {found / 1000:.3f} us, wanted {wanted:.3f} us, {100 * off:.3f} %")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if sum(check(sys.argv[1], folder) for folder in sys.argv[2:]) else 0)
