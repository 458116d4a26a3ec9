# SPDX-License-Identifier: Apache-2.0
"""What several ranks' files tell together: the job's steps, who waits for whom in collectives."""
import collections

import raw_model


class Run:
    """The ranks of one run, their steps and candidates for "the" step."""

    def __init__(self, ranks):
        self.ranks = ranks
        self.steps = {id(rank): raw_model.steps_of(rank) for rank in ranks}

    def only_memory(self):
        return all(rank.kind == "snapshot" for rank in self.ranks)

    def world(self):
        return max((rank.world for rank in self.ranks if rank.world), default=None)

    def devices(self):
        return collections.Counter(rank.device for rank in self.ranks if rank.device)

    def job_steps(self):
        """Per mark's name: (name, begin, end, state) of steps that every rank with steps took. A step ends when its last
        rank ends it and begins where the one before ended or where a rank first begins it after that; the first one
        begins when its last rank does."""
        with_steps = [self.steps[id(rank)] for rank in self.ranks if self.steps[id(rank)]]
        if not with_steps:
            return []
        found, before = [], None
        for first in with_steps[0]:
            same = [next((s for s in each if s.name == first.name), None) for each in with_steps]
            if None in same:
                continue
            begins = [s.begin for s in same]
            end = max(s.end for s in same)
            begin = max(begins) if before is None else max(before, min(begins))
            state = next((s.state for s in same if s.state != "measured"), "measured")
            found.append(raw_model.Step(first.name, (min(begins), end), begin, end, state))
            before = end
        return found

    def windows(self):
        """Windows that may stand for the step or the trace: (what, begin, end), the proper one first."""
        found = []
        job = self.job_steps()
        step = raw_model.median_step(job) or (job[0] if job else None)
        if step:
            found.append((f"{step.name}, with its device work", step.begin, step.end))
        for other in job:
            if other is not step:
                found.append((f"{other.name} ({other.state}), with its device work", other.begin, other.end))
        for other in job:
            if len(self.ranks) == 1 and other.mark != (other.begin, other.end):
                found.append((f"{other.name}, the host's mark alone", *other.mark))
        spans = [rank.span for rank in self.ranks if rank.span]
        if spans:
            found.append(("whole trace", min(a for a, _ in spans), max(b for _, b in spans)))
        work = [rank.work_span() for rank in self.ranks if rank.work]
        if work:
            found.append(("whole span of device work", min(a for a, _ in work), max(b for _, b in work)))
        return found

    def waiting(self, begin=None, end=None):
        """Within a window, or over everything. Operation i of each rank is one collective, if all ranks have as many and they overlap. Returns None or
        {"waiting": [per rank], "transfer": [...], "last": Counter, "operations": n}, in nanoseconds."""
        if len(self.ranks) < 2:
            return None
        each = [raw_model.collectives(rank) for rank in self.ranks]
        count = len(each[0])
        if not count or any(len(e) != count for e in each):
            return None
        last, waiting, transfer = collections.Counter(), [0] * len(each), [0] * len(each)
        for i in range(count):
            row = [e[i] for e in each]
            low = min(w.begin for w in row) if begin is None else begin
            high = max(w.end for w in row) if end is None else end
            arrival = max(w.begin for w in row)
            if arrival >= min(w.end for w in row):
                return None  # some do not overlap: position does not pair them
            last[max(range(len(row)), key=lambda k: row[k].begin)] += 1
            for k, w in enumerate(row):
                waiting[k] += max(0, min(arrival, high) - max(w.begin, low))
                transfer[k] += max(0, min(w.end, high) - max(arrival, low))
        return {"waiting": waiting, "transfer": transfer, "last": last, "operations": count}
