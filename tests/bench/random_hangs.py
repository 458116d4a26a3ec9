#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random hangs of the engine: a rank's program stands still before an operation that was drawn; the dumps that the ranks
leave must name it and nobody else.

    tests/bench/random_hangs.py BUILD/bin/fourwalls-cli [--hangs 100] [--seed 1]

Prints each hang that was not named, and the counts. Some four seconds a hang.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

PLANS = {"dp=2": 2, "tp=2": 2, "dp=3": 3, "dp=2 tp=2": 4, "pp=2 microbatches=4": 2, "dp=2 pp=2 microbatches=4": 4,
         "tp=2 pp=2 microbatches=4": 4, "dp=4 zero=3": 4, "dp=2 zero=1": 2, "cp=2": 2}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--hangs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    counts = {"named": 0, "in a set": 0, "missed": 0, "falsely named": 0, "no dumps": 0}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.hangs):
            plan = draw.choice(list(PLANS))
            rank, step, operation = draw.randrange(PLANS[plan]), draw.randrange(1, 6), draw.randrange(0, 40)
            output = os.path.join(folder, f"hang{number}.fourwalls")
            fault = f"hang:{rank}:{step}.{operation}"
            batch = "12" if plan == "dp=3" else "16"
            subprocess.run([options.program, "record", "-o", output, "--transport", "gloo", "--plan", plan, "--steps",
                            "1000", "--seq", "32", "--batch", batch, "--fault", fault, "--rank-timeout", "2"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            said = subprocess.run([options.program, "hang", "--json", output.replace(".fourwalls", ".dumps")],
                                  capture_output=True, check=False)
            if said.returncode != 0:
                counts["no dumps"] += 1
                print(f"{plan}, {fault}: {said.stderr.decode().strip()}")
                continue
            answer = json.loads(said.stdout)
            named = [each["rank"] for each in answer["suspects"]]
            sets = [each["ranks"] for each in answer["one_of"]]
            counts["falsely named"] += sum(each != rank for each in named)
            how = "named" if rank in named else "in a set" if any(rank in each for each in sets) else "missed"
            counts[how] += 1
            if how != "named" or len(named) > 1:
                print(f"{plan}, {fault}: named {named}, sets {sets}")
    print(json.dumps(counts))
    return 0 if counts["named"] == options.hangs and counts["falsely named"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
