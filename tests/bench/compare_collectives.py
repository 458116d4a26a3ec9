#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The all-reduce between rank threads against Gloo's and an MPI library's, in turns on the same machine: 1 KB, 16 KB, 256 KB,
4 MB and 64 MB, 2 and 4 ranks.

    compare_collectives.py BUILD/bin/bench_collectives [--rounds 3] [--megabytes 64]

Every round runs ours and Gloo's (size by size, in one program) and MPI's, which of the two first alternates. Prints the
median over the rounds of each one's median time in microseconds: ours by the quickest of direct, ring and tree, and how many
times as long Gloo and MPI take. MPI needs mpicc and mpirun; its ranks are processes with shared memory. About 15 s a round on
two quiet cores."""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RANKS = (2, 4)


def output(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def rows(text, columns):
    """The lines of a table of bytes, ranks and `columns` times."""
    pattern = re.compile(r"^ *(\d+) +(\d+)" + r" +([\d.]+|-)" * columns, re.MULTILINE)
    return [(int(m[1]), int(m[2]), [None if t == "-" else float(t) for t in m.groups()[2:]]) for m in pattern.finditer(text)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", default="64", help="the largest size")
    arguments = parser.parse_args()
    times = {}  # by bytes, ranks and name

    def note(size, ranks, name, time):
        if time is not None:
            times.setdefault((size, ranks), {}).setdefault(name, []).append(time)

    with tempfile.TemporaryDirectory() as folder:
        mpi = None
        if shutil.which("mpicc") and shutil.which("mpirun"):
            mpi = os.path.join(folder, "collectives_mpi")
            output(["mpicc", "-O2", os.path.join(HERE, "collectives_mpi.c"), "-o", mpi])
        else:
            print("without MPI: mpicc or mpirun is missing", file=sys.stderr)

        def ours():
            for size, ranks, (direct, ring, tree, gloo) in rows(output([arguments.bench, arguments.megabytes, "threads"]), 4):
                note(size, ranks, "direct", direct)
                note(size, ranks, "ring", ring)
                note(size, ranks, "tree", tree)
                note(size, ranks, "gloo", gloo)

        def theirs():
            for ranks in RANKS:
                command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), mpi, arguments.megabytes]
                for size, members, (time,) in rows(output(command), 1):
                    note(size, members, "mpi", time)

        for i in range(arguments.rounds):
            both = [ours] + ([theirs] if mpi else [])
            for measure in both if i % 2 == 0 else both[::-1]:
                measure()
            print(f"round {i + 1} of {arguments.rounds}", file=sys.stderr)

    print(f"{'bytes':>10} {'ranks':>5} {'ours':>10} {'by':>7} {'Gloo':>10} {'ratio':>7} {'MPI':>10} {'ratio':>7}")
    for (size, ranks), names in sorted(times.items(), key=lambda item: (item[0][1], item[0][0])):
        medians = {name: statistics.median(values) for name, values in names.items()}
        by = min(("direct", "ring", "tree"), key=lambda name: medians[name])
        line = f"{size:10d} {ranks:5d} {medians[by]:10.1f} {by:>7}"
        for other in ("gloo", "mpi"):
            if other in medians:
                line += f" {medians[other]:10.1f} {medians[other] / medians[by]:7.2f}"
            else:
                line += f" {'-':>10} {'-':>7}"
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
