# SPDX-License-Identifier: Apache-2.0
"""Reads ranks from Nsight Systems' SQLite export, one for each device that did something, and from the SQLite of Ascend's
profiler."""
import re
import sqlite3

import raw_model
from raw_chrome import COLLECTIVE_KERNEL, LAUNCH, SYNC
from raw_model import COMMUNICATION, COMPUTE, COPY

WORK = {"CUPTI_ACTIVITY_KIND_KERNEL": None, "CUPTI_ACTIVITY_KIND_MEMCPY": COPY, "CUPTI_ACTIVITY_KIND_MEMSET": COPY}
RANGE_TYPES = (59, 60, 70, 71)


class Tables:
    """A database, its tables and their columns."""

    def __init__(self, path):
        self.db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        self.names = {name for (name,) in self.db.execute("select name from sqlite_master where type in ('table','view')")}

    def columns(self, table):
        return {row[1] for row in self.db.execute(f'pragma table_info("{table}")')} if table in self.names else set()

    def rows(self, table, wanted):
        """Rows with the wanted columns; None where the table lacks one."""
        if table not in self.names:
            return []
        have = self.columns(table) | {"count(*)"}
        return self.db.execute(f"select {', '.join(c if c in have else 'null' for c in wanted)} from \"{table}\"")


def read(path):
    tables = Tables(path)
    return ascend(path, tables) if "TASK" in tables.names and "STRING_IDS" in tables.names else nsight(path, tables)


def nsight(path, tables):
    strings = dict(tables.rows("StringIds", ("id", "value")))
    gpus = [row for row in tables.rows("TARGET_INFO_GPU", ("id", "name", "totalMemory"))]
    calls = list(tables.rows("CUPTI_ACTIVITY_KIND_RUNTIME", ("start", "end", "correlationId", "nameId", "globalTid")))
    process = lambda tid: None if tid is None else tid >> 24
    launched = {(process(row[4]), row[2]): row[0] for row in calls}
    ranks = {}

    def of(device):
        if device not in ranks:
            rank = raw_model.Rank(path, "nsight")
            named = [g for g in gpus if g[0] == device] or (gpus if len(gpus) == 1 else [])
            if named:
                rank.device, rank.device_bytes = named[0][1], named[0][2]
            rank.devices_listed = len(gpus)
            ranks[device] = rank
        return ranks[device]

    for table, kind in WORK.items():
        wanted = ("start", "end", "deviceId", "correlationId", "globalPid", "demangledName", "shortName", "bytes")
        for start, end, device, correlation, pid, long_name, short_name, size in tables.rows(table, wanted):
            name = str(strings.get(long_name) or strings.get(short_name) or table.rsplit("_", 1)[1].lower())
            what = kind or (COMMUNICATION if COLLECTIVE_KERNEL.search(name) else COMPUTE)
            when = launched.get((process(pid), correlation))
            of(device).work.append(raw_model.Work(start, end, name, what, when, size, device))
    one = list(ranks.values()) or [of(None)]
    slices = sum(len(rank.work) for rank in one) + len(calls)
    ends = [(w.begin, w.end) for rank in one for w in rank.work] + [(c[0], c[1]) for c in calls]
    for start, end, _, name, _ in calls:
        text = re.sub(r"_v\d+$", "", str(strings.get(name, "")))
        for rank in one:
            if LAUNCH.search(text):
                rank.launches.append((start, end))
            if SYNC.search(text):
                rank.syncs.append((start, end))
                rank.sync_names[text] += end - start
    for start, end, kind, text, text_id in tables.rows("NVTX_EVENTS", ("start", "end", "eventType", "text", "textId")):
        if end is None or kind not in RANGE_TYPES:
            continue
        slices += 1
        ends.append((start, end))
        name = re.sub(r", op_id.*", "", str(text or strings.get(text_id) or ""))
        for rank in one:
            if re.search(r"(?<![a-z])backward\b", name, re.I):
                rank.has["backward"] = True
            if re.search(r"^Optimizer\.|optimizer[. _]?step", name, re.I):
                rank.has["optimizer"] = True
            rank.ranges.setdefault(re.sub(r"\d+", "#", name), []).append((start, end))
    left = {t: n for t in ("SCHED_EVENTS", "COMPOSITE_EVENTS", "OSRT_API") for (n,) in tables.rows(t, ("count(*)",)) if n}
    for rank in one:
        rank.slices = slices
        rank.unread = ", ".join(f"{n} rows of {t}" for t, n in left.items()) or None
        if ends:
            rank.span = min(a for a, _ in ends), max(b for _, b in ends)
    return one


def ascend(path, tables):
    strings = dict(tables.rows("STRING_IDS", ("id", "value")))
    rank = raw_model.Rank(path, "ascend")
    for number, _ in tables.rows("RANK_DEVICE_MAP", ("rankId", "deviceId")):
        rank.rank = number
    for _, name in tables.rows("NPU_INFO", ("id", "name")):
        rank.device = name
    overlap = {0: COMPUTE, 1: COMMUNICATION}
    for start, end, kind in tables.rows("OVERLAP_ANALYSIS", ("startNs", "endNs", "type")):
        if kind in overlap:
            rank.work.append(raw_model.Work(start, end, "overlap", overlap[kind]))
    for start, end, name in tables.rows("TASK", ("startNs", "endNs", "taskType")):
        if "MEMCPY" in str(strings.get(name, "")):
            rank.work.append(raw_model.Work(start, end, str(strings[name]), COPY))
    for number, start, end in tables.rows("STEP_TIME", ("id", "startNs", "endNs")):
        rank.marks.append((start, end, f"ProfilerStep#{number}"))
    for start, end, name in tables.rows("CANN_API", ("startNs", "endNs", "name")):
        text = str(strings.get(name, ""))
        if "Synchronize" in text:
            rank.syncs.append((start, end))
            rank.sync_names[text] += end - start
    changes = []
    for size, begin, end in tables.rows("OP_MEMORY", ("size", "allocationTime", "releaseTime")):
        rank.allocator_events += 1
        changes += [(when, sign * size) for when, sign in ((begin, 1), (end, -1)) if begin and when]
    level = 0
    for _, change in sorted(changes):
        level += change
        rank.allocated_rise = max(rank.allocated_rise or 0, level)
    ends = []
    for table in ("TASK", "PYTORCH_API", "CANN_API", "COMMUNICATION_OP"):
        rows = list(tables.rows(table, ("startNs", "endNs")))
        rank.slices += len(rows)
        ends += rows
    ends = [(int(a), int(b)) for a, b in ends if a and b]
    if ends:
        rank.span = min(a for a, _ in ends), max(b for _, b in ends)
    return [rank]
