# SPDX-License-Identifier: Apache-2.0
"""What a run on a GPU has to show, as functions from what a command printed to a list of problems (none: passed).
Nothing here starts a program, so tests/packaging holds each function against made logs."""
import json
import os
import re
import statistics

# Entries of a trace's audit that mean that something of the GPU's work was lost or not understood.
LOSSES = ("no_gpu_work", "recording_cut", "recording_limited", "write_failed", "queue_full", "ring_overwritten",
          "cupti_dropped", "cupti_times_lost", "cupti_times_inverted", "cupti_buffer_malformed", "cupti_unknown_kind",
          "unknown_records", "times_lost", "time_out_of_range", "buffers_refused", "segments_damaged", "file_cut")


# What the recorder promises of a job that ends without a word (docs/collector.md, "The end"): CUPTI is asked every 200 ms,
# and keeps buffers of 1 MiB that hold an unfinished record. A kernel's record has 216 bytes there.
FLUSH_NS = 200_000_000
BUFFER_KERNELS = (1 << 20) // 216
IN_FLIGHT = 4096  # kernels that may wait between a program and its GPU


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


def audit(info, wanted=(), unwanted=LOSSES, launches=True):
    """The audit of `info --json`: nothing was lost, and what is wanted was found. launches: work has its launch, as it has
    with every detail but low."""
    if not info:
        return ["info printed no JSON"]
    entries = {each["name"]: each for each in info.get("audit", [])}
    problems = [f"{name} ({entries[name]['count']}): {entries[name]['detail'][:160]}" for name in unwanted if name in entries]
    problems += [f"{name} is missing in the audit" for name in wanted if name not in entries]
    without = entries.get("work_without_launch", {}).get("count", 0)
    arrows = entries.get("import_arrows", {}).get("count", 0)
    if launches and without * 20 > arrows:
        problems.append(f"{without} kernels and copies without their launch, and {arrows} arrows")
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


def messages(info):
    """What the recorder itself said, as the trace has it."""
    return [each["detail"] for each in (info or {}).get("audit", []) if each["name"].startswith("collector_message_")]


class Launches:
    """What endings.py wrote while it ran: lines "NANOSECONDS COUNT", and "NANOSECONDS signal" where it sent itself one."""

    def __init__(self, text):
        lines = [line.split() for line in text.splitlines() if line.count(" ") == 1]
        self.counts = [(int(at), int(count)) for at, count in lines if count.isdigit()]
        self.signal = next((int(at) for at, word in lines if word == "signal"), None)
        self.all = self.counts[-1][1] if self.counts else 0

    def until(self, at):
        """How many had been launched at this time."""
        return max((count for when, count in self.counts if when <= at), default=0)

    def after(self, kernels):
        """Milliseconds between the launch of so many and the last."""
        return (self.counts[-1][0] - min(at for at, count in self.counts if count >= min(kernels, self.all))) * 1e-6


def ending(keeps, info, launches, kernels):
    """What is left of a job's launches. keeps: "all" of them; until its "signal"; or what was "flushed" before it ended
    without a word, where the trace has to say that it was cut."""
    if not launches.all or (keeps == "signal" and not launches.signal):
        return ["the job did not get to its end"]
    least = {"all": launches.all,
             "signal": launches.until(launches.signal or 0) - IN_FLIGHT,
             "flushed": launches.until(launches.counts[-1][0] - 2 * FLUSH_NS) - 2 * BUFFER_KERNELS}[keeps]
    problems = []
    if least <= launches.all // 4:
        problems.append(f"{launches.all} launches are too few to tell")
    if kernels < least:
        problems.append(f"{kernels} kernels of {launches.all}, at least {least} were promised")
    if kernels > launches.all + 300:  # what fills a tensor, and up to 200 that it had not counted yet
        problems.append(f"{kernels} kernels, and {launches.all} were launched")
    cut = count(info, "recording_cut")
    if keeps == "flushed" and kernels < launches.all and not cut:
        problems.append("the trace does not say that it was cut")
    reported = {"all": (), "signal": ("times_lost", "cupti_times_lost"), "flushed": ("recording_cut", "file_cut")}[keeps]
    return problems + audit(info, unwanted=[name for name in LOSSES if name not in reported], launches=False)


def graph_kept(info, nodes):
    """A graph whose nodes fit into CUPTI's buffers on the device: each is there once."""
    kept = count(info, "graph_nodes")
    return audit(info) + ([] if abs(kept - nodes) <= nodes / 1000 else [f"{kept} nodes of {nodes}"])


def graph_switched(info, wholes, replays, nodes):
    """A graph of `nodes` nodes that was replayed beyond what CUPTI has buffers for. Where their times were lost, a line says
    so, and the later replays are recorded as wholes; None: CUPTI lost none, so that nothing was to be switched."""
    if not info:
        return ["info printed no JSON"]
    recorded, lost = count(info, "graph_nodes"), count(info, "times_lost") + count(info, "cupti_dropped")
    if not lost and recorded >= 0.999 * replays * nodes:
        return None
    words = [line for line in messages(info) if "loses the times of graph nodes" in line]
    if not words:
        return [f"{lost} nodes of {replays * nodes} lost their times, and no line says so"]
    if "from here on" not in words[0]:  # beside other subscribers it cannot be switched, and the line says what to do
        return [] if "FOURWALLS_WITHOUT" in words[0] else [words[0]]
    problems = [] if wholes else ["no replay was recorded as a whole"]
    known = wholes + (recorded + count(info, "cupti_dropped")) / nodes
    if not 0.98 * replays <= known <= 1.02 * replays:
        problems.append(f"{wholes} whole replays and {recorded} nodes are {known:.0f} of {replays} replays")
    if lost > replays * nodes / 2:
        problems.append(f"{lost} nodes lost their times before it was switched")
    losses = [name for name in LOSSES if name not in ("times_lost", "cupti_times_lost", "cupti_times_inverted", "cupti_dropped")]
    return problems + audit(info, unwanted=losses, launches=False)


def taken_back(info, said, kernels):
    """Another profiler came in the middle: the kernels from before it and those of the end are there, and a line says that
    the records were taken back. None: it took nothing."""
    if not info or not said:
        return ["a run printed no JSON"]
    if kernels >= said["launched"]:
        return None if not any("taken back" in line for line in messages(info)) else []
    problems = [] if any("were taken back" in line for line in messages(info)) else ["no line says that they were taken back"]
    least = said["before"] + said["late"]
    return problems + ([] if kernels >= 0.98 * least else [f"{kernels} kernels, at least {least} of {said['launched']} were expected"])


def memory(pairs, tolerance=0.01):
    """Bytes recorded against PyTorch's own, by what they are: {words: (recorded, PyTorch's)}."""
    problems = []
    for words, (own, other) in pairs.items():
        if not other:
            problems.append(f"PyTorch tells no {words}")
        elif own is None or abs(own - other) > tolerance * other:
            problems.append(f"{words}: {own} recorded, and {other} by PyTorch")
    return problems


def peaks(metrics, query):
    """(the peak of buffers by `metrics`, of the counter by `query`), None where there is none."""
    rows = (metrics or {}).get("peak_bytes") or [{}]
    values = (query or {}).get("rows") or [[None]]
    return rows[0].get("total") or None, values[0][0]


def memory_rates(info, query):
    """Rows of (kernel, its nanoseconds, its bytes), as (kernel, ms, GB/s, percent of what the device's memory was measured at),
    those that took longest first. Empty where the trace does not tell that."""
    memory = (info or {}).get("memory_bytes_per_second") or 0
    rows = [row for row in (query or {}).get("rows") or [] if memory > 0 and row[1] and row[2]]
    return [(name, took / 1e6, moved / took, 100e9 * moved / took / memory)
            for name, took, moved in sorted(rows, key=lambda row: -row[1])]


def kinds_of(paths, endings):
    """Of each kind of file there is one that is not empty."""
    return [f"no {ending}" for ending in endings
            if not any(path.endswith(ending) and os.path.isfile(path) and os.path.getsize(path) for path in paths)]


def calibrated(preset, predicted):
    """The file of `calibrate --device cuda`, and what `predict --json` makes of it."""
    try:
        preset = json.loads(preset)
    except ValueError:
        return ["there is no file of JSON"]
    rows, problems = preset.get("tables", {}).get("products", []), []
    for context in ("microbenchmark_burst", "microbenchmark_sustained"):
        own = [row for row in rows if row.get("context") == context]
        if not own:
            problems.append(f"no products of {context}")
        wrong = [row["fraction_of_peak"] for row in own if not 0.02 < (row.get("fraction_of_peak") or 0) <= 1.05]
        if wrong:
            problems.append(f"{len(wrong)} products of {context} at {wrong[0]} of the peak")
        if own and not any(row.get("clock_mhz") for row in own):
            problems.append(f"no clock beside products of {context}")
    if not 1 <= preset.get("sustained_over_burst", 0) < 2:
        problems.append(f"sustained over burst: {preset.get('sustained_over_burst')}")
    return problems + ([] if ((predicted or {}).get("step_time_ms") or 0) > 0 else ["no step time was predicted"])


def timed(report, network):
    """The report of cuda_against_pytorch.py. How they compare is for its reader."""
    own = (report or {}).get(network) or {}
    problems = [f"no {name}" for name in ("engine_ms", "recorded_ms", "pytorch_ms") if not (own.get(name) or 0) > 0]
    return problems + ([] if own.get("sound") and not own.get("dropped") else ["the engine's trace is not sound"])


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


def pairing(job):
    """How kernels are paired with NCCL's operations: by the launch that NCCL tells from 2.28 on, else by thread and time."""
    version = (job or {}).get("nccl") or [2, 28]
    return "nccl_kernels_paired" if version[:2] >= [2, 28] else "nccl_kernels_paired_by_time"


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


def said(text, *words):
    """One line of the recorder has to hold these words, or others of them."""
    lines = [line for line in text.splitlines() if any(each in line for each in words)]
    quoted = " or ".join(f"'{each}'" for each in words)
    if not lines:
        return [f"no line says {quoted}"]
    return [f"{len(lines)} lines say {quoted}"] if len(lines) > 3 else []


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
    """(count, µs) of the product's runs against those of torch.profiler, of the same steps: the medians agree. None: the GPU
    itself took longer in some runs than in others, so that times cannot tell."""
    problems = []
    for index, what in enumerate(("kernels", "µs of kernels")):
        own, other = ([run[index] for run in runs] for runs in (ours, theirs))
        if not other or not all(other):
            problems.append(f"torch.profiler has no {what}")
        elif not own or None in own:
            problems.append(f"no {what} were recorded")
        elif abs(statistics.median(own) - statistics.median(other)) > tolerance * statistics.median(other):
            if index == 1 and not problems and max(min(own), min(other)) <= min(max(own), max(other)):
                return None
            problems.append(f"{own} {what}, and {other} by torch.profiler")
    return problems


def same_run(plain, recorded_run, keys, tolerance=1e-3):
    """What a job printed of itself has to be the same with and without the recorder: counts exactly, losses but for the
    order in which a GPU adds up (attention's backward pass has none)."""
    if not plain or not recorded_run:
        return ["a run printed no JSON"]

    def same(own, other):
        if isinstance(own, float) and isinstance(other, float):
            return abs(own - other) <= tolerance * abs(other)
        return own == other

    return [f"{key}: {recorded_run.get(key)} recorded, {plain.get(key)} plain" for key in keys
            if plain.get(key) is None or not same(recorded_run.get(key), plain.get(key))]


def overhead(times):
    """Step times in ms by way of recording ({way: [[ms of each step] of each run]}) as rows: way, median, least and
    greatest median of a run, change against the plain runs in percent."""
    medians = {way: [statistics.median(run) for run in runs if run] for way, runs in times.items()}
    if not medians.get("plain"):
        return []
    base = statistics.median(medians["plain"])
    return [(way, statistics.median(each), min(each), max(each), 100 * (statistics.median(each) / base - 1))
            for way, each in medians.items() if each]
