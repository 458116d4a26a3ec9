#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulated months of large runs beside what was published of them (resources/validation/faults.csv), as Markdown.

Usage: simulated_months.py FOURWALLS-CLI [FAULTS.csv]

How long a checkpoint and a restart of these runs took is not in the table, so that each is simulated for several. Devices fail
at the rate of Meta's research clusters, which is none of these runs' own, and at the rate that the run itself had.
"""
import csv
import json
import subprocess
import sys
from pathlib import Path

CLI = sys.argv[1]
FAULTS = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parents[2] / "resources/validation/faults.csv"
# Only failures and costs matter here; the network gives the command its step.
NETWORK = ["--model", "llama3-405b", "--cluster", "dgx-h100", "--batch", "2048", "--plan",
           "tp=8 pp=16 dp=128 microbatches=16 sp=1 recompute=full"]
# run, devices, days, what was published of interruptions and of effective time
RUNS = {"llama3-405B": (16384, 54, "466, of them 419 not planned", "above 90 %"),
        "opt-175b": (992, 60, "35 manual and 70 or more automatic restarts", "–"),
        "production run": (10000, 28, "more than 100 over several weeks", "above 90 %")}
OWN = {"llama3-405B": 466, "opt-175b": 105, "production run": 100}


def simulate(days, mtbf, checkpoint, restart):
    run = subprocess.run([CLI, "goodput", *NETWORK, "--simulate", "2000", "--days", str(days), "--job-mtbf-hours",
                          f"{mtbf:.6g}", "--checkpoint-seconds", str(checkpoint), "--restart-seconds", str(restart), "--json"],
                         check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


def band(value, factor=1, digits=0):
    return f"{value['mean'] * factor:.{digits}f} ({value['low'] * factor:.{digits}f} to {value['high'] * factor:.{digits}f})"


def main():
    with FAULTS.open() as file:
        rows = list(csv.DictReader(file))
    counts = {row["component"]: int(row["count"]) for row in rows if row["run"] == "llama3-405B"}
    listed = sum(count for name, count in counts.items() if name != "all unexpected")
    mean_time = {int(row["gpus"]): float(row["count"]) for row in rows if row["category"] == "MTTF"}
    device = mean_time[16384] * 16384
    print(f"Components of Llama 3 add up to {listed}; the table says {counts['all unexpected']}. One device of Meta's research "
          f"clusters fails every {device:,.0f} h (from their projection to 16,384; jobs of 1024 were interrupted every "
          f"{mean_time[1024]} h, by whatever it was).\n")
    print("| run | devices | days | published | at the rate of other clusters | at its own rate |")
    print("|---|---|---|---|---|---|")
    for name, (devices, days, published, _) in RUNS.items():
        others = simulate(days, device / devices, 30, 600)
        own = simulate(days, days * 24 / OWN[name], 30, 600)
        print(f"| {name} | {devices} | {days} | {published} | {band(others['interruptions'])} | {band(own['interruptions'])} |")
    print("\n| run | published | checkpoint s | restart min | best interval min | goodput % | checkpoints | recovery | lost work |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, (_, days, _, effective) in RUNS.items():
        for checkpoint in (3, 60):
            for restart in (300, 600, 900):
                told = simulate(days, days * 24 / OWN[name], checkpoint, restart)
                wasted = told["wasted"]
                print(f"| {name} | {effective} | {checkpoint} | {restart / 60:.0f} | {told['best_interval_seconds'] / 60:.1f} | "
                      f"{band(told['goodput'], 100, 1)} | {100 * wasted['checkpoints']:.1f} | {100 * wasted['recovery']:.1f} | "
                      f"{100 * wasted['recomputation']:.1f} |")


if __name__ == "__main__":
    main()
