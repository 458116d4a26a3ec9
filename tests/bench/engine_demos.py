#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the demo-sized recordings of every method of the engine and prints how long each takes, from the command to its
end, and how much of a processor: a list for 10 seconds, one for 60 (on two cores). A busy machine changes the second figure
little.
  engine_demos.py FOURWALLS-CLI [10|60] [WORD]: one list only; only those whose line has the word"""
import os
import resource
import subprocess
import sys
import tempfile
import time

# What is shown, model and settings, plan.
SHORT = [
    ("one rank", "gpt-tiny --steps 20", ""),
    ("data parallel", "gpt-tiny --steps 20", "dp=2"),
    ("ZeRO 1", "gpt-tiny --steps 10", "dp=4 zero=1"),
    ("ZeRO 2", "gpt-tiny --steps 10", "dp=4 zero=2 microbatches=2"),
    ("ZeRO 3", "gpt-tiny --steps 10", "dp=4 zero=3"),
    ("tensor and sequence parallel", "gpt-tiny --steps 10", "tp=2 sp=1"),
    ("context parallel", "gpt-tiny --steps 10", "cp=2"),
    ("pipeline, naive", "gpt-tiny --steps 10", "pp=4 microbatches=8 schedule=naive"),
    ("pipeline, GPipe", "gpt-tiny --steps 10", "pp=4 microbatches=8 schedule=gpipe"),
    ("pipeline, 1F1B", "gpt-tiny --steps 10", "pp=4 microbatches=8"),
    ("pipeline, interleaved", "gpt-tiny --steps 10", "pp=4 vpp=2 microbatches=8"),
    ("pipeline, zero bubble", "gpt-tiny --steps 10", "pp=4 microbatches=8 schedule=zb"),
    ("pipeline, on the device clock", "gpt-tiny --steps 10 --clock device --cluster dgx-a100", "pp=4 microbatches=8"),
    ("three dimensions", "gpt-tiny --steps 10", "dp=2 tp=2 pp=2 microbatches=4"),
    ("gradient accumulation", "gpt-tiny --steps 10", "microbatches=4"),
    ("recomputation", "gpt-tiny --steps 10", "recompute=full"),
    ("offloading", "gpt-tiny --steps 10", "offload=optimizer,activations,parameters"),
    ("bf16", "gpt-tiny --steps 10 --precision bf16", "dp=2"),
    ("operators apart", "gpt-tiny --steps 10", "fuse=0 attention=unfused inplace=0"),
    ("evaluation", "gpt-tiny --steps 10 --eval-every 5 --eval-steps 2", "dp=2"),
    ("processes", "gpt-tiny --steps 10 --transport gloo", "dp=2"),
    ("slow rank", "gpt-tiny --steps 10 --slow-rank 1:1.5", "dp=2"),
    ("encoder", "bert-tiny --steps 20", "dp=2 tp=2 sp=1"),
    ("latent attention", "deepseek-tiny --steps 10", "tp=2 sp=1"),
    ("expert parallel", "moe-tiny --steps 20", "dp=4 ep=4 routing=natural"),
    ("parameter server, sync", "dlrm-tiny --batch 512 --steps 200", "dp=2 ps=sync servers=2"),
    ("parameter server, async", "gpt-tiny --steps 20", "dp=2 ps=async servers=1"),
    ("ResNet-50", "resnet50 --batch 4 --steps 2", "dp=2"),
    ("ResNet-50, pipeline", "resnet50 --batch 4 --steps 2", "pp=2 microbatches=2"),
    ("ResNet-50, operators apart", "resnet50 --batch 4 --steps 2", "dp=2 fuse=0 conv=direct"),
]
LONG = [
    ("data parallel", "gpt-small --steps 10", "dp=2"),
    ("ZeRO 3", "gpt-small --steps 10", "dp=2 zero=3"),
    ("tensor and sequence parallel", "gpt-small --steps 10", "tp=2 sp=1"),
    ("context parallel", "gpt-small --steps 10", "cp=2"),
    ("pipeline", "gpt-small --steps 10", "pp=2 microbatches=4"),
    ("pipeline, zero bubble", "gpt-small --steps 10", "pp=2 microbatches=8 schedule=zb"),
    ("three dimensions", "gpt-small --steps 10", "dp=2 tp=2 pp=2 microbatches=4"),
    ("recomputation and offloading", "gpt-small --steps 10", "recompute=full offload=optimizer,activations"),
    ("encoder that learns", "bert-tiny --batch 16 --steps 200", "dp=2"),
    ("latent attention that learns", "deepseek-tiny --steps 150", "dp=2"),
    ("experts that learn", "moe-tiny --steps 200", "dp=4 ep=4 routing=natural"),
    ("clicks that are learned", "dlrm-tiny --batch 512 --steps 2000", "dp=2 ps=async servers=2"),
    ("stale weights that learn", "gpt-tiny --steps 150", "dp=2 ps=async servers=1"),
    ("ResNet-50", "resnet50 --batch 16 --steps 4", "dp=2"),
    ("ResNet-152", "resnet152 --batch 4 --steps 2", "dp=2"),
]


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    cli, which, word = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "", sys.argv[3] if len(sys.argv) > 3 else ""
    slow = 0
    with tempfile.TemporaryDirectory() as folder:
        for limit, demos in ((10, SHORT), (60, LONG)):
            if which not in ("", str(limit)):
                continue
            for name, run, plan in demos:
                if word not in f"{name} {run} {plan}":
                    continue
                command = [cli, "record", "-o", os.path.join(folder, "demo.fourwalls"), "--model", *run.split(), "--plan", plan]
                begin, before = time.monotonic(), processor_seconds()
                done = subprocess.run(command, capture_output=True, text=True)
                took, used = time.monotonic() - begin, processor_seconds() - before
                failed = done.returncode != 0
                slow += failed or took > limit
                print(f"| {name} | `{run}" + (f' --plan "{plan}"' if plan else "") + f"` | {took:.1f} | {used:.1f} |" +
                      (f" FAILED: {done.stderr.strip().splitlines()[-1]}" if failed else " over the limit" if took > limit else ""),
                      flush=True)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
