#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is the plan that a search puts first the best one? Ten jobs, searched and trained.

    verify_plans.py path/to/fourwalls-cli [--verify 5] [--rounds 3] [--law] [--json OUT]

For each job a few plans are recorded on the device clock, `calibrate --from` learns rates from them, and `plan --verify`
searches with these and trains the best plans and some bad ones. What a kernel takes is the median of --rounds through the
plans, as in `plan --verify` itself, which measures all anew: single recordings of a busy machine are up to a third apart, and
plans are only comparable where their kernels were measured at the same time.
--law: kernels take what a law says of their FLOPs and bytes, whatever the machine does, so that what is left is the model's own.
No plan that is searched for was seen by the calibration unless it is one of the few.

Prints a line for each job: how much longer the plan predicted best takes than the best of those trained, the share of pairs
in the predicted order, the mean absolute error of the step, and the plans.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile

from engine_runs import ask, measured, take_by_law, write_medians

# (model, devices, batch, sequence, plans to learn from)
JOBS = [
    ("gpt-tiny", 2, 8, 64, ["", "dp=2 microbatches=2"]),
    ("gpt-tiny", 4, 8, 64, ["tp=2", "dp=4", "pp=2 microbatches=4"]),
    ("gpt-tiny", 4, 16, 128, ["tp=4", "dp=4 microbatches=2", "pp=4 microbatches=8"]),
    ("gpt-tiny", 8, 16, 64, ["tp=4 pp=2 microbatches=2", "dp=8", "pp=8 microbatches=8"]),
    ("llama-tiny", 2, 8, 64, ["tp=2", "pp=2 microbatches=4"]),
    ("llama-tiny", 4, 8, 128, ["tp=2", "dp=4", "dp=2 pp=2 microbatches=2"]),
    ("llama-tiny", 4, 32, 64, ["tp=2 microbatches=4", "dp=4 microbatches=2", "pp=4 microbatches=8"]),
    ("bert-tiny", 2, 16, 64, ["", "dp=2 microbatches=4"]),
    ("bert-tiny", 4, 16, 64, ["tp=4", "dp=4", "pp=2 microbatches=4"]),
    ("gpt-tiny", 2, 32, 128, ["tp=2 microbatches=2", "dp=2 microbatches=4", "pp=2 microbatches=8"]),
]


def verify(cli, job, options, folder):
    model, devices, batch, sequence, plans = job
    what = ["--model", model, "--batch", str(batch), "--seq", str(sequence)]
    table, learned = os.path.join(folder, "kernels.json"), os.path.join(folder, "learned.json")
    traces = []
    write_medians(table, [measured(cli, [*what, "--plan", plan], os.path.join(folder, "once.json"))
                          for _ in range(1 if options.law else options.rounds) for plan in plans])
    if options.law:
        take_by_law(table)
    for number, plan in enumerate(plans):
        traces.append(os.path.join(folder, f"{number}.fourwalls"))
        ask(cli, "record", "-o", traces[-1], *what, "--plan", plan, "--clock", "device", "--steps", "5",
            "--kernel-times", table)
    ask(cli, "calibrate", "--from", *traces, "-o", learned)
    search = ["plan", *what, "--gpus", str(devices), "--cluster", learned, "--precision", "f32", "--verify",
              str(options.verify)]
    if options.law:
        ask(cli, *search, "--kernel-times", table)  # finds their kernels
        take_by_law(table)
        search += ["--kernel-times", table]
    return ask(cli, *search)["verified"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cli")
    parser.add_argument("--verify", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--law", action="store_true")
    parser.add_argument("--jobs", default="", help="their numbers from 0, with commas between; all without it")
    parser.add_argument("--json")
    options = parser.parse_args()
    results = []
    for job in [JOBS[int(number)] for number in options.jobs.split(",")] if options.jobs else JOBS:
        with tempfile.TemporaryDirectory() as folder:
            verified = verify(options.cli, job, options, folder)
        error = statistics.mean(abs(plan["error_pct"]) for plan in verified["plans"])
        print(f"{job[0]:<12}{job[1]} devices, batch {job[2]:<3} {verified['regret_pct']:5.1f} % behind the best, "
              f"{verified['pairs_in_order_pct']:3.0f} % of pairs in order, error {error:4.1f} %, rounds "
              f"{verified['rounds_apart_pct']:.0f} % apart", flush=True)
        for plan in verified["plans"]:
            print(f"    {plan['predicted_ms']:8.2f} {plan['recorded_ms']:8.2f} ms  {plan['plan'] or 'one device'}")
        results.append({"job": job, "verified": verified, "error_pct": error})
    regrets = [result["verified"]["regret_pct"] for result in results]
    print(f"{len(results)} jobs: {statistics.mean(regrets):.1f} % behind the best in the mean, {max(regrets):.1f} % at most, "
          f"error {statistics.mean(result['error_pct'] for result in results):.1f} %")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
