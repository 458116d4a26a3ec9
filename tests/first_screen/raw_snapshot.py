# SPDX-License-Identifier: Apache-2.0
"""Reads a PyTorch memory snapshot: plain data only, nothing that a pickle could call is found."""
import collections
import os
import pickle

import raw_model

LIBRARIES = ("site-packages", "dist-packages", "/torch/", "\\torch\\", "<")


class PlainData(pickle.Unpickler):
    """Lists, dictionaries, numbers and text need no class: a file that names one is refused."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"names {module}.{name}")


def first_python_frame(frames, of_user):
    for frame in frames or []:
        file = frame.get("filename", "")
        if file.endswith(".py") and not (of_user and any(part in file for part in LIBRARIES)):
            return os.path.basename(file.replace("\\", "/")), frame.get("line"), frame.get("name")
    return None


def walk_back(trace, alive, reserved):
    """(largest allocated, largest reserved, allocated at the begin): from what is there at the end, backwards."""
    most, most_reserved = alive, reserved
    for entry in reversed(trace):
        size, action = entry.get("size", 0), entry["action"]
        if action == "alloc":
            alive -= size
        elif action == "free_completed":
            alive += size
        elif action in ("segment_alloc", "segment_map"):
            reserved -= size
        elif action in ("segment_free", "segment_unmap"):
            reserved += size
        most, most_reserved = max(most, alive), max(most_reserved, reserved)
    return most, most_reserved, alive


def read(path):
    with open(path, "rb") as file:
        data = PlainData(file).load()
    segments, traces = data.get("segments") or [], data.get("device_traces") or []
    size_of = lambda block: block.get("requested_size", block["size"])
    devices = sorted({s.get("device", 0) for s in segments} | {i for i, t in enumerate(traces) if t})
    ranks = []
    for device in devices:
        own = [s for s in segments if s.get("device", 0) == device]
        blocks = [b for s in own for b in s.get("blocks", []) if b.get("state") != "inactive"]
        alive, reserved = sum(map(size_of, blocks)), sum(s.get("total_size", 0) for s in own)
        trace = traces[device] if device < len(traces) else []
        peak, peak_reserved, at_begin = walk_back(trace, alive, reserved)
        frames = {False: collections.Counter(), True: collections.Counter()}
        for block in blocks:
            for of_user, counter in frames.items():
                counter[first_python_frame(block.get("frames"), of_user)] += size_of(block)
        rank = raw_model.Rank(path, "snapshot", rank=device)
        rank.memory = {
            "peak": peak,
            "peak_reserved": peak_reserved,
            "alive": alive,
            "reserved": reserved,
            "at_begin": at_begin,
            "entries": len(trace),
            "out_of_memory": [e for e in trace if e["action"] == "oom"],
            "alive_by_frame": frames[False].most_common(3),
            "alive_by_user_frame": frames[True].most_common(3),
        }
        times = [e["time_us"] * 1000 for e in trace if e.get("time_us")]
        rank.span = (min(times), max(times)) if times else None
        ranks.append(rank)
    return ranks
