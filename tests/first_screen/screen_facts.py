# SPDX-License-Identifier: Apache-2.0
"""Raw facts in the form in which rules of sentences ask for them: those of the window that the screen speaks of."""
import collections
import dataclasses
import re

import device_peaks
import intervals
import raw_flops
import raw_model
import raw_sizes
import screen_figures as fig

TRUE, FALSE, MISLEADING = "true", "false", "misleading"
MISSING, UNCHECKED, NO_CLAIM = "not told though in the file", "not checked", ""
FINDINGS = (
    (r"Communication \(waiting", "exposed_comm"),
    (r"Transfers that no", "exposed_comm"),
    (r"Copies that no", "exposed_copy"),
    (r"waits for work|host|starts up", "idle"),
    (r"synchronising calls", "sync_idle"),
    (r"waits for data", "idle"),
)


class Facts:
    """shown_step: the time that the screen shows, or None. The window is the one of the raw file that is as long."""

    MISSING = MISSING

    def __init__(self, run, shown_step, claimed=()):
        """claimed: steps that the program found without marks; their windows are used only where no mark fits."""
        self.run, self.shown_step, self.claimed = run, shown_step, list(claimed)
        found = [(f"steps by {s.name}, as the program found them", s.begin, s.end) for s in claimed if s.state == "measured"]
        close = lambda windows: [w for w in windows if shown_step and fig.near(shown_step, w[2] - w[1])]
        fits = sorted(close(run.windows()), key=lambda w: abs(w[2] - w[1] - shown_step)) or close(found)
        self.window = fits[0] if fits else None
        self.window_name = self.window[0] if self.window else None
        self.device_work = any(rank.work for rank in run.ranks)
        # Without a device the threads' operators are what works.
        self.ranks = run.ranks if self.device_work else [dataclasses.replace(r, work=r.host) for r in run.ranks]
        works = any(rank.work for rank in self.ranks)
        self._shares = raw_model.mean_shares(self.ranks, *self.window[1:]) if self.window and works else None

    def steps_repeat(self):
        """(whether, what was seen): steps without marks are told by the same kernels in each, or by ranges of one name."""
        whole = [s for s in self.claimed if s.state == "measured"]
        if not whole:
            return None, "no marks of steps"
        if whole[0].name.startswith("range"):
            begins = {a for rank in self.run.ranks for each in rank.ranges.values() for a, _ in each}
            begins |= {s.end for s in self.claimed}
            return all(s.begin in begins for s in whole), f"{len(whole)} begin with a range or where the one before ended"
        kernels = [collections.Counter(w.name for w in self.run.ranks[0].work if s.begin <= w.begin < s.end) for s in whole]
        alike = [2 * sum((a & b).values()) / max(1, sum(a.values()) + sum(b.values())) for a, b in zip(kernels, kernels[1:])]
        return len(whole) > 1 and min(alike) >= 0.9, f"{len(whole)} stretches of kernels alike to {fig.percent(min(alike, default=None))}"

    def has_steps(self):
        """Whole steps that the file marks, or that the program found because something repeats."""
        return any(s.state == "measured" for s in self.run.job_steps()) or bool(self.claimed)

    def share(self, key):
        return self._shares[key] if self._shares else None

    def no_window(self):
        """Why a share cannot be held against anything, and whether saying one misleads."""
        if self.window and not self.device_work:
            return MISLEADING, "no operator and no work of a device is in the file"
        return UNCHECKED, f"no window of the raw file fits the step of {fig.milliseconds(self.shown_step)}"

    def windows_in_words(self):
        return "; ".join(f"{name} {fig.milliseconds(b - a)}" for name, a, b in self.run.windows()[:6])

    def lonely(self):
        """Other ranks of the job are not in the files."""
        if self.run.world():
            return self.run.world() > len(self.run.ranks)
        return len(self.run.ranks) == 1 and sum(self.communication()) > 0

    def left_open(self):
        """A JSON array without its last bracket: legal, and what a cut file looks like."""
        for rank in self.run.ranks:
            if rank.kind in ("kineto", "chrome") and not rank.path.endswith(".gz"):
                with open(rank.path, "rb") as file:
                    text = file.read().strip()
                if text.startswith(b"[") and not text.endswith(b"]"):
                    return True
        return False

    def peaks(self):
        found = []
        for rank in self.run.ranks:
            found += [rank.memory.get("peak"), rank.memory.get("peak_reserved"), rank.allocated_peak, rank.allocated_rise]
        return [value for value in found if value]

    def memory_in_file(self):
        for rank in self.run.ranks:
            if rank.memory:
                return f"a snapshot, peak {fig.gigabytes(rank.memory['peak'])}"
            if rank.allocator_events:
                return f"{rank.allocator_events} allocator events of {'the processor' if rank.allocator_of_host else 'devices'}"
        return None

    def communication(self):
        kernels = sum(len(raw_model.collectives(rank)) for rank in self.run.ranks)
        return kernels, sum(len(rank.requests) for rank in self.run.ranks)

    def collective_counts(self):
        kernels = [len(raw_model.collectives(rank)) for rank in self.run.ranks]
        counts = {"kernels": sum(kernels), "kernels of a rank": max(kernels), "requests": sum(len(r.requests) for r in self.run.ranks)}
        counts["requests of a rank"] = max(len(r.requests) for r in self.run.ranks)
        if self.window:
            inside = [raw_model.collectives(rank, *self.window[1:]) for rank in self.run.ranks]
            counts["kernels in the step"] = sum(map(len, inside))
            counts["kernels of a rank in the step"] = max(map(len, inside))
            asked = [[q for q in rank.requests if self.window[1] <= q[0] < self.window[2]] for rank in self.run.ranks]
            counts["requests in the step"] = max(map(len, asked))
        return counts

    def utilisation(self, shown):
        if not -1e-9 <= shown <= 1:
            return FALSE, "an MFU is between 0 and 1"
        rates = device_peaks.peaks_of(next(iter(self.run.devices()), None))
        if not rates or not self.window:
            return UNCHECKED, "no datasheet here, or no window"
        begin, end = self.window[1:]
        flops, seconds = self.flops(), (end - begin) / 1e9 * len(self.run.ranks)
        least = {name: flops / (rate * seconds) for name, rate in rates.items()}
        raw = f"FLOPs of the step by shapes: {', '.join(f'{n} {fig.percent(v)}' for n, v in least.items())}"
        if any(abs(shown - value) <= 0.05 * value for value in least.values()):
            return TRUE, raw
        return (FALSE if flops else UNCHECKED), raw

    def covered(self):
        """(of the compute time, of the time in products): how much kernels launched by an operator of known FLOPs take in
        the window, without what stands beside the product; None: nothing to compare with."""
        if not self.window:
            return None, None
        begin, end = self.window[1:]
        known = total = products = 0
        for rank in self.run.ranks:
            for w in rank.work:
                if w.kind != raw_model.COMPUTE or not begin <= w.begin < end:
                    continue
                total += w.end - w.begin
                if not raw_flops.is_product(w.name):
                    continue
                products += w.end - w.begin
                if raw_flops.innermost(rank.products, w.launched):
                    known += w.end - w.begin
        return (known / total if total else None), (known / products if products else None)

    def flops_ran(self):
        """Whether any product of a device can be told to be that of an operator with shapes."""
        return any(raw_flops.innermost(r.products, w.launched) for r in self.run.ranks for w in r.work if raw_flops.is_product(w.name))

    def flops(self):
        """Of the operators whose products ran in the window; of the operators themselves where no device is."""
        begin, end = self.window[1:]
        total = 0
        for rank in self.run.ranks:
            ran = {p for p in rank.products if p[2] and begin <= p[0] < end}
            if rank.work:
                inside = [w for w in rank.work if begin <= w.begin < end and raw_flops.is_product(w.name)]
                ran = {raw_flops.innermost(rank.products, w.launched) for w in inside} - {None}
            total += sum(p[2] for p in ran)
        return total

    def hidden_transfers(self):
        """The part of transfers (last arrival to end) beside computation, over ranks whose operations pair by position."""
        if not self.run.waiting() or not self.window:
            return None
        each = [raw_model.collectives(rank) for rank in self.run.ranks]
        hidden = total = 0
        for row in zip(*each):
            arrival = max(w.begin for w in row)
            for rank, w in zip(self.run.ranks, row):
                own = intervals.clip([(arrival, w.end)], *self.window[1:])
                total += intervals.length(own)
                hidden += intervals.length(own) - intervals.length(intervals.minus(own, intervals.union(rank.of(raw_model.COMPUTE))))
        return hidden / total if total else None

    def part_of(self, name, shown):
        whole = self.share("idle" if "idle" in name or name in ("data loading", "between operators") else "compute")
        if whole is None:
            return self.no_window()
        if shown > whole + 0.0011:
            return FALSE, f"more than the {fig.percent(whole)} that it is a part of"
        return TRUE, f"a part of {fig.percent(whole)}"

    def finding(self, row, shown, step, time):
        if not self.shown_step or not fig.near(time, shown * self.shown_step, 0.02, 0.0006 * self.shown_step):
            return FALSE, f"the step takes {fig.milliseconds(self.shown_step)}"
        if step and self.window and f"#{step}" not in self.window[0] and self.run.job_steps():
            return FALSE, f"the figures are of {self.window[0]}"
        waits = re.match(r"(?:The other ranks wait|Rank \d+ waits) for rank (\d+)|The others wait until rank (\d+) ", row)
        if waits:
            return self.wait_of(int(waits[1] or waits[2]), shown)
        if row.startswith("Many kernels"):
            return self.small_kernels(shown)
        if row.startswith("Ranks wait for one another"):
            found = self.run.waiting(*self.window[1:]) if self.window else None
            if not found:
                return UNCHECKED, "operations do not pair by position"
            raw = sum(found["waiting"]) / len(found["waiting"]) / self.shown_step
            return (TRUE if abs(shown - raw) <= 0.02 else FALSE), f"each waits {fig.percent(raw)}"
        for pattern, key in FINDINGS:
            if re.search(pattern, row):
                raw = self.share(key)
                if raw is None:
                    return self.no_window()
                if key == "idle":
                    return (TRUE if shown <= raw + 0.0011 else FALSE), f"a part of {fig.percent(raw)} idle"
                if key == "exposed_comm" and "Transfers" in row:
                    return (TRUE if shown <= raw + 0.0011 else FALSE), f"a part of {fig.percent(raw)} exposed"
                wide = 0.03 if key == "sync_idle" else 0
                return (TRUE if fig.near_share(shown, raw) or abs(shown - raw) <= wide else FALSE), fig.percent(raw)
        return UNCHECKED, "a finding that no rule knows"

    def wait_of(self, rank, shown):
        found = self.run.waiting()
        if not found:
            return UNCHECKED, "operations do not pair by position"
        index = next((i for i, r in enumerate(self.run.ranks) if (r.rank if r.rank is not None else i) == rank), None)
        others = [w for i, w in enumerate(found["waiting"]) if i != index]
        raw = sum(others) / len(others) / self.shown_step
        most = max(found["last"], key=found["last"].get)
        said = f"rank {most} is last in {found['last'][most]} of {found['operations']}; the others wait {fig.percent(raw)}"
        return (TRUE if most == index and shown <= raw + 0.01 else FALSE), said

    def small_kernels(self, shown):
        if not self.window:
            return UNCHECKED, "no window"
        begin, end = self.window[1:]
        short = [
            min(w.end, end) - max(w.begin, begin)
            for rank in self.run.ranks
            for w in rank.work
            if w.kind == raw_model.COMPUTE and w.end > begin and w.begin < end and w.end - w.begin < 10_000
        ]
        raw = sum(short) / (end - begin) / len(self.run.ranks)
        said = f"{len(short) / len(self.run.ranks):.0f} kernels below 10 µs, {fig.percent(raw)}"
        return (TRUE if abs(raw - shown) < 0.25 * shown + 0.01 else FALSE), said

    def longest_gap(self, shown):
        """The longest time in the window in which the device of a rank does nothing."""
        if not self.window:
            return self.no_window()
        begin, end = self.window[1:]
        each = []
        for rank in self.run.ranks:
            busy = intervals.clip([(w.begin, w.end) for w in rank.work], begin, end)
            each.append(max((b - a for a, b in intervals.minus([[begin, end]], busy)), default=0))
        said = "longest gap of " + "; ".join(f"rank {i}: {fig.milliseconds(gap)}" for i, gap in enumerate(each[:4]))
        return (TRUE if any(fig.near(shown, gap, 0.01) for gap in each) else FALSE), said

    def heading(self, words):
        kernels, requests = self.communication()
        if re.search(r"Communication|Transfers|Rank", words) and not kernels + requests:
            return FALSE, "no communication in the file"
        if "synchronising" in words and not any(rank.syncs for rank in self.run.ranks):
            return FALSE, "no synchronising calls in the file"
        if words.startswith("Memory ran out") and not any(r.memory.get("out_of_memory") for r in self.run.ranks):
            return FALSE, "no out-of-memory entry"
        return TRUE, f"{kernels} communication kernels, {requests} requests" if "ommunic" in words else ""

    def detail(self, match, claim):
        if not self.window:
            return UNCHECKED, "no window"
        begin, end = self.window[1:]
        inside = [w for rank in self.run.ranks for w in rank.work if w.end > begin and w.begin < end]
        if match[2]:
            raw = sum(w.kind == raw_model.COMPUTE for w in inside) / len(self.run.ranks)
            every = sum(w.kind == raw_model.COMPUTE for rank in self.run.ranks for w in rank.work) / len(self.run.ranks)
            steps = max(1, sum(s.state == "measured" for s in self.run.job_steps()))
            with_all = sum(w.kind != raw_model.COPY for w in inside) / len(self.run.ranks)
            near = fig.near(int(match[2]), with_all, 0.03, 1) or fig.near(int(match[2]), raw, 0.03, 1) or fig.near(int(match[2]), every / steps, 0.03, 1)
            return (TRUE if near else FALSE), f"{raw:.0f} kernels in the step"
        if match[3]:
            return (TRUE if abs(fig.share(match[3]) - self.share("launch_idle")) < 0.03 else FALSE), fig.percent(self.share("launch_idle"))
        if claim.words.startswith("mostly "):
            name = claim.words[7:].rstrip("…")
            in_file = any(name in w.name for w in inside) or any(name in n for r in self.run.ranks for n in r.sync_names)
            in_file = in_file or any(re.sub(r"\d+", "#", name) in n for r in self.run.ranks for n in r.ranges)
            return (TRUE if in_file else UNCHECKED), "a name of the file" if in_file else "no such name was read here"
        if match[1]:
            short = sum(w.kind == raw_model.COMPUTE and w.end - w.begin < 10_000 for w in inside) / len(self.run.ranks)
            if "Many kernels" in claim.row:
                return (TRUE if fig.near(int(match[1]), short, 0.3, 3) else FALSE), f"{short:.0f} kernels below 10 µs in the step"
            # Each rank's calls within its own steps.
            own = [(r, s) for r in self.run.ranks for s in self.run.steps[id(r)] if s.state == "measured"]
            own = own or [(r, raw_model.Step("", (), begin, end)) for r in self.run.ranks]
            calls = sum(s.begin <= a < s.end for r, s in own for a, _ in r.syncs + r.kept) / len(own)
            return (TRUE if fig.near(int(match[1]), calls, 0.1, 1) else UNCHECKED), f"{calls:.1f} calls that wait, per step and rank"
        if match[4]:
            last = (self.run.waiting() or {"last": {}})["last"]
            return (TRUE if int(match[4]) in last.values() else FALSE), f"last to arrive, by place: {dict(last)}"
        return UNCHECKED, ""

    def inferred(self, words):
        wrong, unknown = [], []
        for field, value, other, odds in re.findall(r"(\w+) = ([^,(]+(?:\([^)]*GB\))?)(?:\(or ([^,]+), (\d+) % as likely\))?", words):
            right = self.field(field, value.strip(), other, odds)
            if right is False:
                wrong.append(f"{field} is not {value}")
            elif right is None:
                unknown.append(field)
        if wrong:
            return FALSE, "; ".join(wrong)
        return (UNCHECKED, f"{', '.join(unknown)} not checked, the rest is in the file") if unknown else (TRUE, "in the file")

    def field(self, field, value, other="", odds=""):
        """Whether an inferred value is what the file shows, and so is what else it could be. None: no way to tell here."""
        counted = {"precision": "precision", "hidden": "norm", "heads": "heads", "sequence": "sequence"}.get(field)
        if counted:
            told = raw_sizes.most(self.run.ranks[0].sizes, counted)
            if not told:
                return None
            if str(told[0][0]) != value:
                return False
            if other:
                return any(str(what) == other and abs(part - int(odds) / 100) < 0.02 for what, part in told[1:])
            return all(part < 0.99 for _, part in told[1:])
        if field == "ffn_hidden":
            return int(value) in self.run.ranks[0].sizes.get("product", {}) or None
        if field == "device":
            return value in self.run.devices()
        if field == "world_size":
            if self.run.world():
                return int(value) == self.run.world()
            return True if int(value) == len(self.run.ranks) > 1 else None
        if field == "optimizer":
            return any(f"Optimizer.step#{value}.step" in rank.ranges for rank in self.run.ranks) or None
        if field == "layers":
            return any(len(each) == int(value) for each in self.run.ranks[0].modules.values()) or None
        named = {"tp": "TENSOR_MODEL_PARALLEL", "pp": "PIPELINE_MODEL_PARALLEL", "dp": "DATA_PARALLEL"}.get(field, "?")
        sizes = {size for desc, size in self.run.ranks[0].groups.items() if desc.startswith(named)}
        if sizes:
            return int(value) in sizes
        replicas = any("DistributedDataParallel.forward" in rank.ranges for rank in self.run.ranks)
        if field == "dp" and replicas and int(value) == self.run.world():
            return True
        if field in ("dp", "tp", "pp", "ep") and self.run.world():
            return None if self.run.world() % int(value) == 0 else False
        return None

    def untold(self, screen_words):
        """Facts of the file that no sentence of the screen tells: [(what is missing, raw figure)]."""
        missing = []
        for device in self.run.devices():
            if device not in screen_words:
                missing.append(("the device's name", device))
        if self.run.world() and self.lonely() and f"of {self.run.world()}" not in screen_words:
            missing.append(("that other ranks of the job are absent", f"{len(self.run.ranks)} of {self.run.world()}"))
        found = self.run.waiting()
        if found and self.shown_step:
            part = sum(found["waiting"]) / len(found["waiting"]) / self.shown_step
            if part > 0.05 and not re.search(r"wait", screen_words):
                missing.append(("that ranks wait for one another", fig.percent(part)))
        for rank in self.run.ranks:
            if rank.memory.get("out_of_memory") and "out of memory" not in screen_words:
                missing.append(("that memory ran out", f"{len(rank.memory['out_of_memory'])} times"))
        if any(rank.cut for rank in self.run.ranks) and "ends early" not in screen_words and "cut" not in screen_words:
            missing.append(("that the file is cut", next(rank.cut for rank in self.run.ranks if rank.cut)))
        kernels, requests = self.communication()
        if kernels + requests and not re.search(r"exposed|collectives|requests|[Cc]ommunication \(", screen_words):
            missing.append(("communication", f"{kernels} kernels, {requests} requests"))
        return missing
