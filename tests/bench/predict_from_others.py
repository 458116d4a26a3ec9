#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every plan predicted from recordings of other plans of the same network, on a machine whose kernels do not change.

    predict_from_others.py path/to/fourwalls-cli [--law] [--rounds 3] [--from 2] [--seed 1] [--only WORDS] [--json OUT]

The plans are those of predict_against_engine.py on the device clock. What kernels take is measured in --rounds through all
plans of a network, and the median of each counts for all of them alike; with --law it is what a law says of their FLOPs and
bytes, and no machine is in it. Each plan is recorded with that table. Then, for each plan, `calibrate --from` learns from
--from recordings of other plans, drawn by --seed, and `predict` says the step, which is held against the recording.

Prints a line for each plan and what was learned from, then means and largest of the absolute errors.
"""
import argparse
import json
import os
import random
import statistics
import sys
import tempfile

from engine_runs import ask, measured, take_by_law, write_medians
from predict_against_engine import DEVICE, describe, options, peaks


def record_all(cli, cases, arguments, folder):
    """Trace, step [ms] and peaks [bytes] by case."""
    table, once, recorded = os.path.join(folder, "kernels.json"), os.path.join(folder, "once.json"), {}
    rounds = 1 if arguments.law else arguments.rounds
    write_medians(table, [measured(cli, options(case), once) for _ in range(rounds) for case in cases])
    if arguments.law:
        take_by_law(table)
    for number, case in enumerate(cases):
        trace = os.path.join(folder, f"{number}.fourwalls")
        ask(cli, "record", "-o", trace, *options(case), "--clock", "device", "--steps", "5", "--kernel-times", table)
        said = ask(cli, "metrics", trace)
        recorded[case] = trace, said["step_time_ms"], peaks(said)
    return recorded


def predict(cli, case, known, recorded, folder):
    """The row of one plan, predicted from the recordings of the plans `known`."""
    learned = os.path.join(folder, "learned.json")
    ask(cli, "calibrate", "--from", *(recorded[each][0] for each in known), "-o", learned)
    said = ask(cli, "predict", *options(case), "--cluster", learned, "--precision", "f32")
    _, took, peak = recorded[case]
    return {"case": describe(case), "from": [describe(each) for each in known], "recorded_ms": took,
            "predicted_ms": said["step_time_ms"], "error_pct": 100 * (said["step_time_ms"] / took - 1),
            "memory_pct": 100 * (max(peaks(said)) / max(peak) - 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cli")
    parser.add_argument("--law", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--from", type=int, default=2, dest="known", help="recordings to learn from")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="plans that contain these words")
    parser.add_argument("--json", help="writes every figure there")
    arguments = parser.parse_args()
    cli, chance, rows = os.path.abspath(arguments.cli), random.Random(arguments.seed), []
    for model in dict.fromkeys(case[0] for case in DEVICE):
        cases = [case for case in DEVICE if case[0] == model and arguments.only in describe(case)]
        if len(cases) <= arguments.known:
            print(f"{model}: {len(cases)} plans are too few to learn from {arguments.known} others", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            recorded = record_all(cli, cases, arguments, folder)
            for case in cases:
                others = [other for other in cases if other != case]
                rows.append(predict(cli, case, chance.sample(others, arguments.known), recorded, folder))
                print("{case:<56} {recorded_ms:9.2f} ms, predicted {predicted_ms:9.2f} ms {error_pct:+6.1f} %   peak "
                      "{memory_pct:+5.1f} %   from ".format(**rows[-1]) + ", ".join(rows[-1]["from"]), flush=True)
    if not rows:
        sys.exit("no plan was compared")
    errors, memory = ([abs(row[key]) for row in rows] for key in ("error_pct", "memory_pct"))
    print(f"{len(rows)} plans: step time {statistics.mean(errors):.2f} % mean, {statistics.median(errors):.2f} % median, "
          f"{max(errors):.1f} % at most, bias {statistics.mean(row['error_pct'] for row in rows):+.2f} %; peak memory "
          f"{statistics.mean(memory):.2f} % mean, {max(memory):.1f} % at most")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
