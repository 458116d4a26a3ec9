#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What would the recorded job take in another plan? Pairs of plans of a seed, replayed and recorded.

    next_plan.py path/to/fourwalls-cli [--pairs 30] [--seed 1] [--json OUT]

For each pair a job (network, batch, sequence, cluster) and two plans A and B are drawn; in one pair of three B is a neighbour
of A, with one word changed. Both are recorded on the device clock until one table of kernel times has all their kernels, so
that chance has no part in them: the floor, B recorded once more against itself, is printed beside. Every core is kept busy
meanwhile, at the lowest priority: kernels take up to half as long again on cores that have just been idle, and how often
ranks wait is the plan's matter. Then

    replay A --change "plan=B"      against the recording of B: step and peak memory
    predict --like A --plan B       likewise, the step

Prints a line for each pair, then means, largest, and the share of pairs whose order in time is the recorded one (of those
whose recorded steps are more than 3 % apart).
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

from engine_runs import ask

MODELS = ["gpt-tiny", "llama-tiny", "bert-tiny"]
CLUSTERS = ["dgx-a100", "dgx-h100", "v100-pcie"]
NEIGHBOURS = {"overlap": "0", "zero": "1", "recompute": "full", "sp": "1"}


def text_of(plan):
    return " ".join(f"{key}={value}" for key, value in plan.items())


def draw_plan(chance, batch):
    """Degrees that divide eight layers, eight heads and the batch, on at most eight ranks."""
    while True:
        dp, tp, pp = (chance.choice([1, 2, 4]) for _ in range(3))
        if not 1 < dp * tp * pp <= 8 or batch % dp:
            continue
        microbatches = chance.choice([count for count in (1, 2, 4, 8) if batch // dp % count == 0])
        if pp > 1 and microbatches < pp:
            continue
        plan = {key: str(value) for key, value in (("dp", dp), ("tp", tp), ("pp", pp)) if value > 1}
        if microbatches > 1:
            plan["microbatches"] = str(microbatches)
        if dp > 1 and chance.random() < 0.25:
            plan["zero"] = "1"
        return plan


def draw_pair(chance):
    batch = chance.choice([8, 16])
    job = ["--model", chance.choice(MODELS), "--batch", str(batch), "--seq", str(chance.choice([32, 64, 128])),
           "--cluster", chance.choice(CLUSTERS)]
    first = draw_plan(chance, batch)
    neighbour = chance.random() < 1 / 3
    second = dict(first)
    while second == first:
        if neighbour:
            key = chance.choice([key for key in NEIGHBOURS if (key != "sp" or "tp" in first) and
                                 (key != "zero" or "dp" in first)])
            second = dict(first)
            second.pop(key, None) if key in first else second.update({key: NEIGHBOURS[key]})
        else:
            second = draw_plan(chance, batch)
    return job, first, second, neighbour


def record(cli, job, plan, folder, name):
    """Twice: the first time finds the plan's kernels. Returns file, step and peak memory."""
    trace, table = os.path.join(folder, name + ".fourwalls"), os.path.join(folder, "kernels.json")
    for _ in range(2):
        ask(cli, "record", "-o", trace, *job, "--plan", text_of(plan), "--clock", "device", "--steps", "5",
            "--kernel-times", table)
    said = ask(cli, "metrics", trace)
    return trace, said["step_time_ms"], max(rank["total"] for rank in said["peak_bytes"])


def off(said, took):
    return 100 * (said - took) / took


def try_pair(cli, pair):
    job, first, second, neighbour = pair
    with tempfile.TemporaryDirectory() as folder:
        known, before, _ = record(cli, job, first, folder, "a")
        _, took, peak = record(cli, job, second, folder, "b")
        _, again, _ = record(cli, job, second, folder, "c")
        replayed = ask(cli, "replay", known, "--change", "plan=" + text_of(second))
        predicted = ask(cli, "predict", "--like", known, "--plan", text_of(second))
    return {"job": " ".join(job), "from": text_of(first), "to": text_of(second), "neighbour": neighbour,
            "recorded_ms": took, "before_ms": before, "replayed_ms": replayed["changed_ms"],
            "replay_pct": off(replayed["changed_ms"], took), "predict_pct": off(predicted["step_time_ms"], took),
            "memory_pct": off(replayed["peak_bytes"], peak), "floor_pct": off(again, took)}


def mean_and_most(pairs, key):
    errors = [abs(pair[key]) for pair in pairs]
    return f"{statistics.mean(errors):.2f} % in the mean, {max(errors):.2f} at most" if errors else "none"


def try_all(cli, count, chance):
    pairs = []
    for _ in range(count):
        pair = draw_pair(chance)
        try:
            pairs.append(try_pair(cli, pair))
        except RuntimeError as refused:
            print(f"not answered: {' '.join(pair[0])}: {text_of(pair[1])} -> {text_of(pair[2])}: {refused}", flush=True)
            continue
        print("{replay_pct:+6.2f} % replay {predict_pct:+6.2f} % predict {memory_pct:+6.2f} % memory "
              "{floor_pct:+.2f} % floor   {job}: {from} -> {to}".format(**pairs[-1]), flush=True)
    return pairs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cli")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json")
    options = parser.parse_args()
    busy = [subprocess.Popen(["nice", "-n", "19", sys.executable, "-c", "while True: pass"])
            for _ in range(os.cpu_count() or 1)]
    try:
        pairs = try_all(options.cli, options.pairs, random.Random(options.seed))
    finally:
        for each in busy:
            each.kill()
    if not pairs:
        print("no pair was answered")
        return 1
    apart = [pair for pair in pairs if abs(off(pair["before_ms"], pair["recorded_ms"])) > 3]
    ordered = [pair for pair in apart
               if (pair["replayed_ms"] > pair["before_ms"]) == (pair["recorded_ms"] > pair["before_ms"])]
    print(f"{len(pairs)} pairs answered of {options.pairs}, seed {options.seed}")
    print("replay, all:        ", mean_and_most(pairs, "replay_pct"))
    print("replay, neighbours: ", mean_and_most([pair for pair in pairs if pair["neighbour"]], "replay_pct"))
    print("predict --like:     ", mean_and_most(pairs, "predict_pct"))
    print("memory:             ", mean_and_most(pairs, "memory_pct"))
    print("floor:              ", mean_and_most(pairs, "floor_pct"))
    print(f"order right:         {len(ordered)} of {len(apart)}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(pairs, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
