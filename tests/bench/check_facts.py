#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `fourwalls-cli facts` with a computation of its own (exact decimals, no shared code) over any profiles.

Usage: check_facts.py PATH-OF-fourwalls-cli FILES AND FOLDERS
Prints one line per file that differs and a count at the end; the exit code is 1 if any differs. Files that Python
cannot read (broken JSON) and that fourwalls-cli refuses are listed, not compared.
"""
import decimal
import gzip
import json
import os
import pickle
import sqlite3
import subprocess
import sys
from decimal import Decimal

decimal.getcontext().prec = 60
KERNEL, COPY, SET = {"kernel", "Kernel"}, {"gpu_memcpy", "Memcpy"}, {"gpu_memset", "Memset"}
RUNTIME = {"cuda_runtime", "cuda_driver", "Runtime", "mtia_runtime"}


def union(intervals):
    total, end = Decimal(0), None
    for a, b in sorted(intervals):
        if end is None or a > end:
            total += b - a
            end = b
        elif b > end:
            total += b - end
            end = b
    return total


def is_nccl(name):
    return "nccl" in str(name).lower() or "rccl" in str(name).lower()


def number(value):
    """A time as an exact decimal; None for what is none (null, text without digits, infinities)."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        decimals = Decimal(value) if isinstance(value, (str, int, Decimal)) else None
    except decimal.InvalidOperation:
        return None
    return decimals if decimals is not None and decimals.is_finite() else None


def load_json(raw):
    text = raw.decode("utf-8-sig", errors="replace")
    return json.loads(text, parse_float=Decimal, parse_constant=lambda _: None, strict=False)


def chrome_facts(data):
    header = data if isinstance(data, dict) else {}
    events = data if isinstance(data, list) else data["traceEvents"]
    objects = [e for e in events if isinstance(e, dict)]
    base = number(header.get("baseTimeNanoseconds")) or Decimal(0)
    complete = [e for e in objects if e.get("ph") == "X"]

    def of(categories):
        return [e for e in complete if e.get("cat") in categories]

    def dur(event):
        return number(event.get("dur")) or Decimal(0)

    def interval(event):
        ts = number(event.get("ts"))
        return None if ts is None else (ts, ts + dur(event))

    def hull(chosen):
        spans = [i for i in map(interval, chosen) if i]
        return None if not spans else (min(a for a, _ in spans), max(b for _, b in spans))

    kernels, copies, sets = of(KERNEL), of(COPY), of(SET)
    nccl = [e for e in kernels if is_nccl(e.get("name"))]
    span = hull([e for e in complete if e.get("cat") != "Trace"])
    gpu = hull(kernels + copies + sets)
    phases = {}
    for event in objects:
        phases[event.get("ph")] = phases.get(event.get("ph"), 0) + 1
    args = [e.get("args") if isinstance(e.get("args"), dict) else {} for e in kernels]
    return {
        "events_total": len(events),
        "gpu_kernel_events": len(kernels),
        "gpu_kernel_time_us": sum(map(dur, kernels), Decimal(0)),
        "gpu_kernel_busy_us": union([i for i in map(interval, kernels) if i]),
        "nccl_kernels": len(nccl),
        "nccl_time_us": sum(map(dur, nccl), Decimal(0)),
        "memcpy_events": len(copies),
        "memcpy_time_us": sum(map(dur, copies), Decimal(0)),
        "memset_events": len(sets),
        "span_us": span and span[1] - span[0],
        "gpu_span_us": gpu and gpu[1] - gpu[0],
        "first_event_ns": span and span[0] * 1000 + base,
        "streams": len({(str(a["device"]), str(a["stream"])) for a in args if "device" in a and "stream" in a}),
        "cpu_op_events": len(of({"cpu_op", "Operator"})),
        "runtime_events": len(of(RUNTIME)),
        "python_function_events": len(of({"python_function"})),
        "memory_instants": sum(e.get("name") == "[memory]" for e in objects),
        "flow_start": phases.get("s", 0),
        "flow_end": phases.get("f", 0),
        "profiler_steps": len({e["name"] for e in objects if str(e.get("name", "")).startswith("ProfilerStep")}),
    }


def nsight_facts(path):
    database = sqlite3.connect("file:" + path + "?immutable=1", uri=True)
    tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    strings = dict(database.execute("SELECT id, value FROM StringIds"))

    def rows(table, columns):
        if table not in tables:
            return []
        present = {row[1] for row in database.execute(f"PRAGMA table_info({table})")}
        return list(database.execute("SELECT " + ",".join(c if c in present else "NULL" for c in columns) + f" FROM {table}"))

    kernels = rows("CUPTI_ACTIVITY_KIND_KERNEL", ["start", "end", "deviceId", "streamId", "demangledName", "shortName"])
    copies = rows("CUPTI_ACTIVITY_KIND_MEMCPY", ["start", "end"])
    sets = rows("CUPTI_ACTIVITY_KIND_MEMSET", ["start", "end"])
    calls = rows("CUPTI_ACTIVITY_KIND_RUNTIME", ["start", "end"])
    ranges = [r for r in rows("NVTX_EVENTS", ["start", "end", "eventType"]) if r[2] in (59, 60, 70, 71) and r[1] is not None]
    nccl = [k for k in kernels if is_nccl(strings.get(k[4], "")) or is_nccl(strings.get(k[5], ""))]
    by_device = {}
    for kernel in kernels:
        by_device.setdefault(kernel[2], []).append((Decimal(kernel[0]), Decimal(kernel[1])))
    gpu = [(r[0], r[1]) for r in kernels + copies + sets]
    everything = gpu + [(r[0], r[1]) for r in calls + ranges]

    def length(spans):
        return Decimal(max(b for _, b in spans) - min(a for a, _ in spans)) / 1000 if spans else None

    return {
        "gpu_kernel_events": len(kernels),
        "gpu_kernel_time_us": Decimal(sum(k[1] - k[0] for k in kernels)) / 1000,
        "gpu_kernel_busy_us": sum(map(union, by_device.values()), Decimal(0)) / 1000,
        "nccl_kernels": len(nccl),
        "nccl_time_us": Decimal(sum(k[1] - k[0] for k in nccl)) / 1000,
        "memcpy_events": len(copies),
        "memcpy_time_us": Decimal(sum(r[1] - r[0] for r in copies)) / 1000,
        "memset_events": len(sets),
        "span_us": length(everything),
        "gpu_span_us": length(gpu),
        "first_event_ns": min(a for a, _ in everything) if everything else None,
        "streams": len({(k[2], k[3]) for k in kernels}),
        "runtime_events": len(calls),
        "nvtx_ranges": len(ranges),
    }


class PlainUnpickler(pickle.Unpickler):
    """Plain values only: a pickle that names a class is not read."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError("names a class")


def snapshot_facts(snapshot):
    segments, traces = snapshot["segments"], snapshot.get("device_traces", [])
    devices = max([len(traces)] + [s["device"] + 1 for s in segments])
    peaks = [0, 0]
    for device in range(devices):
        own = [s for s in segments if s["device"] == device]
        reserved = sum(s["total_size"] for s in own)
        requested = sum(b.get("requested_size", b["size"]) for s in own for b in s["blocks"] if b["state"] != "inactive")
        highest = [requested, reserved]
        for entry in reversed(traces[device] if device < len(traces) else []):
            sign = {"alloc": -1, "free_completed": 1}.get(entry["action"], 0)
            requested += sign * entry.get("size", 0)
            sign = {"segment_alloc": -1, "segment_map": -1, "segment_free": 1, "segment_unmap": 1}.get(entry["action"], 0)
            reserved += sign * entry.get("size", 0)
            highest = [max(highest[0], requested), max(highest[1], reserved)]
        peaks = [peaks[0] + highest[0], peaks[1] + highest[1]]
    return {
        "mem_segments": len(segments),
        "mem_blocks": sum(len(s["blocks"]) for s in segments),
        "mem_trace_entries": sum(map(len, traces)),
        "mem_reserved_bytes": sum(s["total_size"] for s in segments),
        "mem_active_requested_bytes": sum(b.get("requested_size", b["size"]) for s in segments for b in s["blocks"] if b["state"] != "inactive"),
        "mem_peak_requested_bytes": peaks[0],
        "mem_peak_reserved_bytes": peaks[1],
    }


def own_facts(path):
    with open(path, "rb") as file:
        raw = file.read()
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    if raw[:15] == b"SQLite format 3":
        return nsight_facts(path)
    if raw[:1] == b"\x80":
        import io
        return snapshot_facts(PlainUnpickler(io.BytesIO(raw)).load())
    return chrome_facts(load_json(raw))


def main():
    program, paths = sys.argv[1], []
    for given in sys.argv[2:]:
        if os.path.isdir(given):
            paths += [os.path.join(folder, name) for folder, _, names in os.walk(given) for name in names]
        else:
            paths.append(given)
    compared = differing = refused = unread = 0
    for path in sorted(paths):
        if path.endswith((".csv", ".md")):
            continue
        run = subprocess.run([program, "facts", path, "--json"], capture_output=True, text=True)
        if run.returncode != 0:
            refused += 1
            print(f"refused: {path}: {run.stderr.strip()}")
            continue
        facts = json.loads(run.stdout)
        try:
            expected = own_facts(path)
        except Exception as problem:  # whatever Python cannot read has no independent figure
            unread += 1
            print(f"not compared: {path}: {type(problem).__name__}: {str(problem)[:100]}")
            continue
        compared += 1
        wrong = []
        for name, value in expected.items():
            printed = facts.get(name)
            same = (printed is None) == (value is None)
            if same and value is not None:
                # Half a nanosecond is what rounding a file's longer decimals may change.
                unit = Decimal(1000) if name.endswith("_us") else Decimal(1)
                same = abs(Decimal(str(printed)) - Decimal(value)) * unit <= Decimal("0.5")
            if not same:
                wrong.append(f"{name} {printed} instead of {value}")
        if wrong:
            differing += 1
            print(f"differs: {path}: " + "; ".join(wrong))
    print(f"{compared} compared, {differing} differ, {unread} not compared, {refused} refused")
    return 1 if differing else 0


sys.exit(main())
