#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost model against the engine on this machine: recorded steps beside predicted ones.

    predict_against_engine.py path/to/fourwalls-cli [--clock wall|device] [--plans N] [--steps 6] [--repeat 3]
                              [--every 4] [--rounds 4] [--machine before.json] [--only WORDS] [--json OUT]

calibrate runs before and after every few plans, and each of them is recorded several times, in turn. The prediction is
the mean of what the calibrations before and after give, and uses nothing that was recorded; it is compared with the
middle one of the recordings. A measurement is discarded and counted where what the two calibrations predict differs by
more than 5 %: the machine was not the same. That depends on the machine alone, never on how well prediction and recording
agree; such a plan is measured again in the next round.
On the device clock operator times are processor times and links are those of the cluster's file; bubbles, peaks and
traffic are compared as well.

Prints one line per plan and the means of the absolute errors. Plans have no more ranks than the machine has cores on
the wall clock.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

# (model, batch, sequence or 0, plan)
WALL = [
    ("gpt-tiny", 8, 0, ""),
    ("gpt-tiny", 16, 0, ""),
    ("gpt-tiny", 8, 0, "microbatches=2"),
    ("gpt-tiny", 8, 0, "attention=unfused"),
    ("gpt-tiny", 8, 0, "recompute=full"),
    ("gpt-tiny", 8, 0, "recompute=selective"),
    ("gpt-tiny", 8, 64, ""),
    ("llama-tiny", 8, 0, ""),
    ("llama-tiny", 16, 0, "microbatches=2"),
    ("bert-tiny", 8, 0, ""),
    ("gpt-small", 4, 0, ""),
    ("gpt-small", 8, 0, "microbatches=2"),
    ("gpt-tiny", 8, 0, "dp=2"),
    ("gpt-tiny", 16, 0, "dp=2 zero=1"),
    ("gpt-tiny", 16, 0, "dp=2 zero=3"),
    ("gpt-tiny", 8, 0, "tp=2"),
    ("gpt-tiny", 8, 0, "tp=2 sp=1"),
    ("gpt-tiny", 8, 0, "cp=2"),
    ("gpt-tiny", 8, 0, "pp=2 microbatches=4"),
    ("gpt-tiny", 8, 0, "pp=2 microbatches=4 schedule=gpipe"),
    ("gpt-tiny", 8, 0, "pp=2 vpp=2 microbatches=4"),
    ("gpt-tiny", 8, 0, "pp=2 schedule=zb microbatches=4"),
    ("llama-tiny", 8, 0, "dp=2"),
    ("deepseek-tiny", 8, 0, "tp=2 sp=1"),
    ("gpt-small", 8, 0, "dp=2"),
    ("gpt-small", 8, 0, "tp=2"),
    ("gpt-small", 8, 0, "pp=2 microbatches=4"),
    ("gpt-small", 4, 0, "recompute=full"),
    ("llama-tiny", 8, 0, "tp=2 sp=1"),
    ("llama-tiny", 8, 0, "pp=2 microbatches=4"),
    ("bert-tiny", 8, 0, "dp=2"),
]
DEVICE = WALL + [
    ("gpt-tiny", 16, 0, "dp=4"),
    ("gpt-tiny", 16, 0, "dp=4 zero=2"),
    ("gpt-tiny", 16, 0, "dp=4 overlap=0"),
    ("gpt-tiny", 8, 0, "tp=4"),
    ("gpt-tiny", 16, 0, "pp=4 microbatches=8"),
    ("gpt-tiny", 16, 0, "pp=4 microbatches=8 schedule=gpipe"),
    ("gpt-tiny", 8, 0, "pp=4 microbatches=4 schedule=naive"),
    ("gpt-tiny", 16, 0, "pp=4 vpp=2 microbatches=8"),
    ("gpt-tiny", 16, 0, "pp=4 schedule=zb microbatches=8"),
    ("gpt-tiny", 16, 0, "pp=4 schedule=zb2p microbatches=8"),
    ("gpt-tiny", 16, 0, "pp=4 schedule=zbv microbatches=8"),
    ("gpt-tiny", 16, 0, "pp=8 microbatches=16"),
    ("gpt-tiny", 16, 0, "dp=2 tp=2 pp=2 microbatches=4"),
    ("llama-tiny", 16, 0, "dp=2 tp=2"),
    ("gpt-tiny", 16, 0, "dp=2 pp=2 recompute=full microbatches=4"),
]

MOST_APART = 1.05  # of what two calibrations of the same machine predict


class Cli:
    def __init__(self, path):
        self.path = path

    def ask(self, *arguments):
        done = subprocess.run([self.path, *arguments, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip().splitlines()[-1:]}")
        return json.loads(done.stdout)


def for_clock(machine, clock):
    """The calibration as the clock sees it: on the device clock messages run beside the computation for nothing."""
    machine = json.loads(json.dumps(machine))
    if clock == "device":
        machine["calibration"]["contention"] = 0.0
        machine["devices_per_node"] = 64  # ranks are not bound to cores there
    return machine


def describe(case):
    model, batch, sequence, plan = case
    return f"{model} b{batch}{f' s{sequence}' if sequence else ''} {plan}".strip()


def options(case):
    model, batch, sequence, plan = case
    return ["--model", model, "--batch", str(batch), "--plan", plan] + (["--seq", str(sequence)] if sequence else [])


def wire_by_group(metrics, steps):
    """Bytes that a rank sends per step, by group; messages of the pipeline are counted by their senders."""
    sums = {}
    for entry in metrics["collectives"]:
        if entry["operation"] == "receive":
            continue
        sums[entry["group"]] = sums.get(entry["group"], 0) + entry["wire_bytes"] / steps
    return sums


def groups_per_stage(plan, group):
    """How many groups of a kind a recording has for each one that the prediction shows: one per stage there."""
    keys = ("dp", "tp", "cp", "ep")
    degrees = {key: int(value) for key, value in (word.split("=") for word in plan.split()) if key in keys}
    dp, tp, cp, ep = (degrees.get(key, 1) for key in keys)
    ranks = {"tp": dp * cp, "cp": dp * tp * cp, "dp": tp * cp, "dp_cp": tp, "pp": dp * tp * cp,
             "embedding": dp * tp * cp, "ep": dp * tp * cp // ep, "edp": tp * ep}
    return ranks.get(group, 1)


def measured(cli, case, clock, cluster, steps, folder):
    trace = os.path.join(folder, "run.fourwalls")
    cli.ask("record", "-o", trace, *options(case), "--steps", str(steps), "--clock", clock, "--cluster", cluster)
    return cli.ask("metrics", trace)


def peaks(metrics):
    return [rank["total"] for rank in metrics["peak_bytes"]]


def middle(runs):
    """The middle one by step time."""
    return sorted(runs, key=lambda run: run["step_time_ms"])[len(runs) // 2]


def compared(cli, case, run, clusters, steps):
    """Prediction beside recording; None if what the calibrations predict differs."""
    predictions = [cli.ask("predict", *options(case), "--cluster", file, "--precision", "f32", "--detail", "parts")
                   for file in clusters]
    times = [prediction["step_time_ms"] for prediction in predictions]
    if max(times) > MOST_APART * min(times):
        return None
    predicted_ms = statistics.mean(times)
    first = predictions[0]
    bubble = None
    if run["bubble_fraction"]["mean"] is not None and "pp=" in case[3]:
        bubble = 100 * (statistics.mean(p["bubble_fraction"]["mean"] for p in predictions)
                        - run["bubble_fraction"]["mean"])
    ranks, stages = len(peaks(run)), len(peaks(first))
    memory = [100 * (peaks(first)[rank * stages // ranks] / peak - 1) for rank, peak in enumerate(peaks(run))]
    recorded_wire = {group: value / groups_per_stage(case[3], group)
                     for group, value in wire_by_group(run, steps).items()}
    return {"case": describe(case), "recorded_ms": run["step_time_ms"], "predicted_ms": predicted_ms,
            "error_pct": 100 * (predicted_ms / run["step_time_ms"] - 1), "bubble_points": bubble,
            "memory_pct": max(memory, key=abs), "wire": wire_by_group(first, 1), "recorded_wire": recorded_wire,
            "categories": [(rank, first["peak_bytes"][rank * stages // ranks]["by_category"],
                            run["peak_bytes"][rank]["by_category"]) for rank in sorted({0, ranks - 1})]}


def print_row(row, with_categories):
    bubble = row["bubble_points"]
    wire = [sum(row[key].values()) / 1e6 for key in ("wire", "recorded_wire")]
    print(f"{row['case']:<52} {row['recorded_ms']:9.2f} ms, predicted {row['predicted_ms']:9.2f} ms "
          f"{row['error_pct']:+6.1f} %   bubble {'-' if bubble is None else f'{bubble:+.1f}':>5}   "
          f"peak {row['memory_pct']:+6.1f} %   wire {wire[0]:.3f} / {wire[1]:.3f} MB", flush=True)
    for rank, theirs, mine in row["categories"] if with_categories else ():
        print("    rank", rank, {key: (round(theirs.get(key, 0) / 1e6, 2), round(mine.get(key, 0) / 1e6, 2))
                                 for key in sorted({*mine, *theirs}) if theirs.get(key, 0) + mine.get(key, 0) > 0})


def print_summary(arguments, rows, discarded, left):
    absolute = [abs(row["error_pct"]) for row in rows]
    bubbles = [abs(row["bubble_points"]) for row in rows if row["bubble_points"] is not None]
    memory = [abs(row["memory_pct"]) for row in rows]
    print(f"{arguments.clock} clock, {os.cpu_count()} cores: {len(rows)} plans, {len(discarded)} measurements discarded, "
          f"{left} plans never steady; step time {statistics.mean(absolute):.1f} % mean, {max(absolute):.1f} % at most, "
          f"bias {statistics.mean(row['error_pct'] for row in rows):+.1f} %; peak memory {statistics.mean(memory):.1f} % "
          f"mean, {max(memory):.1f} % at most; bubble "
          + (f"{statistics.mean(bubbles):.1f} points mean, {max(bubbles):.1f} at most" if bubbles else "-"))
    differing = [row["case"] for row in rows if sum(row["wire"].values()) != sum(row["recorded_wire"].values())]
    print(f"bytes on the wire equal for {len(rows) - len(differing)} of {len(rows)} plans"
          + (": not " + ", ".join(differing) if differing else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cli")
    parser.add_argument("--clock", choices=["wall", "device"], default="wall")
    parser.add_argument("--plans", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--repeat", type=int, default=3, help="recordings per plan")
    parser.add_argument("--every", type=int, default=4, help="plans between two calibrations")
    parser.add_argument("--rounds", type=int, default=4, help="how often a plan is tried")
    parser.add_argument("--machine", help="a file of an earlier calibrate, instead of running it")
    parser.add_argument("--only", default="", help="plans that contain these words")
    parser.add_argument("--categories", action="store_true", help="peaks by category, predicted and recorded")
    parser.add_argument("--json", help="writes every figure there")
    arguments = parser.parse_args()
    cli = Cli(os.path.abspath(arguments.cli))
    waiting = [case for case in (WALL if arguments.clock == "wall" else DEVICE) if arguments.only in describe(case)]
    waiting = waiting[:arguments.plans]
    steps = arguments.steps - (2 if arguments.clock == "device" else 1)  # without those that warm up
    rows, discarded, failed = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        def calibrated():
            source = arguments.machine or os.path.join(folder, "machine.json")
            if not arguments.machine:
                cli.ask("calibrate", "-o", source)
            with open(source) as file:
                machine = json.load(file)
            path = os.path.join(folder, f"cluster{calibrated.count}.json")
            calibrated.count += 1
            with open(path, "w") as file:
                json.dump(for_clock(machine, arguments.clock), file)
            return path
        calibrated.count = 0

        before = calibrated()
        cluster = before  # the links of every recording
        for _ in range(arguments.rounds):
            again = []
            for first in range(0, len(waiting), arguments.every):
                cases = waiting[first:first + arguments.every]
                runs = {case: [] for case in cases}
                for _ in range(arguments.repeat):
                    for case in list(runs):
                        try:
                            runs[case].append(measured(cli, case, arguments.clock, cluster, arguments.steps, folder))
                        except RuntimeError as error:
                            failed.append(f"{describe(case)}: {error}")
                            del runs[case]
                after = calibrated()
                for case, recorded in runs.items():
                    row = compared(cli, case, middle(recorded), (before, after), steps)
                    if row:
                        rows.append(row)
                        print_row(row, arguments.categories)
                    else:
                        again.append(case)
                        discarded.append(describe(case))
                before = after
            waiting = again
        for line in failed:
            print(line, file=sys.stderr)
        if not rows:
            sys.exit("no plan was compared")
        print_summary(arguments, rows, discarded, len(waiting))
        if arguments.json:
            with open(arguments.json, "w") as file:
                json.dump({"clock": arguments.clock, "rows": rows, "discarded": discarded}, file, indent=1)
    if failed:
        sys.exit(1)


if __name__ == "__main__":
    main()
