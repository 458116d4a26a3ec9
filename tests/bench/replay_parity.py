#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far an unchanged replay is from the recorded steps, over plans of the engine.

    tests/bench/replay_parity.py BUILD/bin/fourwalls-cli [--clock wall|device] [--steps 12]

Prints for each plan the error with the delays of the other steps (mean and worst step) and without any, in per cent. On the
wall clock the plans have two ranks, and the machine shall have a core for each and do nothing else; on the device clock what
the machine does besides plays no part.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

TWO_RANKS = ["dp=2", "dp=2 overlap=0", "dp=2 zero=1", "dp=2 zero=2", "dp=2 zero=3", "tp=2", "tp=2 sp=1", "cp=2",
             "pp=2 microbatches=4", "pp=2 microbatches=4 schedule=zb", "pp=2 vpp=2 microbatches=4",
             "pp=2 microbatches=4 schedule=gpipe"]
MORE = ["dp=4", "dp=4 zero=3", "dp=2 tp=2", "dp=2 pp=2 microbatches=4", "tp=2 pp=2 microbatches=4", "cp=2 dp=2",
        "pp=4 microbatches=8", "dp=2 tp=2 pp=2 microbatches=4"]


def answer(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--clock", choices=["wall", "device"], default="wall")
    parser.add_argument("--steps", type=int, default=12)
    options = parser.parse_args()
    network = (["--model", "gpt-small", "--batch", "8", "--seq", "128"] if options.clock == "wall" else
               ["--model", "gpt-tiny", "--batch", "16", "--seq", "32"])
    means, worst = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for number, plan in enumerate(TWO_RANKS + (MORE if options.clock == "device" else [])):
            trace = os.path.join(folder, f"{number}.fourwalls")
            answer(options.program, "record", "-o", trace, *network, "--steps", str(options.steps), "--plan", plan,
                   "--clock", options.clock)
            said = json.loads(answer(options.program, "replay", trace, "--json"))
            print(f"{plan:36} {said['error_mean_pct']:7.3f}  worst {said['error_max_pct']:7.3f}  "
                  f"without delays {said['error_no_delays_pct']:7.3f}  step {said['recorded_ms']:.1f} ms", flush=True)
            means.append(said["error_mean_pct"])
            worst = max(worst, said["error_max_pct"])
    print(f"{len(means)} plans: mean {sum(means) / len(means):.3f} %, worst step {worst:.3f} %")


if __name__ == "__main__":
    main()
