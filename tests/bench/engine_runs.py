# SPDX-License-Identifier: Apache-2.0
"""What scripts that hold predictions against the engine ask of fourwalls-cli, and its tables of kernel times."""
import json
import os
import statistics
import subprocess


def ask(cli, *arguments):
    done = subprocess.run([cli, *arguments, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip().splitlines()[-1:]}")
    return json.loads(done.stdout)


def measured(cli, job, table):
    """What the kernels of `job`, arguments of `record`, take now."""
    if os.path.exists(table):
        os.remove(table)
    ask(cli, "record", "--no-trace", *job, "--clock", "device", "--steps", "4", "--kernel-times", table)
    with open(table, encoding="utf-8") as file:
        return json.load(file)["kernel_times"]


def write_medians(table, recordings):
    times = {}
    for recording in recordings:
        for kernel in recording:
            kernel = dict(kernel)
            nanoseconds = kernel.pop("ns")
            times.setdefault(json.dumps(kernel, sort_keys=True), []).append(nanoseconds)
    with open(table, "w", encoding="utf-8") as file:
        json.dump({"kernel_times": [{**json.loads(kernel), "ns": statistics.median_low(took)}
                                    for kernel, took in times.items()]}, file)


def take_by_law(table):
    """Kernels take what a law says of their FLOPs and bytes, whatever the machine does: what is left is the model's own."""
    with open(table, encoding="utf-8") as file:
        kernels = json.load(file)["kernel_times"]
    for kernel in kernels:
        flops = 60e9 if kernel["name"].startswith("matmul") else 20e9
        kernel["ns"] = 300 + int(1e9 * (kernel["flops"] / flops + kernel["bytes"] / 15e9))
    with open(table, "w", encoding="utf-8") as file:
        json.dump({"kernel_times": kernels}, file)
