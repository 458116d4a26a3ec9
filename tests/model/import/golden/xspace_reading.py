#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent reading of an XSpace profile, straight from the wire format: no protobuf library, nothing of the importer.

    xspace_reading.py FILE                   the figures of docs/import.md as JSON, and the busy time of each device
    xspace_reading.py FILE FOURWALLS-CLI     compares them with an import of the file; exit code 1 if they differ

Field numbers are those of tsl/profiler/protobuf/xplane.proto (openxla/xla)."""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """(number, value) of each field: an integer, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value = data[at:at + size]
            at += size
        else:
            size = 8 if kind == 1 else 4
            value = data[at:at + size]
            at += size
        yield key >> 3, value


def text_of(message, wanted):
    return next((bytes(value).decode() for number, value in fields(message) if number == wanted), "")


def union(intervals):
    total, end = 0, None
    for begin, finish in sorted(intervals):
        if end is None or begin > end:
            total, end = total + finish - begin, finish
        elif finish > end:
            total, end = total + finish - end, finish
    return total


def events_of(line, names):
    """(begin, end, name) of each event of a line [ps]."""
    start = next((value for number, value in fields(line) if number == 3), 0) * 1000
    for number, event in fields(line):
        if number == 4:
            numbers = {f: v for f, v in fields(event) if f in (1, 2, 3)}
            begin = start + numbers.get(2, 0)
            yield begin, begin + numbers.get(3, 0), names.get(numbers.get(1, 0), "")


def read(path):
    with open(path, "rb") as file:
        data = memoryview(file.read())
    everything, calls, devices, streams = [], 0, {}, set()
    for number, plane in fields(data):
        if number != 1:
            continue
        plane_name = text_of(plane, 2)
        names = {}
        for field, value in fields(plane):
            if field == 4:
                entry = dict(fields(value))
                names[entry.get(1, 0)] = text_of(entry.get(2, b""), 2)
        work = []
        for field, line in fields(plane):
            if field != 3:
                continue
            events = list(events_of(line, names))
            everything += events
            name = text_of(line, 2)
            if plane_name.startswith("/device:GPU:") and name.startswith("Stream #"):
                work += events
                streams.add((plane_name, name))
            elif plane_name.startswith("/host:"):
                calls += sum(event[2].startswith(("hip", "cuda")) for event in events)
        if plane_name.startswith("/device:GPU:"):
            devices[plane_name] = work
    work = [event for events in devices.values() for event in events]
    copies = [event for event in work if event[2].startswith("Memcpy")]
    kernels = [event for event in work if not event[2].startswith(("Memcpy", "Memset"))]
    busy = {name: union([event[:2] for event in events if event in kernels]) for name, events in devices.items()}
    collectives = [event for event in kernels if "nccl" in event[2].lower() or "rccl" in event[2].lower()]

    def microseconds(picoseconds):
        return f"{picoseconds / 1e6:.6f}".rstrip("0").rstrip(".")

    def length(events):
        return sum(end - begin for begin, end, _ in events)

    def hull(events):
        return max(event[1] for event in events) - min(event[0] for event in events)
    return {"events_total": len(everything), "gpu_kernel_events": len(kernels),
            "gpu_kernel_time_us": microseconds(length(kernels)), "gpu_kernel_busy_us": microseconds(sum(busy.values())),
            "nccl_kernels": len(collectives), "nccl_time_us": microseconds(length(collectives)),
            "memcpy_events": len(copies), "memcpy_time_us": microseconds(length(copies)),
            "memset_events": len(work) - len(kernels) - len(copies), "span_us": microseconds(hull(everything)),
            "gpu_span_us": microseconds(hull(work)), "first_event_ns": min(event[0] for event in everything) // 1000,
            "streams": len(streams), "runtime_events": calls}, {name: busy[name] // 1000 for name in sorted(busy)}


def compare(cli, path, facts, busy):
    said = json.loads(subprocess.run([cli, "facts", path, "--json"], capture_output=True, check=True).stdout)
    wrong = [f"{name}: {said[name]}, not {value}" for name, value in facts.items() if str(said[name]) != str(value)]
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "x.fourwalls")
        subprocess.run([cli, "import", path, "-o", trace], capture_output=True, check=True)
        rows = sqlite3.connect(trace).execute(
            "SELECT track.rank, slice.start, slice.start + slice.dur FROM slice JOIN run ON run.id = slice.run"
            " JOIN track ON track.id = run.track JOIN op ON op.id = slice.op WHERE op.activity IN (1, 2, 4)").fetchall()
    for rank, (name, expected) in enumerate(busy.items()):
        found = union([row[1:] for row in rows if row[0] == rank])
        if found != expected:
            wrong.append(f"busy time of {name}: {found} ns, not {expected}")
    return wrong


if __name__ == "__main__":
    FACTS, BUSY = read(sys.argv[1])
    if len(sys.argv) == 2:
        print(json.dumps({**FACTS, "busy_ns": BUSY}, indent=1))
        sys.exit(0)
    DIFFERENCES = compare(sys.argv[2], sys.argv[1], FACTS, BUSY)
    print("\n".join(DIFFERENCES) or f"equal: {FACTS['events_total']} events, {len(BUSY)} devices")
    sys.exit(1 if DIFFERENCES else 0)
