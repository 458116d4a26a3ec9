# SPDX-License-Identifier: Apache-2.0
"""What a raw file tells of one rank, and what follows from it: steps, shares of their time, collectives.

The definitions are those of docs/metrics.md; nothing of the program is used. Times are nanoseconds, sizes bytes, and
None is "the file does not say".
"""
import collections
import dataclasses
import statistics

import intervals

COMPUTE, COMMUNICATION, COPY = "compute", "communication", "copy"


@dataclasses.dataclass
class Work:
    """A kernel, copy or set on a device."""

    begin: int
    end: int
    name: str
    kind: str
    launched: int | None = None  # when the host asked for it
    bytes: int | None = None
    device: int = 0


@dataclasses.dataclass
class Step:
    """A step of one rank: mark is the host's, the range ends with the device's work; state as in docs/metrics.md."""

    name: str
    mark: tuple
    begin: int
    end: int
    state: str = "measured"

    def length(self):
        return self.end - self.begin


@dataclasses.dataclass
class Rank:
    """One rank as its file tells of it."""

    path: str
    kind: str  # kineto, chrome, ascend, nsight, snapshot
    rank: int | None = None
    world: int | None = None
    device: str | None = None
    device_bytes: int | None = None
    devices_listed: int = 0
    slices: int = 0
    cut: str | None = None  # why the file is no whole one
    unread: str | None = None  # what of the file is not shown, or does not fit together
    work: list = dataclasses.field(default_factory=list)
    waits: list = dataclasses.field(default_factory=list)  # (begin, end) in which the device's own records say that it waits
    host: list = dataclasses.field(default_factory=list)  # operators and collectives of threads, in the place of work
    marks: list = dataclasses.field(default_factory=list)  # (begin, end, name)
    ranges: dict = dataclasses.field(default_factory=dict)  # name without digits: [(begin, end)]
    launches: list = dataclasses.field(default_factory=list)  # [(begin, end)] of calls that launch
    pairs: int = 0  # asynchronous begins, with their ends or left open
    asynchronous: int = 0  # events of pairs that no thread has
    kept: list = dataclasses.field(default_factory=list)  # (begin, end) of copies that kept their caller
    syncs: list = dataclasses.field(default_factory=list)
    requests: list = dataclasses.field(default_factory=list)  # (begin, end, operation, bytes, group) on the host
    parameters: list = dataclasses.field(default_factory=list)  # the same, as record_param_comms has them
    products: list = dataclasses.field(default_factory=list)  # (begin, end, flops or None)
    sync_names: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    has: dict = dataclasses.field(default_factory=dict)  # forward, backward, optimizer
    modules: dict = dataclasses.field(default_factory=dict)  # class of nn.Module: its instances
    groups: dict = dataclasses.field(default_factory=dict)  # what a process group is for, as the file says: its size
    lists_groups: bool = False  # the ranks of its process groups
    sizes: dict = dataclasses.field(default_factory=dict)  # see raw_sizes
    span: tuple | None = None
    allocator_events: int = 0
    allocator_of_host: bool = False  # main memory, no device's
    allocated_peak: int | None = None  # by the allocator's total
    allocated_rise: int | None = None  # the largest sum of sizes since the first event
    memory: dict = dataclasses.field(default_factory=dict)  # of a snapshot
    categories: collections.Counter = dataclasses.field(default_factory=collections.Counter)

    def of(self, kind):
        return [(w.begin, w.end) for w in self.work if w.kind == kind]

    def work_span(self):
        ends = [(w.begin, w.end) for w in self.work] + self.waits
        return (min(a for a, _ in ends), max(b for _, b in ends)) if self.work else None


def ranges_of(marks, work):
    """Steps from their marks: a step ends where its mark and the work launched within it have ended, and begins with its
    mark or later where the step before it ended later. Work that outlives the next step's is none of a loop's."""
    marks = sorted(marks)
    ends = [mark[1] for mark in marks]
    own = [[w for w in work if w.launched is not None and mark[0] <= w.launched < mark[1]] for mark in marks]
    following = None
    for i in reversed(range(len(marks))):
        if not own[i]:
            continue
        last = max(w.end for w in own[i])
        end = max(marks[i][1], last)
        if following is not None and end >= following:
            end = marks[i][1]
        ends[i] = end
        following = end
    steps, before = [], None
    for i, (begin, end, name) in enumerate(marks):
        first = begin if before is None else max(begin, before)
        steps.append(Step(name, (begin, end), first, max(first, ends[i])))
        before = steps[-1].end
    return steps, own


def states(steps, own):
    """Marks cut, warm-up and odd steps."""
    substance = [sum(w.end - w.begin for w in each) for each in own]
    for i in [len(steps) - 1, 0] + list(range(1, len(steps) - 1)) if steps else []:
        others = [substance[k] for k in range(len(steps)) if k != i and steps[k].state != "cut"]
        lengths = [steps[k].length() for k in range(len(steps)) if k != i and steps[k].state != "cut"]
        if not others:
            continue
        if any(substance):
            if substance[i] < 0.2 * statistics.median(others):
                steps[i].state = "cut"
        elif i in (0, len(steps) - 1) and steps[i].length() < 0.2 * statistics.median(lengths):
            steps[i].state = "cut"
    whole = [s for s in steps if s.state == "measured"]
    if len(whole) >= 2:
        slow = len(whole) == 2 and whole[0].length() > 5 * whole[1].length()
        if slow or (len(steps) >= 3 and whole[0] is steps[0]):
            whole.pop(0).state = "warm-up"
    if len(whole) >= 3:
        middle = statistics.median(s.length() for s in whole)
        for step in whole:
            if not middle / 5 <= step.length() <= middle * 5:
                step.state = "odd"


def steps_of(rank):
    steps, own = ranges_of(rank.marks, rank.work)
    states(steps, own)
    return steps


def median_step(steps):
    """The measured step of median length, of an even number the lower of the middle two."""
    measured = sorted((s for s in steps if s.state == "measured"), key=lambda s: s.length())
    return measured[(len(measured) - 1) // 2] if measured else None


def shares(rank, begin, end):
    """The partition of a window: compute, exposed communication, exposed copy and idle, as fractions of it."""
    window = end - begin
    if window <= 0:
        return None
    compute = intervals.clip(rank.of(COMPUTE), begin, end)
    communication = intervals.clip(rank.of(COMMUNICATION), begin, end)
    copy = intervals.clip(rank.of(COPY), begin, end)
    exposed = intervals.minus(communication, compute)
    alone = intervals.minus(intervals.minus(copy, compute), communication)
    busy = intervals.union([tuple(x) for x in compute + communication + copy])
    idle = intervals.minus([[begin, end]], busy)
    launch = intervals.clip(rank.launches, begin, end)
    sync = intervals.clip(rank.syncs, begin, end)
    hidden = intervals.length(communication) - intervals.length(exposed)
    return {
        "compute": intervals.length(compute) / window,
        "exposed_comm": intervals.length(exposed) / window,
        "exposed_copy": intervals.length(alone) / window,
        "idle": intervals.length(idle) / window,
        "busy": intervals.length(busy) / window,
        "hidden": hidden / intervals.length(communication) if communication else None,
        "launch_idle": 1.0 * (intervals.length(idle) - intervals.length(intervals.minus(idle, launch))) / window,
        "sync_idle": 1.0 * (intervals.length(idle) - intervals.length(intervals.minus(idle, sync))) / window,
    }


def mean_shares(ranks, begin, end):
    """The shares of a job's step: the mean over its ranks, all over the same time."""
    each = [s for s in (shares(rank, begin, end) for rank in ranks) if s]
    if not each:
        return None
    keys = each[0].keys()
    known = {key: [s[key] for s in each if s[key] is not None] for key in keys}
    return {key: sum(v) / len(v) if v else None for key, v in known.items()}


def collectives(rank, begin=None, end=None):
    """Communication kernels that begin in a window (or in the whole trace)."""
    return sorted(
        (
            w
            for w in rank.work
            if w.kind == COMMUNICATION and (begin is None or begin <= w.begin < end or begin < w.end <= end)
        ),
        key=lambda w: w.begin,
    )
