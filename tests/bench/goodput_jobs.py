#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs that really fail, one for each seed, and what the model of failures says of them.

Usage: goodput_jobs.py FOURWALLS-CLI [JOBS] [record's options …]

Three predictions for each: what `goodput FILE` expects of so many failures at any moment, with its band; what it says of the
moments at which they came; and that with the costs of a step, checkpoint and recovery that the other jobs had, so that nothing
of its time is the job's own.
"""
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

OPTIONS = ["--plan", "dp=2", "--seq", "64", "--steps", "100", "--checkpoint-every", "10", "--mtbf", "25"]


def job(cli, folder, seed, options):
    trace = folder / "job.fourwalls"
    subprocess.run([cli, "record", "-o", trace, *options, "--restarts", "100", "--seed", str(seed), "--checkpoint-dir",
                    folder / f"states{seed}"], check=True, capture_output=True)
    told = json.loads(subprocess.run([cli, "goodput", trace, "--json"], check=True, capture_output=True).stdout)
    return {"seed": seed, **told}


def costs(jobs):
    """Seconds of a step, a checkpoint and a recovery, the median of all jobs'."""
    of = [each["predicted"] for each in jobs]
    return {"checkpoint": statistics.median(each["checkpoint_seconds"] for each in of),
            "recovery": statistics.median(each["restart_seconds"] for each in of),
            "step": statistics.median(each["recorded"]["median_step_ms"] / 1e3 for each in jobs),
            "work": statistics.median(1 + each["recorded"]["lost_seconds"]["slow_steps"] / each["recorded"]["training_seconds"]
                                      for each in jobs)}


def from_others(one, others):
    own, cost = one["recorded"], costs(others)
    trained = own["steps"] * cost["step"]
    whole = ((own["steps"] + own["lost_steps"] + 0.5 * own["failures"]) * cost["step"] * cost["work"]
             + own["steps"] / own["steps_between_checkpoints"] * cost["checkpoint"] + own["failures"] * cost["recovery"])
    return trained / whole


def main():
    cli = str(Path(sys.argv[1]).resolve())
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    options = sys.argv[3:] or OPTIONS
    jobs = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, count + 1):
            jobs.append(job(cli, Path(folder), seed, options))
            print(f"seed {seed}: {jobs[-1]['recorded']['failures']} failures, goodput "
                  f"{100 * jobs[-1]['recorded']['goodput']:.1f} %", file=sys.stderr)
    failed = [each for each in jobs if each["predicted"]]
    print("| seed | failures | recorded % | predicted % | band % | where they came % | from the other jobs % | no name % |")
    print("|---|---|---|---|---|---|---|---|")
    distances = {"expected": [], "moments": [], "others": []}
    inside = 0
    for one in failed:
        own, model = one["recorded"], one["predicted"]
        other = from_others(one, [each for each in failed if each is not one])
        for key, value in (("expected", model["goodput"]), ("moments", model["at_its_failures"]), ("others", other)):
            distances[key].append(100 * (value - own["goodput"]))
        inside += model["low"] <= own["goodput"] <= model["high"]
        unnamed = 100 * own["lost_seconds"]["other"] / own["wasted_seconds"]
        print(f"| {one['seed']} | {own['failures']} | {100 * own['goodput']:.1f} | {100 * model['goodput']:.1f} | "
              f"{100 * model['low']:.1f} to {100 * model['high']:.1f} | {100 * model['at_its_failures']:.1f} | "
              f"{100 * other:.1f} | {unnamed:.3f} |")
    print(f"\n{inside} of {len(failed)} inside the band")
    for key, values in distances.items():
        far = [abs(value) for value in values]
        print(f"{key}: mean {statistics.mean(values):+.2f} points, mean distance {statistics.mean(far):.2f}, largest "
              f"{max(far):.2f}, within 3 points {sum(value <= 3 for value in far)} of {len(far)}")


if __name__ == "__main__":
    main()
