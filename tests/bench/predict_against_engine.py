#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost model against the engine on this machine: recorded steps beside predicted ones.

    predict_against_engine.py path/to/fourwalls-cli [--clock wall|device] [--plans N] [--steps 6] [--every 4]
                              [--passes 9] [--counted 4] [--minutes 60] [--machine before.json] [--only WORDS] [--json OUT]

calibrate runs before and after every few plans. A measurement of a plan is a recording of it and the mean of what the
calibrations before and after it predict, which uses nothing that was recorded. It is discarded and counted where these
two predictions differ by more than 5 %: the machine was not the same. That depends on the machine alone, never on how
well prediction and recording agree. Plans are measured in turn, until each has as many that count as are asked for or
the time is over, so that each is met at several moments of a machine whose speed changes; what is compared is the mean
prediction of a plan and its mean recording.
On the device clock operator times are processor times and links are those of the cluster's file; bubbles, peaks and
traffic are compared as well.

Prints one line per plan and the means of the absolute errors. Plans have no more ranks than the machine has cores on
the wall clock.
"""
import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time

from engine_runs import ask

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

SECONDS_PER_PASS = 0.005  # of an operator
MOST_APART = 1.05  # of what two calibrations of the same machine predict


def for_clock(machine, clock, case):
    """The calibration as the clock sees it. On the device clock ranks are not bound to cores, messages run beside the
    computation for nothing, and every rank's operators take the same median time."""
    machine = json.loads(json.dumps(machine))
    if clock == "device":
        machine["calibration"]["contention"] = 0.0
        machine["calibration"]["device_spread"] = 0.0
        machine["devices_per_node"] = max(machine["devices_per_node"], world_size(case[3]))
    return machine


def degrees(plan):
    return {key: int(value) for key, value in (word.split("=") for word in plan.split()) if value.isdigit()}


def world_size(plan):
    return math.prod(degrees(plan).get(key, 1) for key in ("dp", "tp", "pp", "cp"))


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
    dp, tp, cp, ep = (degrees(plan).get(key, 1) for key in ("dp", "tp", "cp", "ep"))
    ranks = {"tp": dp * cp, "cp": dp * tp * cp, "dp": tp * cp, "dp_cp": tp, "pp": dp * tp * cp,
             "embedding": dp * tp * cp, "ep": dp * tp * cp // ep, "edp": tp * ep}
    return ranks.get(group, 1)


def measured(cli, case, clock, cluster, steps, folder):
    trace = os.path.join(folder, "run.fourwalls")
    ask(cli, "record", "-o", trace, *options(case), "--steps", str(steps), "--clock", clock, "--cluster", cluster)
    return ask(cli, "metrics", trace)


def peaks(metrics):
    return [rank["total"] for rank in metrics["peak_bytes"]]


def bubble_pct(metrics, case):
    bubble = metrics["bubble_fraction"]["mean"]
    return 100 * bubble if bubble is not None and "pp=" in case[3] else None


def predicted(cli, case, clock, machine, folder):
    path = os.path.join(folder, "cluster.json")
    with open(path, "w") as file:
        json.dump(for_clock(machine, clock, case), file)
    return ask(cli, "predict", *options(case), "--cluster", path, "--precision", "f32", "--detail", "parts")


def compared(cli, case, clock, run, machines, steps, folder):
    """Prediction beside recording; None if what the calibrations predict differs."""
    predictions = [predicted(cli, case, clock, machine, folder) for machine in machines]
    times = [prediction["step_time_ms"] for prediction in predictions]
    if max(times) > MOST_APART * min(times):
        return None
    first, bubbles = predictions[0], [bubble_pct(prediction, case) for prediction in predictions]
    ranks, stages = len(peaks(run)), len(peaks(first))
    memory = [100 * (peaks(first)[rank * stages // ranks] / peak - 1) for rank, peak in enumerate(peaks(run))]
    recorded_wire = {group: value / groups_per_stage(case[3], group)
                     for group, value in wire_by_group(run, steps).items()}
    return {"recorded_ms": run["step_time_ms"], "predicted_ms": statistics.mean(times),
            "recorded_bubble_pct": bubble_pct(run, case),
            "predicted_bubble_pct": None if None in bubbles else statistics.mean(bubbles),
            "memory_pct": max(memory, key=abs), "wire": wire_by_group(first, 1), "recorded_wire": recorded_wire,
            "categories": [(rank, first["peak_bytes"][rank * stages // ranks]["by_category"],
                            run["peak_bytes"][rank]["by_category"]) for rank in sorted({0, ranks - 1})]}


def together(case, measurements):
    """A plan's measurements as one row: means of what varies with the machine; the rest is the same in all of them."""
    def mean(key):
        return statistics.mean(one[key] for one in measurements)
    row = dict(measurements[0], case=describe(case), recorded_ms=mean("recorded_ms"), predicted_ms=mean("predicted_ms"),
               memory_pct=max((one["memory_pct"] for one in measurements), key=abs), measurements=len(measurements),
               single_errors_pct=[100 * (one["predicted_ms"] / one["recorded_ms"] - 1) for one in measurements])
    row["error_pct"] = 100 * (row["predicted_ms"] / row["recorded_ms"] - 1)
    row["bubble_points"] = None
    if row["recorded_bubble_pct"] is not None:
        row["bubble_points"] = mean("predicted_bubble_pct") - mean("recorded_bubble_pct")
    return row


def print_row(row, with_categories):
    bubble = row["bubble_points"]
    wire = [sum(row[key].values()) / 1e6 for key in ("wire", "recorded_wire")]
    singles = " ".join(f"{error:+.0f}" for error in row["single_errors_pct"])
    print(f"{row['case']:<48} {row['recorded_ms']:9.2f} ms, predicted {row['predicted_ms']:9.2f} ms "
          f"{row['error_pct']:+6.1f} % ({singles})   bubble {'-' if bubble is None else f'{bubble:+.1f}':>5}   "
          f"peak {row['memory_pct']:+6.1f} %   wire {wire[0]:.3f} / {wire[1]:.3f} MB", flush=True)
    for rank, theirs, mine in row["categories"] if with_categories else ():
        print("    rank", rank, {key: (round(theirs.get(key, 0) / 1e6, 2), round(mine.get(key, 0) / 1e6, 2))
                                 for key in sorted({*mine, *theirs}) if theirs.get(key, 0) + mine.get(key, 0) > 0})


def print_summary(arguments, rows, discarded, uncounted):
    absolute = [abs(row["error_pct"]) for row in rows]
    bubbles = [abs(row["bubble_points"]) for row in rows if row["bubble_points"] is not None]
    memory = [abs(row["memory_pct"]) for row in rows]
    counted = [row["measurements"] for row in rows]
    print(f"{arguments.clock} clock, {os.cpu_count()} cores: {len(rows)} plans of {min(counted)} to {max(counted)} "
          f"measurements ({sum(counted)} counted, {discarded} discarded, {uncounted} plans never counted); "
          f"step time {statistics.mean(absolute):.1f} % mean, {max(absolute):.1f} % at most, "
          f"bias {statistics.mean(row['error_pct'] for row in rows):+.1f} %; peak memory {statistics.mean(memory):.1f} % "
          f"mean, {max(memory):.1f} % at most; bubble "
          + (f"{statistics.mean(bubbles):.1f} points mean, {max(bubbles):.1f} at most" if bubbles else "-"))
    differing = [row["case"] for row in rows if sum(row["wire"].values()) != sum(row["recorded_wire"].values())]
    print(f"bytes on the wire equal for {len(rows) - len(differing)} of {len(rows)} plans"
          + (": not " + ", ".join(differing) if differing else ""))


def measure(cli, arguments, waiting, folder):
    """Measurements by plan, how many were discarded, and what failed."""
    counted, failed = {case: [] for case in waiting}, []
    discarded = 0
    steps = arguments.steps - (2 if arguments.clock == "device" else 1)  # without those that warm up
    end = time.monotonic() + 60 * arguments.minutes

    def calibrated():
        source = arguments.machine or os.path.join(folder, "machine.json")
        if not arguments.machine:
            ask(cli, "calibrate", "-o", source, "--precision", "f32", "--passes", str(arguments.passes),
                    "--seconds", str(SECONDS_PER_PASS * arguments.passes))
        with open(source) as file:
            return json.load(file)

    before = calibrated()
    links = os.path.join(folder, "links.json")  # of every recording
    with open(links, "w") as file:
        json.dump(dict(before, devices_per_node=64), file)
    while waiting and time.monotonic() < end:
        for first in range(0, len(waiting), arguments.every):
            if time.monotonic() > end:
                break
            runs = {}
            for case in waiting[first:first + arguments.every]:
                try:
                    runs[case] = measured(cli, case, arguments.clock, links, arguments.steps, folder)
                except RuntimeError as error:
                    failed.append(f"{describe(case)}: {error}")
            after = calibrated()
            for case, run in runs.items():
                one = compared(cli, case, arguments.clock, run, (before, after), steps, folder)
                if one:
                    counted[case].append(one)
                    print(f"    {describe(case):<48} {one['recorded_ms']:9.2f} ms, predicted "
                          f"{one['predicted_ms']:9.2f} ms", flush=True)
                else:
                    discarded += 1
            before = after
        waiting = [case for case in waiting if len(counted[case]) < arguments.counted]
    return counted, discarded, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cli")
    parser.add_argument("--clock", choices=["wall", "device"], default="wall")
    parser.add_argument("--plans", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--every", type=int, default=16, help="recordings between two calibrations")
    parser.add_argument("--passes", type=int, default=9, help="of a calibration: more for a machine that is less steady")
    parser.add_argument("--counted", type=int, default=4, help="measurements of a plan after which it is left alone")
    parser.add_argument("--minutes", type=float, default=60, help="after which no further measurement is begun")
    parser.add_argument("--machine", help="a file of an earlier calibrate, instead of running it")
    parser.add_argument("--only", default="", help="plans that contain these words")
    parser.add_argument("--categories", action="store_true", help="peaks by category, predicted and recorded")
    parser.add_argument("--json", help="writes every figure there")
    arguments = parser.parse_args()
    cases = [case for case in (WALL if arguments.clock == "wall" else DEVICE) if arguments.only in describe(case)]
    cases = cases[:arguments.plans]
    with tempfile.TemporaryDirectory() as folder:
        counted, discarded, failed = measure(os.path.abspath(arguments.cli), arguments, cases, folder)
    for line in failed:
        print(line, file=sys.stderr)
    rows = [together(case, measurements) for case, measurements in counted.items() if measurements]
    if not rows:
        sys.exit("no plan was compared")
    for row in rows:
        print_row(row, arguments.categories)
    print_summary(arguments, rows, discarded, len(cases) - len(rows))
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"clock": arguments.clock, "rows": rows, "discarded": discarded}, file, indent=1)
    if failed:
        sys.exit(1)


if __name__ == "__main__":
    main()
