#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peak memory of importing large files, and whether it grows with them: a memory snapshot, an Nsight Systems export and
a Kineto trace are generated at a quarter, at half and at the whole of their size and imported one after the other.

Usage: import_memory.py PATH-OF-fourwalls-cli [--folder FOLDER] [--only snapshot|nsight|kineto] [--scale 1.0] [--shares 0.25 0.5 1]
At scale 1: a snapshot of 1.03 GB, an export of 2.46 GB, a trace of 3 GB. The folder needs twice the largest file's room.
"""
import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = {
    "snapshot": ("generate_snapshot.py", "--entries", 11_400_000, ".pickle"),
    "nsight": ("generate_nsight.py", "--kernels", 13_500_000, ".sqlite"),
    "kineto": ("generate_kineto.py", "--events", 12_200_000, ".json"),
}


def measured(command):
    """Peak resident memory [MB] and processor time [s] of a program that succeeds."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} returned {process.returncode}")
    return usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--folder")
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.25, 0.5, 1])
    arguments = parser.parse_args()
    print(f"{'kind':10} {'file [MB]':>10} {'peak of import [MB]':>20} {'of facts [MB]':>14} {'import, processor time [s]':>27}")
    for kind, (generator, option, whole, ending) in KINDS.items():
        if arguments.only not in (None, kind):
            continue
        for share in arguments.shares:
            with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
                profile, trace = os.path.join(folder, "profile" + ending), os.path.join(folder, "trace.fourwalls")
                count = max(1000, int(whole * share * arguments.scale))
                subprocess.run([sys.executable, os.path.join(HERE, generator), option, str(count), "-o", profile], check=True)
                size = os.path.getsize(profile) / 1e6
                peak, seconds = measured([arguments.program, "import", profile, "-o", trace])
                facts, _ = measured([arguments.program, "facts", profile])
                print(f"{kind:10} {size:10.0f} {peak:20.0f} {facts:14.0f} {seconds:27.1f}", flush=True)


main()
