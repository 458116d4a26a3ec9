#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording costs: the same training with and without a trace, in turn.

    recorder_overhead.py path/to/fourwalls-cli [--pairs 30] [--steps 4] [--model gpt-small] [--batch 8]

Each pair runs both, in an order that alternates, and compares the quickest step after the first of either run: on a
shared machine the quickest is the least disturbed. Prints the median of the ratios with its 95 % interval (order
statistics of the sign test, no assumption about the distribution), and the share that the recorder accounts for.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile


def run(cli, options, output):
    command = [cli, "record", "--json", *options] + (["-o", output] if output else ["--no-trace"])
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip().splitlines()[-1]}")
    return min(json.loads(done.stdout)["step_ms"][1:])


def median_interval(values):
    """The median and the order statistics that enclose it with at least 95 % confidence."""
    ordered, n = sorted(values), len(values)
    outside, k = 0.0, 0
    while k < n // 2:
        step = math.comb(n, k) / 2.0**n
        if outside + step > 0.025:
            break
        outside += step
        k += 1
    k = max(k - 1, 0)
    return statistics.median(ordered), ordered[k], ordered[n - 1 - k]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cli")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--model", default="gpt-small")
    parser.add_argument("--batch", type=int, default=8)
    arguments = parser.parse_args()
    options = ["--model", arguments.model, "--steps", str(arguments.steps), "--batch", str(arguments.batch)]
    ratios, accounted = [], None
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "run.fourwalls")
        for pair in range(arguments.pairs):
            times = {}
            for traced in (True, False) if pair % 2 else (False, True):
                times[traced] = run(arguments.cli, options, output if traced else None)
            ratios.append(times[True] / times[False])
            print(f"pair {pair + 1}: traced {times[True]:.1f} ms, untraced {times[False]:.1f} ms", file=sys.stderr)
        metrics = subprocess.run([arguments.cli, "metrics", output, "--json"], stdout=subprocess.PIPE, check=True)
        accounted = json.loads(metrics.stdout)["recorder_overhead_fraction"]
    middle, low, high = median_interval(ratios)
    print(f"measured overhead {100 * (middle - 1):+.2f} % (95 % interval {100 * (low - 1):+.2f} to "
          f"{100 * (high - 1):+.2f} %, {arguments.pairs} pairs), accounted {100 * accounted:.3f} %, target 1 %")


if __name__ == "__main__":
    main()
