# SPDX-License-Identifier: Apache-2.0
"""What a run on a GPU has to show, as functions from what a command printed to a list of problems (none: passed).
Nothing here starts a program, so tests/packaging holds each function against made logs."""
import json
import re
import statistics

# Entries of a trace's audit that mean that something of the GPU's work was lost or not understood.
LOSSES = ("no_gpu_work", "recording_cut", "recording_limited", "write_failed", "queue_full", "ring_overwritten",
          "cupti_dropped", "cupti_times_lost", "cupti_times_inverted", "cupti_buffer_malformed", "cupti_unknown_kind",
          "unknown_records", "times_lost", "time_out_of_range", "buffers_refused", "segments_damaged", "file_cut")


def ended(status, timed_out, text, expected=0):
    """A command has to end by itself, with the expected status, and to have said something."""
    if timed_out:
        return ["it did not end in time"]
    if status < 0:
        return [f"signal {-status} ended it"]
    if status != expected:
        return [f"exit status {status} instead of {expected}"]
    return [] if text.strip() else ["it printed nothing"]


def json_of(text):
    """The last JSON object that begins a line and lies in no other, or None."""
    found, at = None, 0
    while match := re.compile(r"^\{", re.M).search(text, at):
        try:
            found, used = json.JSONDecoder().raw_decode(text[match.start():])
            at = match.start() + used
        except ValueError:
            at = match.start() + 1
    return found


def test_program(text):
    """Totals of Qt Test: all passed; only rows that want more GPUs than there are may be skipped."""
    totals = re.findall(r"^Totals: (\d+) passed, (\d+) failed, (\d+) skipped", text, re.M)
    if not totals:
        return ["no totals: the program did not get to its end"]
    problems = []
    passed, failed = sum(int(each[0]) for each in totals), sum(int(each[1]) for each in totals)
    if failed:
        names = re.findall(r"^FAIL!\s*: \S+::(.*?)(?: '|$)", text, re.M)
        problems.append(f"{failed} failed: " + "; ".join(names[:5]))
    if not passed:
        problems.append("nothing was tested")
    skipped = [reason for reason in re.findall(r"^SKIP\s*: (.*)$", text, re.M) if not re.search(r"wants \d+ GPUs", reason)]
    if skipped:
        problems.append(f"{len(skipped)} rows skipped: {skipped[0][:160]}")
    return problems


def audit(info, wanted=(), unwanted=LOSSES):
    """The audit of `info --json`: nothing was lost, and what is wanted was found."""
    if not info:
        return ["info printed no JSON"]
    entries = {each["name"]: each for each in info.get("audit", [])}
    problems = [f"{name} ({entries[name]['count']}): {entries[name]['detail'][:160]}" for name in unwanted if name in entries]
    problems += [f"{name} is missing in the audit" for name in wanted if name not in entries]
    launches = entries.get("work_without_launch", {}).get("count", 0)
    arrows = entries.get("import_arrows", {}).get("count", 0)
    if launches * 20 > arrows:
        problems.append(f"{launches} kernels and copies without their launch, and {arrows} arrows")
    return problems


def replayed(text, calls=1):
    """What cupti_replay says of raw buffers: everything in them is known, and ids count the calls of a thread, from which
    the conversion tells what a stream was given before another call."""
    problems = []
    lost = re.search(r"^unknown kinds (\d+), malformed buffers (\d+), texts missing (\d+)", text, re.M)
    order = re.search(r"^calls (\d+), correlation ids out of order (\d+)", text, re.M)
    if not lost or not order:
        return ["cupti_replay did not get to its end"]
    for what, count in zip(("records of unknown kinds", "malformed buffers", "texts are missing"), map(int, lost.groups())):
        if count:
            problems.append(f"{count} {what}")
    if int(order[1]) < calls:
        problems.append(f"{order[1]} calls, at least {calls} were expected")
    if int(order[2]):
        problems.append(f"{order[2]} correlation ids are out of order")
    return problems


def count(info, name):
    """The count of an entry of the audit, 0 where there is none."""
    return sum(each["count"] for each in (info or {}).get("audit", []) if each["name"] == name)


def partial(info):
    """A trace that ended before its job says so: at the limit, or cut where the last records found no room on the disk."""
    if not info:
        return ["info printed no JSON"]
    names = ("recording_limited", "recording_cut", "write_failed")
    return [] if any(count(info, name) for name in names) else ["none of " + ", ".join(names) + " in the audit"]


def waits(info, expected):
    """Each wait of a stream for another one's event is an arrow: the record of the event was found by its id."""
    if not info:
        return ["info printed no JSON"]
    arrows, without = count(info, "stream_wait_arrows"), count(info, "stream_waits_without_arrow")
    problems = [f"{arrows} arrows of {expected} waits"] if not 0.98 * expected <= arrows <= 1.02 * expected else []
    return problems + ([f"{without} waits without an arrow"] if without > 0.02 * expected else [])


def grouped(info, record, collectives):
    """Operations of NCCL's groups: each kernel is tied to its group by NCCL's own task groups, and none was divided by a
    guess; as many collectives as the job asked for."""
    if not info or not record:
        return ["info or record printed no JSON"]
    problems = []
    if not count(info, "nccl_kernels_paired"):
        problems.append("no kernel was paired by number")
    for name in ("nccl_kernels_divided", "nccl_kernels_paired_by_time"):
        if count(info, name):
            problems.append(f"{name}: {count(info, name)}")
    if record.get("collectives") != collectives:
        problems.append(f"{record.get('collectives')} collectives instead of {collectives}")
    return problems


def said(text, words):
    """One line of the recorder has to hold these words."""
    lines = [line for line in text.splitlines() if words in line]
    if not lines:
        return [f"no line says '{words}'"]
    return [f"{len(lines)} lines say '{words}'"] if len(lines) > 3 else []


def same_end(plain, recorded_status):
    """A job that fails ends under `record` as a shell would say that it ended."""
    expected = 128 - plain if plain < 0 else plain
    if expected == 0:
        return ["the job did not fail"]
    return [] if recorded_status == expected else [f"exit status {recorded_status} instead of {expected}"]


def left_alone(plain, status, text, keys=("loss",)):
    """A job in bad surroundings: its own exit status and its own figures."""
    if status != 0:
        return [f"the job ended with {status}"]
    return same_run(plain, json_of(text), keys)


def recorded(record, steps, slices):
    """What `record --json` says of the trace it wrote."""
    if not record:
        return ["record printed no JSON"]
    problems = []
    if steps is not None and record.get("steps") != steps:
        problems.append(f"{record.get('steps')} steps instead of {steps}")
    if (record.get("slices") or 0) < slices:
        problems.append(f"{record.get('slices')} slices, at least {slices} were expected")
    return problems


def figures(metrics):
    """`metrics --json` of a job that trains: a step time, shares that add up, MFU of at most 1, memory."""
    if not metrics:
        return ["metrics printed no JSON"]
    problems = []
    if not (metrics.get("step_time_ms") or 0) > 0:
        problems.append("no step time")
    shares = metrics.get("waterfall") or {}
    if not shares:
        problems.append("no shares of the step")
    elif abs(sum(shares.values()) - 1) > 1e-6 or min(shares.values()) < 0:
        problems.append(f"the shares add up to {sum(shares.values())}, the least is {min(shares.values())}")
    mfu = metrics.get("mfu")
    if mfu is not None and not 0 < mfu <= 1:
        problems.append(f"MFU {mfu}")
    return problems


def microseconds(value):
    return float(value) if value is not None else None


def profile_kernels(profile):
    """Number and time (µs) of the kernels in a Chrome trace of torch.profiler, read without the product."""
    durations = [float(each.get("dur", 0)) for each in profile["traceEvents"] if each.get("cat") == "kernel"]
    return len(durations), sum(durations)


def same_kernels(ours, theirs, tolerance=0.01):
    """(count, µs) of the product against those of torch.profiler of the same steps."""
    problems = []
    for what, own, other in zip(("kernels", "µs of kernels"), ours, theirs):
        if not other:
            problems.append(f"torch.profiler has no {what}")
        elif own is None or abs(own - other) > tolerance * other:
            problems.append(f"{own} {what}, and {other} by torch.profiler")
    return problems


def same_run(plain, recorded_run, keys):
    """What a job printed of itself has to be the same with and without the recorder."""
    if not plain or not recorded_run:
        return ["a run printed no JSON"]
    return [f"{key}: {recorded_run.get(key)} recorded, {plain.get(key)} plain" for key in keys
            if plain.get(key) != recorded_run.get(key)]


def overhead(times):
    """Step times in ms by way of recording ({way: [[ms of each step] of each run]}) as rows: way, median, least and
    greatest median of a run, change against the plain runs in percent."""
    medians = {way: [statistics.median(run) for run in runs if run] for way, runs in times.items()}
    if not medians.get("plain"):
        return []
    base = statistics.median(medians["plain"])
    return [(way, statistics.median(each), min(each), max(each), 100 * (statistics.median(each) / base - 1))
            for way, each in medians.items() if each]
