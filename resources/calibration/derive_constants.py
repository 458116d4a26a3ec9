#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Derives the cost model's constants from micro-benchmarks and data sheets, and from nothing else.

Reads resources/validation/gemm-measured.csv, resources/validation/collectives-measured.csv and the device presets
(data sheets), and writes resources/presets/calibration/published.json. No table of training steps is opened; a test
watches every file that this script opens (tests/model/spec/calibration_inputs.py).

    derive_constants.py [--check]   # --check: fail if the file in the tree differs from what would be written
"""
import csv
import json
import math
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GEMM = ROOT / "resources/validation/gemm-measured.csv"
COLLECTIVES = ROOT / "resources/validation/collectives-measured.csv"
DEVICES = ROOT / "resources/presets/devices"
OUTPUT = ROOT / "resources/presets/calibration/published.json"

# Rates of tiles against the largest one: a smaller tile reads more operand bytes per product. Assumed, from the ratio
# of operand traffic; model/cost/gemm_time.cpp has the same list.
TILES = [(256, 128, 1.0), (128, 256, 1.0), (128, 128, 0.92), (256, 64, 0.85), (64, 256, 0.85),
         (128, 64, 0.75), (64, 128, 0.75), (64, 64, 0.6)]
KERNEL_SECONDS = 5e-6  # start and end of a kernel in a stream; assumed, between NVIDIA's 2-3 us and 7 us of a launch


def gemm_seconds(shape, device, ceiling, ramp, precision="f16"):
    """Seconds of a batched matrix product; the same formula as model/cost/gemm_time.cpp."""
    batch, m, n, k = shape
    sms, peak = device["multiprocessors"], device["peak_flops"][precision]
    best = math.inf
    for rows, columns, ratio in TILES:
        tiles = batch * math.ceil(m / rows) * math.ceil(n / columns)
        waves = math.ceil(tiles / sms)
        tile = 2.0 * rows * columns * k / (peak / sms) / ceiling / ratio
        best = min(best, waves * (tile + ramp * rows * columns / (256 * 128)))
    moved = 2.0 * batch * (m * k + k * n + m * n)
    return max(best, moved / (0.8 * device["memory_bytes_per_second"])) + KERNEL_SECONDS


def eleuther_shape(row):
    """(batch, m, n, k) of a row of the EleutherAI table, or None."""
    numbers = [int(x) for x in re.findall(r"\d+", row["shape"].split(" b=")[0])]
    operation = row["op"]
    if operation == "matmul m x n x k":
        m, n, k = numbers
        return 1, m, n, k
    if operation == "logit_block":  # micro-batch x vocabulary x hidden
        return 1, numbers[0] * 2048, numbers[1], numbers[2]
    if " b=" in row["shape"]:  # micro-batch x in x out, sequence 2048
        return 1, numbers[0] * 2048, numbers[2], numbers[1]
    batch, m, k, n = numbers  # batched products: b x m x k x n
    return batch, m, n, k


def fit_ampere(rows, device):
    """Ceiling and ramp of the transformer-sized products: the ramp fits all of them best, in the logarithm; under it the
    ceiling is that of the linear layers, which take most of a step."""
    chosen = [r for r in rows if "Eleuther" in r["source"] and r["op"] != "matmul m x n x k"]
    points = [(eleuther_shape(r), float(r["tflops"])) for r in chosen]

    def loss(ceiling, ramp):
        total = 0.0
        for shape, tflops in points:
            batch, m, n, k = shape
            seconds = 2.0 * batch * m * n * k / tflops * 1e-12
            total += math.log(gemm_seconds(shape, device, ceiling, ramp) / seconds) ** 2
        return total

    grid = [(c / 1000, r * 1e-7) for c in range(800, 960, 5) for r in range(10, 120, 2)]
    ceiling, ramp = min(grid, key=lambda point: loss(*point))
    residual = math.sqrt(loss(ceiling, ramp) / len(points))
    points = [(eleuther_shape(r), float(r["tflops"])) for r in chosen if " b=" in r["shape"] or r["op"] == "logit_block"]
    ceiling = min((c / 1000 for c in range(800, 960)), key=lambda c: loss(c, ramp))
    return ceiling, ramp, residual


def best_ceiling(row, device, ramp, precision):
    """The ceiling that explains the best product found on a device, ramp held."""
    m, n, k = (int(x) for x in row["shape"].split("x"))
    seconds = 2.0 * m * n * k / float(row["tflops"]) * 1e-12
    low, high = 0.05, 2.0
    for _ in range(60):
        middle = (low + high) / 2
        if gemm_seconds((1, m, n, k), device, middle, ramp, precision) > seconds:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def device_file(name):
    with open(DEVICES / f"{name}.json", encoding="utf-8") as file:
        return json.load(file)


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def curve(rows, family, operation, ranks, link, cap=math.inf):
    """A measured curve, made rising: a larger message is never slower per byte than the table's noise says."""
    points = {}
    for row in rows:
        size = float(row["bytes"])
        if row["busbw_gbps"]:
            busbw = float(row["busbw_gbps"]) * 1e9
        else:
            factor = 2 * (ranks - 1) / ranks if row["collective"] == "all_reduce" else (ranks - 1) / ranks
            busbw = factor * size / (float(row["time_us"]) * 1e-6)
        points.setdefault(size, []).append(busbw)
    sizes = sorted(points)
    return {"family": family, "operation": operation, "ranks": ranks, "link_bytes_per_second": link,
            "bytes": sizes,
            "bus_bytes_per_second": [round(min(cap, statistics.median(points[s]))) for s in sizes]}


def collectives(rows):
    curves = []
    a100 = [r for r in rows if "A100" in r["hardware"] and r["collective"] == "all_reduce" and r["gpus"] == "8"]
    curves.append(curve(a100, "ampere", "all_reduce", 8, 300e9))
    unnamed = [r for r in rows if "not named" in r["hardware"] and r["bytes"]]
    for ranks in (2, 4, 8):
        for operation in ("all_reduce", "all_to_all"):
            some = [r for r in unnamed if r["collective"] == operation and r["gpus"] == str(ranks)]
            if some and not (operation == "all_reduce" and ranks == 8):
                curves.append(curve(some, "ampere", operation, ranks, 300e9))
    h200 = [r for r in rows if "H200" in r["hardware"] and r["gpus"] == "8" and "bench" in r["notes"]]
    ring = [float(r["busbw_gbps"]) * 1e9 for r in rows
            if "H200" in r["hardware"] and r["collective"] in ("all_gather", "reduce_scatter")]
    curves.append(curve(h200, "hopper", "all_reduce", 8, 450e9))
    # Gathers never run in the switch: the all-reduce curve up to what the ring reaches.
    curves.append(curve(h200, "hopper", "all_gather", 8, 450e9, cap=statistics.mean(ring)))
    return curves


def main():
    gemm, measured = read(GEMM), read(COLLECTIVES)
    a100 = device_file("a100-sxm-40gb")
    ceiling, ramp, residual = fit_ampere(gemm, a100)
    # The other families have only the best product that a search over thousands found; typical products of a
    # transformer reach the same share of the best one as on the A100.
    best = {r["gpu"] + " " + r["dtype"]: r for r in gemm if r["op"] == "best matmul found"}
    typical = ceiling / best_ceiling(best["A100-SXM bf16"], a100, ramp, "bf16")

    def family(name, half, eight=None, hold=ramp):
        device = device_file(name)
        result = {"bf16": half and typical * best_ceiling(best[half], device, hold, "bf16")}
        if eight:
            result["fp8"] = typical * best_ceiling(best[eight], device, hold, "fp8")
        return {key: round(min(value, 1.0), 4) for key, value in result.items()}

    # Blackwell overlaps the end of one tile with the next: the ramp under which the best products of B200 and B300
    # (same peak, depths of 3072 and 1024) give the same ceiling.
    b200 = device_file("b200-sxm-180gb")

    def disagreement(hold):
        pair = [best_ceiling(best[key], b200, hold, "bf16") for key in ("B200-SXM bf16", "B300-SXM bf16")]
        return abs(math.log(pair[0] / pair[1]))

    short = min((step * 1e-7 for step in range(1, 70)), key=disagreement)
    hopper = family("h100-sxm-80gb", "H100-SXM bf16", "H100-SXM fp8")
    blackwell = family("b200-sxm-180gb", "B200-SXM bf16", "B200-SXM fp8", short)
    for rates in (hopper, blackwell):
        rates["f16"], rates["f32"], rates["tf32"] = rates["bf16"], round(ceiling, 4), rates["bf16"]
    # Products on a part that is held at 500 of its 700 W: the ceiling that explains them against that at full power.
    held, full = device_file("h100-sxm-96gb-500w"), device_file("h100-sxm-80gb")
    ceilings = [best_ceiling(r, full, ramp, "bf16") for r in gemm if r["op"] == "product under a power limit"]
    exponent = (math.log(statistics.median(ceilings) / hopper["bf16"]) /
                math.log(held["power_watts"] / held["full_power_watts"]))
    dense = {"f32": round(ceiling, 4), "tf32": round(ceiling, 4), "f16": round(ceiling, 4), "bf16": round(ceiling, 4)}

    # Dropout over the scores of a layer: 2 bytes read, 2 written, a mask of 1, 4 x 16 heads of 2048 x 2048.
    note = next(r["notes"] for r in gemm if "dropout" in r["notes"])
    dropout = float(re.search(r"dropout ([\d.]+) ms", note).group(1)) * 1e-3
    memory = round(5 * 64 * 2048 ** 2 / dropout / a100["memory_bytes_per_second"], 3)

    # What one small product takes beyond the model: the host's share of a launch that is waited for.
    small = [r for r in gemm if r["op"] == "matmul m x n x k"]
    launches = []
    for row in small:
        shape = eleuther_shape(row)
        seconds = 2.0 * shape[1] * shape[2] * shape[3] / float(row["tflops"]) * 1e-12
        launches.append(seconds - gemm_seconds(shape, a100, ceiling, ramp))

    h200 = [r for r in measured if "H200" in r["hardware"] and r["collective"] in ("all_gather", "reduce_scatter")]
    node = statistics.mean([float(r["busbw_gbps"]) / 450 for r in h200] +
                           [max(float(r["busbw_gbps"]) for r in measured
                                if "A100" in r["hardware"] and r["busbw_gbps"]) / 300])

    # Between nodes over Omni-Path: the benchmark's rings pass through one adapter in each direction.
    omni = [r for r in measured if "Omni-Path" in r["hardware"]]
    omni_path = statistics.mean(float(r["busbw_gbps"]) / 12.5 for r in omni)

    # Fused attention kernels, share of the peak with causal work counted half. Published kernel benchmarks:
    # flash1: Triton kernel of FlashAttention 1 on A100, 100-120 TFLOP/s (recalled); flash2: arXiv:2307.08691,
    # figures 4-7, causal, head width 128, A100 and H100; sdpa: PyTorch's on H100 (288-304 TFLOP/s);
    # flash3: arXiv:2407.08608, figures 5-6, and cuDNN likewise.
    attention = {
        "ampere": {"flash1": (0.35, 0.30), "flash2": (0.60, 0.50), "flash3": (0.60, 0.50)},
        "hopper": {"flash1": (0.20, 0.17), "flash2": (0.33, 0.28), "flash3": (0.58, 0.47), "sdpa": (0.30, 0.25)},
        "blackwell": {"flash2": (0.16, 0.13), "flash3": (0.55, 0.45)},
        "other": {"flash1": (0.30, 0.25), "flash2": (0.40, 0.33), "flash3": (0.40, 0.33)},
    }

    def block(rates, name, hold):
        return {"gemm_ceiling": rates, "ramp_seconds": hold, "memory_fraction": memory,
                "attention": {k: {"forward": f, "backward": b} for k, (f, b) in attention[name].items()}}

    constants = {
        "source": "written by resources/calibration/derive_constants.py from gemm-measured.csv, "
                  "collectives-measured.csv and the device presets",
        "kernel_seconds": KERNEL_SECONDS,
        # The slowest of the four: an operator of a training step carries Python and autograd on top of a launch.
        "synchronous_launch_seconds": round(max(launches), 7),
        "node_link_fraction": round(node, 3),
        "network_fraction": round(node, 3),  # other networks, assumed: as well used as links inside the node
        "network_fractions": {"omni_path": round(omni_path, 3)},
        "host_link_fraction": 0.8,           # assumed
        "contention": 0.189,                 # mean slowdown of overlapped computation, arXiv:2507.03114
        # 8 % mean variation between equal GPUs (arXiv:2208.11035), read as the range of a box plot's whiskers: 5.4
        # standard deviations.
        "device_spread": 0.015,
        "routing_imbalance": 1.2,            # forced balance to natural routing at 16K: 20 %, Qwen3-235B
        "families": {
            "ampere": block(dense, "ampere", round(ramp, 9)),
            "hopper": block(hopper, "hopper", round(ramp, 9)) | {"power_exponent": round(exponent, 3)},
            "blackwell": block(blackwell, "blackwell", round(short, 9)),
            "other": block(dense, "other", round(ramp, 9)),
        },
        "collectives": collectives(measured),
    }
    text = json.dumps(constants, indent=1) + "\n"
    print(f"matrix products: ceiling {ceiling:.3f}, ramp {ramp * 1e6:.1f} us, residual {residual * 100:.1f} %; typical "
          f"against best {typical:.3f}; hopper {hopper}; blackwell {blackwell}, ramp {short * 1e6:.1f} us; power "
          f"{exponent:.3f}; memory {memory}; "
          f"launch {[round(x * 1e6, 1) for x in launches]} us; node link {node:.3f}")
    if "--check" in sys.argv:
        if OUTPUT.read_text(encoding="utf-8") != text:
            sys.exit(f"{OUTPUT.name} is not what its inputs give: run derive_constants.py")
        return
    OUTPUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
