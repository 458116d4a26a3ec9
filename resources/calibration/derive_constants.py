#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Derives the cost model's constants from measured rates and data sheets, and from two numbers that steps alone show.

Reads the tables beside this file (README.md), resources/validation/gemm-measured.csv, collectives-measured.csv and the
device presets (data sheets), and writes resources/presets/calibration/published.json. No table of training steps is
opened; a test watches every file that this script opens (tests/model/spec/calibration_inputs.py). What only whole steps
show, the clock under lasting load and the width of the band, comes from from_steps.json, which
resources/validation/fit_from_steps.py writes, with what it is when each source is left out.

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

FROM_STEPS = pathlib.Path(__file__).resolve().parent / "from_steps.json"
KERNEL_SECONDS = 5e-6  # start and end of an element-wise kernel in a stream; assumed, between NVIDIA's 2-3 us and 7 us of a launch

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measured_rates as measured_in  # noqa: E402


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


def best_ceiling(row, device, ramp, precision, kernel=3e-6):
    """The ceiling that explains the best product found on a device, ramp held."""
    m, n, k = (int(x) for x in row["shape"].split("x"))
    seconds = 2.0 * m * n * k / float(row["tflops"]) * 1e-12
    low, high = 0.05, 2.0
    for _ in range(60):
        middle = (low + high) / 2
        if measured_in.gemm_seconds((1, m, n, k), device, middle, ramp, kernel, precision) > seconds:
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
    a100, h100, mi300, mi355 = (device_file(n) for n in ("a100-sxm-40gb", "h100-sxm-80gb", "mi300x", "mi355x"))
    burst, forward, step = ("microbenchmark_burst",), ("in_forward",), ("in_step",)
    on_a100 = measured_in.products("A100", "fp16", burst)
    on_h100 = measured_in.products("H100", "fp16", burst)
    fits = {"ampere": measured_in.fit_products(on_a100, a100), "hopper": measured_in.fit_products(on_h100, h100),
            "cdna3": measured_in.fit_products(measured_in.products("MI300X", "bf16", forward), mi300, KERNEL_SECONDS),
            "cdna4": measured_in.fit_products(measured_in.products("MI350", "bf16", step), mi355, KERNEL_SECONDS)}
    for name, (ceiling, ramp, kernel, error) in fits.items():
        print(f"products of {name}: ceiling {ceiling:.3f}, ramp {ramp * 1e6:.1f} us, kernel {kernel * 1e6:.0f} us, mean "
              f"error {error * 100:.1f} %")
    # A source left out: the other table of A100 products under the fit, and forward passes of models on H100.
    chosen = [r for r in gemm if "Eleuther" in r["source"] and r["op"] != "matmul m x n x k"]
    other = []
    for r in chosen:
        shape = eleuther_shape(r)
        other.append((shape, 2.0 * math.prod(shape) / float(r["tflops"]) * 1e-12))
    models = [(s, t) for s, t in measured_in.products("H100", "bf16", forward) if 2 * math.prod(s) > 1e10]
    for what, points, device, name in (("EleutherAI's products on A100", other, a100, "ampere"),
                                       ("products of forward passes on H100", models, h100, "hopper")):
        print(f"left out: {what}, mean error {measured_in.error_of(points, device, *fits[name][:3]) * 100:.1f} %")

    # The other formats have only the best product that a search over thousands found; typical products of a transformer
    # reach the same share of the best one as in half precision on the same family, or on the A100.
    best = {r["gpu"] + " " + r["dtype"]: r for r in gemm if r["op"] == "best matmul found"}
    ceiling, ramp = fits["ampere"][:2]
    short = fits["hopper"][1]
    typical = ceiling / best_ceiling(best["A100-SXM bf16"], a100, ramp, "bf16")
    # Blackwell overlaps the end of one tile with the next: the ramp under which the best products of B200 and B300
    # (same peak, depths of 3072 and 1024) give the same ceiling.
    b200 = device_file("b200-sxm-180gb")

    def disagreement(hold):
        pair = [best_ceiling(best[key], b200, hold, "bf16") for key in ("B200-SXM bf16", "B300-SXM bf16")]
        return abs(math.log(pair[0] / pair[1]))

    tight = min((step * 1e-7 for step in range(1, 70)), key=disagreement)

    def rates(half, eight=None, full=ceiling):
        result = {"bf16": half, "f16": half, "f32": full, "tf32": half}
        if eight:
            result["fp8"] = eight
        return {key: round(min(value, 1.0), 4) for key, value in result.items()}

    typical_hopper = fits["hopper"][0] / best_ceiling(best["H100-SXM bf16"], h100, short, "bf16")
    hopper = rates(fits["hopper"][0], typical_hopper * best_ceiling(best["H100-SXM fp8"], h100, short, "fp8"))
    blackwell = rates(typical * best_ceiling(best["B200-SXM bf16"], b200, tight, "bf16"),
                      typical * best_ceiling(best["B200-SXM fp8"], b200, tight, "fp8"))
    dense = rates(ceiling)
    # Products on a part that is held at 500 of its 700 W: the ceiling that explains them against that at full power.
    held = device_file("h100-sxm-96gb-500w")
    ceilings = [best_ceiling(r, h100, short, "bf16") for r in gemm if r["op"] == "product under a power limit"]
    sustained = json.loads(FROM_STEPS.read_text(encoding="utf-8"))
    exponent = (math.log(statistics.median(ceilings) / hopper["bf16"]) /
                math.log(held["power_watts"] / held["full_power_watts"]))

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
        launches.append(seconds - measured_in.gemm_seconds(shape, a100, ceiling, ramp, KERNEL_SECONDS))

    eager = measured_in.eager_launches()

    h200 = [r for r in measured if "H200" in r["hardware"] and r["collective"] in ("all_gather", "reduce_scatter")]
    node = statistics.mean([float(r["busbw_gbps"]) / 450 for r in h200] +
                           [max(float(r["busbw_gbps"]) for r in measured
                                if "A100" in r["hardware"] and r["busbw_gbps"]) / 300])

    # Between nodes over Omni-Path: the benchmark's rings pass through one adapter in each direction.
    omni = [r for r in measured if "Omni-Path" in r["hardware"]]
    omni_path = statistics.mean(float(r["busbw_gbps"]) / 12.5 for r in omni)

    def attention_of(forward_points, backward_points, both_points=None):
        """Rates of one kernel: forward and backward apart, or both from their sum, divided as arXiv:2307.08691 has them."""
        if both_points:
            top, half, narrow, _ = measured_in.fit_attention(both_points)
            share = 0.50 / 0.60  # figures 5 and 6 there: backward against forward
            forward_top = top * (1 / 3.5 + 2.5 / 3.5 / share)
            backward_top, forward_half, backward_half = forward_top * share, half, half
        else:
            forward_top, forward_half, narrow, _ = measured_in.fit_attention(forward_points)
            backward_top, backward_half, _, _ = measured_in.fit_attention(backward_points)
        return {"forward": round(forward_top, 3), "backward": round(backward_top, 3),
                "forward_half_keys": round(forward_half), "backward_half_keys": round(backward_half),
                "narrow": round(narrow, 3)}

    def points(prefix, kinds, direction, device):
        return measured_in.attention_points(prefix, kinds, direction, device["peak_flops"]["bf16"])

    gb200, h200 = device_file("gb200-186gb"), device_file("h200-sxm-141gb")
    flash2 = attention_of(None, None, points("A100", ("flash2",), "fwd+bwd", a100))
    flash3 = attention_of(points("H100", ("flash3",), "fwd", h100), points("H200", ("cudnn",), "bwd", h200))
    cudnn = attention_of(points("GB200", ("cudnn",), "fwd", gb200), points("GB200", ("cudnn",), "bwd", gb200))
    # flash1: Triton kernel of FlashAttention 1 on A100, 100-120 TFLOP/s (recalled); sdpa: PyTorch's on H100 (288-304
    # TFLOP/s); on Blackwell PyTorch takes cuDNN's kernel for all of them. Families without rows: flash2 of arXiv:2307.08691
    # two thirds as well used; MI300X agrees (519 TFLOP/s forward, 0.40 of the peak, attention.csv).
    hopper2 = attention_of(None, None, points("H100", ("flash2",), "fwd+bwd", h100))
    plain = {"flash1": {"forward": 0.30, "backward": 0.25}, "flash2": {"forward": 0.40, "backward": 0.33},
             "flash3": {"forward": 0.40, "backward": 0.33}, "sdpa": {"forward": 0.40, "backward": 0.33}}
    attention = {
        "ampere": {"flash1": {"forward": 0.35, "backward": 0.30}, "flash2": flash2, "flash3": flash2, "sdpa": flash2},
        "hopper": {"flash1": {"forward": 0.20, "backward": 0.17}, "flash2": hopper2, "flash3": flash3,
                   "sdpa": {"forward": 0.30, "backward": 0.25}},
        "blackwell": {"flash1": cudnn, "flash2": cudnn, "flash3": cudnn, "sdpa": cudnn},
    }

    fractions = {"cdna3": measured_in.memory_fractions(("MI300X",)), "cdna4": measured_in.memory_fractions(("MI350",))}
    usual = measured_in.memory_fractions()
    growth, half, error, without = measured_in.nodes_latency()
    beside = measured_in.beside_fraction()
    print(f"memory {usual}; between nodes {growth * 1e3:.2f} ms x sqrt(nodes), half of it at {half / 1e6:.0f} MB, mean error "
          f"{error * 100:.0f} % (without it {without * 100:.0f} %); beside computation {[round(x, 2) for x in beside]}")

    def block(ceilings, name, hold, kernel, relative=""):
        result = {"gemm_ceiling": ceilings, "ramp_seconds": hold, "gemm_kernel_seconds": kernel,
                  "memory_fraction": memory, "memory_fractions": fractions.get(name, usual),
                  "attention": attention.get(name, plain)}
        if name in sustained["sustained_clock"]:
            result["sustained_clock"] = sustained["sustained_clock"][name]
        elif name in fits:  # no training step: nine in ten of its products, if they are spread as errors are
            result["step_band"] = round(1.645 / math.sqrt(2 / math.pi) * fits[name][3], 3)
        return result | ({"relative": relative} if relative else {})

    def amd(name):
        peak = round(fits[name][0], 4)
        return {"bf16": peak, "f16": peak, "f32": peak, "tf32": peak, "fp8": peak}

    # CloudMatrix384 (arXiv:2506.12708): int8 products on Ascend 910 at 77 to 83 % of the peak (recalled).
    ascend = {"bf16": 0.8, "f16": 0.8, "f32": 0.8}

    constants = {
        "source": "written by resources/calibration/derive_constants.py from the tables beside it, gemm-measured.csv, "
                  "collectives-measured.csv, the device presets and from_steps.json",
        "kernel_seconds": KERNEL_SECONDS,
        # The slowest of the four: an operator of a training step carries Python and autograd on top of a launch.
        "synchronous_launch_seconds": round(max(launches), 7),
        # A launch of an operator of eager PyTorch, with Python and autograd around it.
        "eager_launch_seconds": round(statistics.median(eager) * 1e-6, 7),
        "node_link_fraction": round(node, 3),
        "network_fraction": round(node, 3),  # other networks, assumed: as well used as links inside the node
        "network_fractions": {"omni_path": round(omni_path, 3)},
        "host_link_fraction": 0.8,           # assumed
        # Adam on the host, arXiv:2101.06840, table 4: 8e9 parameters in 2.4 s at 28 bytes each, on a host of 256 GB/s
        # (recalled).
        "host_optimizer_fraction": 0.36,
        "beside_fraction": round(statistics.mean(beside), 3),
        "nodes_latency_seconds": growth,
        "nodes_latency_bytes": half,
        "contention": 0.189,                 # mean slowdown of overlapped computation, arXiv:2507.03114
        # 8 % mean variation between equal GPUs (arXiv:2208.11035), read as the range of a box plot's whiskers: 5.4
        # standard deviations.
        "device_spread": 0.015,
        # Half-widths of the band in the logarithm. A family that another one stands for may be as far from it as the
        # families that were measured are apart. Per doubling of devices beyond a node: what the error of earlier versions
        # grew by inside sweeps that nobody developed against (9 % at 8 devices, 17 % at 512).
        "band": sustained["band"] | {
            "unmeasured": round(math.log(fits["ampere"][0] / min(fit[0] for fit in fits.values())), 3),
            "per_doubling": round(0.08 / 6, 4)},
        "routing_imbalance": 1.2,            # forced balance to natural routing at 16K: 20 %, Qwen3-235B
        "families": {
            "ampere": block(dense, "ampere", round(ramp, 9), fits["ampere"][2]),
            "hopper": block(hopper, "hopper", round(short, 9), fits["hopper"][2]) |
                      {"power_exponent": round(exponent, 3)},
            "blackwell": block(blackwell, "blackwell", round(tight, 9), fits["hopper"][2]),
            "cdna3": block(amd("cdna3"), "cdna3", fits["cdna3"][1], fits["cdna3"][2]),
            "cdna4": block(amd("cdna4"), "cdna4", fits["cdna4"][1], fits["cdna4"][2]),
            "ascend": block(ascend, "ascend", round(ramp, 9), fits["ampere"][2], "ampere"),
            "other": block(dense, "other", round(ramp, 9), fits["ampere"][2], "ampere"),
        },
        "collectives": collectives(measured),
    }
    text = json.dumps(constants, indent=1) + "\n"
    print(f"typical against best {typical:.3f}; hopper {hopper}; blackwell {blackwell}, ramp {tight * 1e6:.1f} us; power "
          f"{exponent:.3f}; memory {memory}; "
          f"launch {[round(x * 1e6, 1) for x in launches]} us; eager launch {eager} us, by "
          f"repository; node link {node:.3f}")
    if "--check" in sys.argv:
        if OUTPUT.read_text(encoding="utf-8") != text:
            sys.exit(f"{OUTPUT.name} is not what its inputs give: run derive_constants.py")
        return
    OUTPUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
