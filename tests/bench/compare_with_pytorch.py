#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Times the engine's training step against PyTorch's, one thread each (or as many ranks as PyTorch has threads), in turns
on the same machine.

Usage: compare_with_pytorch.py --engine BUILD/bin/bench_engine_step [--model FILE] [--rounds 8] [--steps 4]
       compare_with_pytorch.py --engine … --model resources/presets/models/resnet50.json [--channels-last]
       compare_with_pytorch.py --engine … --threads 2     (dp=2 against PyTorch with two threads, same global batch)
Every round runs both programs (the order alternates) and drops each one's first step, which allocates and compiles.
Prints both medians and the median of the per-round ratios engine / PyTorch with a 95 % bootstrap interval, and the
largest relative difference of the losses."""
import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def run(command, threads=1):
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    if result.returncode:
        sys.exit(f"{command[0]}: {result.stderr.strip()}")
    steps = re.findall(r"step \d+ loss (\S+) norm \S+ (?:lr \S+ )?ms (\S+)", result.stdout)
    return [float(loss) for loss, _ in steps], [float(ms) for _, ms in steps][1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--engine", required=True)
    parser.add_argument("--model", default=os.path.join(HERE, "gpt_6x384_8k.json"))
    parser.add_argument("--plan", help="of the engine (default: dp=THREADS)")
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch")
    parser.add_argument("--batch", default="8")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--channels-last", action="store_true", help="PyTorch's other order of an image's elements")
    args = parser.parse_args()
    if args.plan is None:
        args.plan = f"dp={args.threads}" if args.threads > 1 else ""
    with open(args.model) as f:
        spec = json.load(f)
    ratios, ours, theirs, difference = [], [], [], 0.0
    with tempfile.TemporaryDirectory() as directory:
        run([args.engine, args.model, "steps=1", f"batch={args.batch}", f"save={directory}"])
        engine = [args.engine, args.model, f"steps={args.steps}", f"batch={args.batch}", f"load={directory}", f"plan={args.plan}"]
        common = ["--weights", os.path.join(directory, "model.safetensors"), "--steps", str(args.steps), "--batch", args.batch,
                  "--threads", str(args.threads)]
        if spec["kind"] == "resnet":
            engine.append("optimizer=sgd")
            torch = ["/usr/bin/python3", os.path.join(HERE, "pytorch_resnet.py"), "--depth", str(spec["depth"]),
                     "--size", str(spec["image_size"]), "--classes", str(spec["classes"])] + common
            if args.channels_last:
                torch.append("--channels-last")
        else:
            torch = ["/usr/bin/python3", os.path.join(HERE, "pytorch_gpt.py"), "--model", args.model, "--text",
                     os.path.join(ROOT, "resources/text/tom_sawyer.txt")] + common
        for i in range(args.rounds):
            both = [(engine, 1), (torch, args.threads)]
            pair = [run(*one) for one in (both if i % 2 == 0 else both[::-1])]
            (loss_a, ms_a), (loss_b, ms_b) = pair if i % 2 == 0 else pair[::-1]
            ours += ms_a
            theirs += ms_b
            ratios.append(statistics.median(ms_a) / statistics.median(ms_b))
            difference = max([difference] + [abs(a - b) / b for a, b in zip(loss_a, loss_b)])
            print(f"round {i}: engine {statistics.median(ms_a):.1f} ms, PyTorch {statistics.median(ms_b):.1f} ms", file=sys.stderr)
    random.seed(1)
    medians = sorted(statistics.median(random.choices(ratios, k=len(ratios))) for _ in range(2000))
    print(json.dumps({"engine_ms": statistics.median(ours), "pytorch_ms": statistics.median(theirs),
                      "ratio": statistics.median(ratios), "ratio_low": medians[50], "ratio_high": medians[1949],
                      "plan": args.plan, "threads": args.threads, "rounds": args.rounds, "largest_loss_difference": difference}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
