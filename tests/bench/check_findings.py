#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the findings of real profiles against what their files say, read without Fourwalls' importers.

    check_findings.py FOURWALLS-CLI FILE…     profiles of PyTorch (JSON, also gzip) and exports of Nsight Systems (SQLite)

Each file is imported and diagnosed by the command line. Every finding of a share is then worked out again from the file: the
time in which no device works, in which collectives run and no other kernel does, in which short kernels run, in which the
program loads or waits and no device works, each as the mean over the file's devices. A step is its mark on the host, where the
device runs behind from the first kernel that was launched in it to the first of the next; a range of the file; or a period
between kernels. Of files given together with +, ("A+B") who comes last in the n-th collective. Exit code 1 if a figure is off
by more than 2 % of the step."""
import gzip
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

TOLERANCE = 0.02
SMALL_US = 10.0
COLLECTIVE = re.compile(r"nccl|rccl|cross_device_reduce|hcom_|reduce_scatter_cross|all_gather_cross", re.I)
WAITS = re.compile(r"Synchronize|^(cuda|hip)Free", re.I)
COPIES = re.compile(r"^(cuda|hip|cu)Memcpy", re.I)
KEEPS_NOBODY = re.compile(r"[DP]to[DP]|Pinned -> Device|Device -> Pinned")  # such a copy may take long only in a full queue
LONGEST_SUBMISSION_US = 30.0  # a call that copies and takes longer waits


def union(intervals):
    out = []
    for begin, end in sorted(intervals):
        if end <= begin:
            continue
        if out and begin <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([begin, end])
    return out


def length(intervals):
    return sum(end - begin for begin, end in intervals)


def without(intervals, taken):
    """What of disjoint intervals is outside of other disjoint ones."""
    out, at = [], 0
    for begin, end in intervals:
        while at < len(taken) and taken[at][1] <= begin:
            at += 1
        k, here = at, begin
        while k < len(taken) and taken[k][0] < end:
            if taken[k][0] > here:
                out.append([here, taken[k][0]])
            here = max(here, taken[k][1])
            k += 1
        if here < end:
            out.append([here, end])
    return out


def both(first, second):
    return without(first, without(first, second))


def clipped(events, scope):
    return union([(max(b, scope[0]), min(e, scope[1])) for b, e in events if b < scope[1] and e > scope[0]])


class Profile:
    """Times in microseconds: kernels (name, begin, end), copies, what the host does, marked steps."""

    def __init__(self):
        self.kernels, self.copies = [], []  # name, begin, end, device, correlation
        self.host = []  # name, begin, end, correlation
        self.loading, self.steps, self.ranges = [], {}, []


def kineto(path):
    opener = gzip.open if path.endswith("gz") else open
    with opener(path, "rt", errors="replace") as file:
        data = json.load(file)
    events = data if isinstance(data, list) else data["traceEvents"]
    base = 0 if isinstance(data, list) else int(data.get("baseTimeNanoseconds", 0))
    profile = Profile()
    for event in events:
        if event.get("ph") != "X" or "dur" not in event:
            continue
        category, name = str(event.get("cat", "")).lower(), str(event.get("name", ""))
        begin = float(event["ts"]) + (base % 10**15) / 1e3
        end = begin + float(event["dur"])
        args = event.get("args") or {}
        correlation = args.get("correlation", args.get("External id"))
        if category == "kernel":
            profile.kernels.append((name, begin, end, args.get("device", event.get("pid")), correlation))
        elif category in ("gpu_memcpy", "memcpy", "gpu_memset", "memset"):
            profile.copies.append((name, begin, end, args.get("device", event.get("pid")), correlation))
        elif category in ("gpu_user_annotation", "trace", "overhead"):
            pass
        else:
            step = re.fullmatch(r"ProfilerStep\s*#\s*(\d+)", name)
            if step:
                profile.steps[int(step.group(1))] = (begin, end)
            if category == "user_annotation":
                profile.ranges.append((name, begin, end))
            profile.host.append((name, begin, end, args.get("correlation")))
            if "DataLoader" in name and "__next__" in name:
                profile.loading.append((begin, end))
    return profile


def nsight(path):
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
    profile = Profile()
    if "CUPTI_ACTIVITY_KIND_KERNEL" in tables:
        columns = {row[1] for row in database.execute("PRAGMA table_info(CUPTI_ACTIVITY_KIND_KERNEL)")}
        name = "demangledName" if "demangledName" in columns else "shortName"
        for text, begin, end, device in database.execute(
            f"SELECT value, start, end, {'deviceId' if 'deviceId' in columns else '0'} FROM CUPTI_ACTIVITY_KIND_KERNEL"
            f" JOIN StringIds ON id = {name}"
        ):
            profile.kernels.append((text, begin / 1e3, end / 1e3, device, None))
    for table in ("CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"):
        if table in tables:
            for begin, end, device in database.execute(f"SELECT start, end, deviceId FROM {table}"):
                profile.copies.append((table, begin / 1e3, end / 1e3, device, None))
    if "CUPTI_ACTIVITY_KIND_RUNTIME" in tables:
        for text, begin, end in database.execute(
            "SELECT value, start, end FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId"
        ):
            profile.host.append((text, begin / 1e3, end / 1e3, None))
    return profile


def said_by(program, paths):
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "x.fourwalls")
        subprocess.run([program, "import", *paths, "-o", trace], check=True, capture_output=True)
        out = subprocess.run([program, "diagnose", trace, "--json"], check=True, capture_output=True).stdout
        steps = subprocess.run([program, "steps", trace], check=True, capture_output=True, text=True).stdout
        return json.loads(out), steps.splitlines()[0]


def scope_of(profile, number, steps_by):
    """Where the step is in the file; null: the file does not say."""
    work = profile.kernels + profile.copies
    if number is None:
        return (min(w[1] for w in work), max(w[2] for w in work)) if work else None
    if number in profile.steps:
        begins, behind = [], False
        for which in (number, number + 1):
            if which not in profile.steps:
                begins.append(max(w[2] for w in of_step))
                break
            mark = profile.steps[which]
            calls = {c for _, b, _, c in profile.host if c is not None and mark[0] <= b < mark[1]}
            of_step = [w for w in work if w[4] in calls]
            if not of_step:
                break
            begins.append(min(w[1] for w in of_step))
            if which == number:
                behind = max(w[2] for w in of_step) > mark[1] + TOLERANCE * (mark[1] - mark[0])
        return tuple(begins) if behind and len(begins) == 2 else profile.steps[number]
    by_range = re.search(r"by range (\w+?)_?…", steps_by)
    if by_range:
        found = [(b, e) for n, b, e in profile.ranges if n.startswith(by_range.group(1))]
        if len(found) != 1:
            return None
        # From its begin to the end of the work that was launched in it.
        calls = {c for _, b, _, c in profile.host if c is not None and found[0][0] <= b < found[0][1]}
        inside = [w for w in work if w[4] in calls]
        return (found[0][0], max(w[2] for w in inside)) if inside else found[0]
    by_period = re.search(r"by period of (\S+?)(?:<|\(|…|$)", steps_by)
    if by_period:
        starts = sorted(k[1] for k in profile.kernels if by_period.group(1) in k[0])
        if number + 1 < len(starts):
            ends = [w[2] for w in profile.kernels if starts[number] <= w[1] < starts[number + 1]]
            return starts[number], max(ends)
    return None


def shares(profile, scope):
    """What of the scope is what by the file alone, as the mean over its devices."""
    devices = sorted({w[3] for w in profile.kernels}, key=str)
    sums = {}
    loads = clipped(profile.loading, scope)
    free = {c for n, _, _, _, c in profile.copies if c is not None and KEEPS_NOBODY.search(n)}
    waits = [
        (b, e)
        for n, b, e, c in profile.host
        if WAITS.search(n) or (COPIES.search(n) and e - b > LONGEST_SUBMISSION_US and c not in free)
    ]
    for device in devices:
        kernels = [k for k in profile.kernels if k[3] == device]
        compute = clipped([k[1:3] for k in kernels if not COLLECTIVE.search(k[0])], scope)
        sent = clipped([k[1:3] for k in kernels if COLLECTIVE.search(k[0])], scope)
        copied = clipped([c[1:3] for c in profile.copies if c[3] == device], scope)
        idle = without([list(scope)], union([tuple(x) for x in compute + sent + copied]))
        own = {
            "host_bound": length(idle),
            "exposed_communication": length(without(sent, compute)),
            "data_loading": length(both(loads, idle)),
            "sync_calls": length(both(clipped(waits, scope), without(idle, loads))),
            "small_kernels": sum(
                k[2] - k[1]
                for k in kernels
                if k[2] - k[1] < SMALL_US and scope[0] <= k[1] < scope[1] and not COLLECTIVE.search(k[0])
            ),
        }
        for key, value in own.items():
            sums[key] = sums.get(key, 0) + value / len(devices)
    return sums


def check_one(program, path):
    said, steps_by = said_by(program, [path])
    profile = nsight(path) if path.endswith(".sqlite") else kineto(path)
    wrong, rows = 0, []
    for finding in said["findings"]:
        scope = scope_of(profile, finding["steps"][0] if finding["steps"] else None, steps_by)
        figures = {each["what"]: each["value"] for each in finding["evidence"]}
        told = figures.get("devices do nothing for") if finding["id"] == "host_bound" else finding_share(figures)
        raw = shares(profile, scope) if scope else {}
        if finding["id"] not in raw or told is None:
            rows.append((finding["id"], "", "", f"not checked: {steps_by}"))
            continue
        own = raw[finding["id"]] / (scope[1] - scope[0])
        holds = abs(own - told) <= TOLERANCE
        wrong += not holds
        rows.append((finding["id"], f"{100 * told:.1f} %", f"{100 * own:.1f} %", "holds" if holds else "OFF"))
    if not said["findings"]:
        rows.append(("none", "", "", "; ".join(f"{a['id']}: {a['because']}" for a in said["abstained"])))
    for row in rows:
        print(f"{os.path.basename(path)[:44]:<46}{row[0]:<24}{row[1]:>9}{row[2]:>9}  {row[3]}")
    return wrong


def finding_share(figures):
    return figures.get("share of the step", figures.get("share of the trace"))


def check_together(program, paths):
    said, _ = said_by(program, paths)
    by_rank = [sorted(k[1:3] for k in kineto(path).kernels if COLLECTIVE.search(k[0])) for path in paths]
    if len({len(calls) for calls in by_rank}) != 1:
        print(f"{'+'.join(os.path.basename(p)[:12] for p in paths)[:44]:<46}ranks have unequally many collectives")
        return 0
    last = [0] * len(paths)
    for same in zip(*by_rank):
        begins = [begin for begin, _ in same]
        last[begins.index(max(begins))] += 1
    wrong = 0
    for finding in said["findings"]:
        if finding["id"] != "slow_rank":
            continue
        figures = {each["what"]: each["value"] for each in finding["evidence"]}
        told = figures.get("operations in which it comes last")
        own = last[finding["ranks"][0]]
        wrong += told != own
        print(f"{len(paths)} ranks of {os.path.basename(paths[0])[:30]:<36} rank {finding['ranks'][0]} comes last in {told},"
              f" by the files in {own} of {len(by_rank[0])}  {'holds' if told == own else 'OFF'}")
    return wrong


def main():
    program, paths = sys.argv[1], sys.argv[2:]
    wrong = 0
    for path in paths:
        wrong += check_together(program, path.split("+")) if "+" in path else check_one(program, path)
    print(f"{wrong} figures are off by more than {100 * TOLERANCE:.0f} % of the step")
    return wrong > 0


sys.exit(main())
