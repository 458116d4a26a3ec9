# SPDX-License-Identifier: Apache-2.0
"""From the measured rates beside this file to rates by shape, kind and size: one rule for each, for every family of
devices that has rows. derive_constants.py calls this; README.md says what the tables hold.

A rule takes rows of bursts and micro-benchmarks; where a family has none, rows from forward passes or steps of models.
Every fit prints its error on the rows it was made from, and on the rows of a source that was left out.
"""
import csv
import math
import pathlib
import statistics

HERE = pathlib.Path(__file__).resolve().parent
# Rates of tiles against the largest one: a smaller tile reads more operand bytes per product. Assumed, from the ratio
# of operand traffic; model/cost/device_rates.cpp has the same list.
TILES = [(256, 128, 1.0), (128, 256, 1.0), (128, 128, 0.92), (256, 64, 0.85), (64, 256, 0.85),
         (128, 64, 0.75), (64, 128, 0.75), (64, 64, 0.6)]
NVIDIA = ("A100", "H100", "H200", "GB200", "GB300", "B200")


def table(name):
    with open(HERE / f"{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def gemm_seconds(shape, device, ceiling, ramp, kernel, precision="f16"):
    """Seconds of a batched matrix product; the same formula as model/cost/device_rates.cpp: whole waves of tiles, each
    with its ramp, or the operands' way through memory."""
    batch, m, n, k = shape
    sms, peak = device["multiprocessors"], device["peak_flops"][precision]
    best = math.inf
    for rows, columns, ratio in TILES:
        tiles = batch * math.ceil(m / rows) * math.ceil(n / columns)
        tile = 2.0 * rows * columns * k / (peak / sms) / ceiling / ratio
        best = min(best, math.ceil(tiles / sms) * (tile + ramp * rows * columns / (256 * 128)))
    moved = 2.0 * batch * (m * k + k * n + m * n)
    return max(best, moved / (0.8 * device["memory_bytes_per_second"])) + kernel


def products(device_prefix, precision, contexts):
    """(shape, seconds) of the products of a device."""
    points = []
    for row in table("products"):
        if row["device"].startswith(device_prefix) and row["precision"] == precision and row["context"] in contexts:
            shape = tuple(float(row[key] or 1) for key in ("batch", "m", "n", "k"))
            points.append((shape, float(row["time_us"]) * 1e-6))
    return points


def error_of(points, device, ceiling, ramp, kernel):
    """Mean absolute error of the logarithm."""
    return statistics.mean(abs(math.log(gemm_seconds(shape, device, ceiling, ramp, kernel) / seconds))
                           for shape, seconds in points)


def fit_products(points, device, kernel=3e-6, ramps=(0.2e-6, 0.5e-6, 1e-6, 1.5e-6, 2e-6, 3e-6, 4.5e-6, 6.8e-6)):
    """Ceiling and ramp of a wave that fit all products best, by mean absolute error of the logarithm, in steps of 0.5 % of
    the peak. kernel: start and end of a kernel in a stream, held: NVIDIA says 2 to 3 us, and the fit cannot tell it from
    the ramp."""
    def best(candidates):
        return min(candidates, key=lambda c: error_of(points, device, *c, kernel))

    ceiling, ramp = best([(c / 100, r) for c in range(40, 92, 4) for r in ramps])
    ceiling, ramp = best([(ceiling + step * 0.01, r) for step in range(-3, 4) for r in ramps])
    ceiling, ramp = best([(ceiling + step * 0.005, ramp) for step in range(-2, 3)])
    return ceiling, ramp, kernel, error_of(points, device, ceiling, ramp, kernel)


def attention_points(prefix, kinds, direction, peak):
    """(keys, width, fraction of the peak with causal work counted half, causal) of a device's fused kernels."""
    points = []
    for row in table("attention"):
        if not row["device"].startswith(prefix) or row["kind"] not in kinds or row["pass"] != direction:
            continue
        if row["precision"] not in ("fp16", "bf16"):
            continue
        width = float(row["head_dim"].split("/")[0])
        points.append((float(row["seq_k"]), width, float(row["tflops"]) * 1e12 / peak, row["causal"] == "true"))
    return points


def fit_attention(points):
    """rate = top x keys / (keys + half) of causal heads over 64 wide (of all, where none are causal), and the factor of
    narrower ones. half in steps of 5 %."""
    wide = [p for p in points if p[1] > 64 and p[3]] or [p for p in points if p[1] > 64] or points
    halves = [0.0] + [100 * 1.05 ** i for i in range(70)]

    def top_of(half):
        return statistics.median(rate * (keys + half) / keys for keys, _, rate, _ in wide)

    def loss(half):
        top = top_of(half)
        return sum(abs(math.log(rate / (top * keys / (keys + half)))) for keys, _, rate, _ in wide)

    half = min(halves, key=loss)
    top = top_of(half)
    narrow = [rate / (top * keys / (keys + half)) for keys, width, rate, causal in points if width <= 64 and causal]
    return top, half, min(1.0, statistics.median(narrow)) if narrow else 1.0, loss(half) / len(wide)


def memory_fractions(prefixes=NVIDIA):
    """Share of the memory's rate that kernels of a kind reach, as a median over rows of 64 MB and more."""
    rows = [r for r in table("memory_bound") if r["device"].startswith(prefixes) and r["fraction_of_peak"]]

    def median(choose, least=64e6):
        some = [float(r["fraction_of_peak"]) for r in rows if float(r["bytes"]) >= least and choose(r)]
        return round(statistics.median(some), 3) if len(some) >= 4 else None

    def plain(r):
        return r["op_class"] in ("elementwise", "residual_add")

    def burst(r):
        return "burst" in r["context"]

    def backward(r):
        return " bwd" in r["op"] or "backward" in r["op"]

    found = {
        # Sums and casts of whole tensors: bursts of 256 MB and more, or models where there are no bursts.
        "contiguous": median(lambda r: plain(r) and burst(r), 256e6) or median(plain, 16e6),
        "softmax": median(lambda r: r["op_class"] in ("softmax", "dropout")) or
                   median(lambda r: r["op_class"] in ("softmax", "dropout"), 16e6),
        # Casts to 8 bits find the largest number first: as element-wise kernels inside models.
        "cast": median(lambda r: plain(r) and not burst(r)) or median(lambda r: r["op_class"] == "copy_cast", 16e6),
        # Kernels as in frameworks: the cards that such kernels were measured on, all implementations.
        "norm": median(lambda r: r["op_class"] == "norm" and not backward(r) and
                       r["device"].startswith(("A100", "H100", "MI"))) or
                median(lambda r: r["op_class"] == "norm" and not backward(r), 16e6),
        "norm_backward": median(lambda r: r["op_class"] == "norm" and backward(r) and
                                r["device"].startswith(("H200", "MI"))),
        # Copies that change the order of elements.
        "layout": median(lambda r: r["op_class"] == "copy_cast" and r["kernel"].startswith("elementwise_kernel"), 16e6) or
                  median(lambda r: r["op_class"] == "copy_cast", 16e6),
    }
    if found["norm"] and not found["norm_backward"]:
        found["norm_backward"] = found["norm"]
    return {kind: value for kind, value in found.items() if value}


def nodes_latency():
    """What an all-reduce between nodes takes beyond bytes over bandwidth: growth x sqrt(nodes) x bytes / (bytes + half).
    From all-reduces of 1 to 300 MB on 4 to 512 nodes of GH200; the bandwidth is that of 4 GB on 4 to 64 nodes. Fitted to
    the median of the logarithm, since single rows of this set are several times off their neighbours."""
    rows = [r for r in table("collectives") if r["device"] == "GH200" and r["operation"] == "allreduce" and
            r["nodes"] not in ("", "1", "2")]
    bandwidth = statistics.median(float(r["busbw_gb_s"]) for r in rows if float(r["payload_bytes"]) > 4e9)
    points = []
    for r in rows:
        size, ranks, nodes = float(r["payload_bytes"]), int(r["ranks"]), int(r["nodes"])
        if 1e6 <= size <= 3e8:
            moved = 2 * (ranks - 1) / ranks * size
            points.append((size, nodes, moved / (bandwidth * 1e9), moved / (float(r["busbw_gb_s"]) * 1e9)))

    def loss(growth, half):
        return statistics.mean(abs(math.log((wire + growth * math.sqrt(nodes) * size / (size + half)) / seconds))
                               for size, nodes, wire, seconds in points)

    grid = [(g * 1e-5, h * 1e6) for g in range(5, 60) for h in (0.5, 1, 2, 4, 8, 16)]
    growth, half = min(grid, key=lambda point: loss(*point))
    return growth, half, loss(growth, half), loss(0, half)


def eager_launches():
    """From one launch of a thread to its next where the device waits for the host, in steps of eager PyTorch on GPUs of data
    centres [us], by repository: the median of its profiles with a hundred such intervals or more, none of which kept stacks."""
    by_repository = {}
    for r in table("host"):
        if "RTX" not in r["device"] and int(r["samples"]) >= 100:
            by_repository.setdefault(r["source"].split(":")[0], []).append(float(r["median_us"]))
    return sorted(statistics.median(values) for values in by_repository.values())


def beside_fraction():
    """Rate of transfers inside a step against the same transfer alone: the exchange of experts on eight nodes of H800
    (dispatch and combine) and the one all-reduce of the MI350 step with steady times (README, finding 4)."""
    alone = {}
    for r in table("collectives"):
        if r["device"] == "H800" and r["ranks"] == "64" and r["context"] == "nccl-tests" and r["busbw_gb_s"]:
            alone["dispatch" if "dispatch" in r["operation"] else "combine"] = float(r["algbw_gb_s"] or r["busbw_gb_s"])
    shares = []
    for r in table("collectives"):
        if r["device"] == "H800" and r["context"] == "in_step" and (r["algbw_gb_s"] or r["busbw_gb_s"]):
            kind = "dispatch" if "dispatch" in r["operation"] else "combine"
            shares.append(float(r["algbw_gb_s"] or r["busbw_gb_s"]) / alone[kind])
    return shares
