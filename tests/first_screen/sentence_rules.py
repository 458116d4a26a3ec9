# SPDX-License-Identifier: Apache-2.0
"""What the sentences of the first screen mean, and the raw figure that each is held against.

A rule is a pattern and a function (match, claim, facts) -> (verdict, raw figure in words). The first rule that matches
decides; a sentence that no rule knows is "not checked", so that nothing passes unseen.
"""
import re

import device_peaks
import screen_figures as fig
from screen_facts import FALSE, MISLEADING, NO_CLAIM, TRUE, UNCHECKED

RULES = []


def rule(pattern, card=None):
    def add(function):
        RULES.append((re.compile(pattern), card and re.compile(card), function))
        return function

    return add


# What speaks of a step is false where nothing marks or repeats one, whatever else it says.
OF_A_STEP = re.compile(rf"\b(of|in|per) (the|this|a) step\b|\bstep's time\b|{fig.TIME} step\b")


def judge(claim, facts):
    if OF_A_STEP.search(claim.words) and not facts.has_steps():
        return FALSE, "no steps are marked and none repeats"
    for pattern, card, function in RULES:
        match = pattern.search(claim.words)
        if match and (not card or card.search(claim.card + "/" + claim.row)):
            return function(match, claim, facts)
    return UNCHECKED, "no rule knows this sentence"


def verdict(right, raw):
    return (TRUE if right else FALSE), raw


def of_share(shown, key, facts, wide=0.0):
    raw = facts.share(key)
    if raw is None:
        return facts.no_window()
    return verdict(fig.near_share(shown, raw) or abs(shown - raw) <= wide, f"{fig.percent(raw)} ({facts.window_name})")


@rule(r"^–$")
def dash(match, claim, facts):
    if claim.row == "Peak memory" and facts.memory_in_file():
        return facts.MISSING, facts.memory_in_file()
    if claim.row in ("Step time", "Time") and facts.run.job_steps():
        return facts.MISSING, f"{len(facts.run.job_steps())} steps are marked"
    if claim.row == "Device busy" and any(r.work for r in facts.run.ranks):
        return facts.MISSING, "device work is in the file"
    return TRUE, "unknown"


@rule(rf"^{fig.TIME}$", "figures/(Step time|Time)")
def step_time(match, claim, facts):
    if facts.window is None:
        return (FALSE, facts.windows_in_words()) if facts.run.windows() else (UNCHECKED, "no times")
    if facts.window not in facts.run.windows():
        repeat, raw = facts.steps_repeat()
        return (UNCHECKED if repeat is None else TRUE if repeat else FALSE), f"{facts.window[0]}: {raw}"
    proper = facts.run.windows()[0]
    if facts.window is proper or fig.near(facts.shown_step, proper[2] - proper[1]):
        return TRUE, f"{fig.milliseconds(proper[2] - proper[1])} ({proper[0]})"
    if claim.row == "Time" and facts.window[0].startswith("whole") and not facts.run.job_steps():
        return TRUE, f"{fig.milliseconds(facts.window[2] - facts.window[1])} ({facts.window[0]})"
    return FALSE, f"{fig.milliseconds(proper[2] - proper[1])} ({proper[0]}); shown is {facts.window[0]}"


@rule(rf"^{fig.PERCENT}$", "figures/Device busy")
def busy(match, claim, facts):
    return of_share(fig.share(match[0]), "busy", facts)


@rule(rf"^{fig.PERCENT}$", "figures/MFU")
@rule(rf"^MFU ({fig.PERCENT})")
def mfu(match, claim, facts):
    return facts.utilisation(fig.share(match.group(match.lastindex or 0)))


@rule(rf"^{fig.SIZE}$", "figures/Peak memory")
@rule(rf"^\+?{fig.SIZE}$", "Memory wall")
@rule(rf"peaks at ({fig.SIZE})|at most \+?({fig.SIZE})|up to \+?({fig.SIZE})")
def peak(match, claim, facts):
    shown = fig.size_bytes(next((g for g in match.groups() if g), match[0]))
    raws = facts.peaks()
    if not raws:
        return FALSE, "no allocations in the file"
    if "in use" in claim.words and any(rank.allocator_of_host for rank in facts.run.ranks) != ("main memory" in claim.words):
        return FALSE, facts.memory_in_file()
    return verdict(any(fig.near(abs(shown), r) for r in raws), " or ".join(map(fig.gigabytes, raws)))


@rule(r"^no allocations|^No allocations|its memory is unknown")
def no_memory(match, claim, facts):
    told = facts.memory_in_file()
    return verdict(not told, told or "none in the file")


@rule(r"^(Where|What|Memory wall|Communication wall|Performance wall|Tuning wall)", "/title")
def title(match, claim, facts):
    return NO_CLAIM, ""


@rule(r"^the only step$|^median (?:measured step|of (\d+) steps)$|^the only measured step of (\d+)$|^all (?:that was recorded|work of the device): no steps were recognised$|^no measured step")
def scope_of_step(match, claim, facts):
    job = facts.run.job_steps()
    measured = sum(s.state == "measured" for s in job)
    said = ", ".join(f"{s.name} {s.state} {fig.milliseconds(s.length())}" for s in job[:8]) or "no marks of steps"
    if claim.words.startswith(("all that was", "all work of", "no measured")):
        return verdict(not measured, said)
    if not job and facts.claimed:
        measured = sum(s.state == "measured" for s in facts.claimed)
        return verdict(measured == int(match[1] or 1), facts.steps_repeat()[1])
    if not job:
        return UNCHECKED, said
    if match[1]:
        return verdict(int(match[1]) == measured, f"{measured} measured: {said}")
    return verdict(measured == 1 or claim.words == "median measured step", said)


@rule(r"(\d+) (warm-up|cut|odd)")
def left_out(match, claim, facts):
    job = facts.run.job_steps()
    if not job:
        counts = [(int(n), sum(s.state.replace("warmup", "warm-up") == kind for s in facts.claimed)) for n, kind in re.findall(r"(\d+) (warm-up|cut|odd)", claim.words)]
        return verdict(all(a == b for a, b in counts), f"{len(facts.claimed)} steps without marks, the first is warm-up")
    right = all(sum(s.state == kind for s in job) == int(count) for count, kind in re.findall(r"(\d+) (warm-up|cut|odd)", claim.words))
    return verdict(right, ", ".join(f"{s.name} {s.state}" for s in job[:8]) or "no marks")


@rule(rf"^ranks ({fig.TIME}) to ({fig.TIME})$")
def range_of_ranks(match, claim, facts):
    marks = [s.mark[1] - s.mark[0] for steps in facts.run.steps.values() for s in steps]
    hulls = [s.length() for steps in facts.run.steps.values() for s in steps]
    low, high = fig.time_ns(match[1]), fig.time_ns(match[2])
    right = any(v and fig.near(low, min(v)) and fig.near(high, max(v)) for v in (marks, hulls))
    return verdict(right, f"{fig.milliseconds(min(hulls, default=None))} to {fig.milliseconds(max(hulls, default=None))}")


@rule(r"^mean of (?:both|(?:all )?(\d+)|(\d+) of (\d+)) ranks$")
def ranks_meant(match, claim, facts):
    right = int(match[1] or match[2] or 2) == len(facts.run.ranks) and (not match[3] or int(match[3]) == facts.run.world())
    return verdict(right, f"{len(facts.run.ranks)} of {facts.run.world()} ranks")


@rule(r"rank(?: \d+)? of (\d+)|(\d+) of (\d+) ranks are in the trace")
def part_of_job(match, claim, facts):
    world = int(match[1] or match[3])
    right = world == facts.run.world() and (not match[2] or int(match[2]) == len(facts.run.ranks))
    return verdict(right, f"{len(facts.run.ranks)} of {facts.run.world()}")


@rule(r"^steps? by |^by |^period of|^range ")
def steps_by(match, claim, facts):
    return UNCHECKED, f"{len(facts.run.job_steps())} marks of steps"


@rule(r"^computing, communicating or copying$|^from the trace itself$|^(?:main memory, )?by the profiler's count$|^since the start of the profile$|findings$")
def plain_note(match, claim, facts):
    return NO_CLAIM, ""


@rule(rf"FLOPs known for ({fig.PERCENT}) of the (compute|kernel)? ?time")
def covered(match, claim, facts):
    part = facts.covered()[0]
    raw = f"kernels of products with shapes: {fig.percent(part)} of the compute time"
    return (UNCHECKED, raw) if part is None else verdict(abs(fig.share(match[1]) - part) <= 0.03, raw)


@rule(rf"^adds up to the ({fig.TIME})|adds up to the ({fig.TIME}) step")
def adds_up(match, claim, facts):
    return verdict(facts.shown_step and fig.near(fig.time_ns(match[1] or match[2]), facts.shown_step), fig.milliseconds(facts.shown_step))


@rule(rf"peak ({fig.RATE})(?:, ([a-z0-9]+))?")
def device_peak(match, claim, facts):
    device = next(iter(facts.run.devices()), None)
    known = device_peaks.peaks_of(device)
    if not device:
        return FALSE, "the file names no device"
    if not known:
        return UNCHECKED, f"{device}: no datasheet here"
    rate = fig.rate(match[1])
    fits = [name for name, value in known.items() if fig.near(rate, value, 0.02)]
    right = fits and (not match[2] or match[2] in fits or match[2] not in known)
    return verdict(bool(right), f"{device}: {', '.join(f'{n} {v / 1e12:g}' for n, v in known.items())} TFLOP/s")


@rule(rf"^({fig.PERCENT}) ?({fig.TIME})?", "waterfall")
def bar(match, claim, facts):
    key = {"exposed comm": "exposed_comm", "exposed copy": "exposed_copy", "idle": "idle", "compute": "compute", "busy": "busy", "operators": "compute"}.get(claim.row)
    shown = abs(fig.share(match[1]))
    if match[2] and facts.shown_step and not fig.near(fig.time_ns(match[2]), shown * facts.shown_step, 0.02, 0.0006 * facts.shown_step):
        return FALSE, f"{match[2]} is not {match[1]} of {fig.milliseconds(facts.shown_step)}"
    if claim.row in ("step", "whole trace"):
        raw = "all of the time" if facts.has_steps() else "all of the time; no steps are marked and none repeats"
        return verdict(shown == 1 and (claim.row == "step") == facts.has_steps(), raw)
    if claim.row == "peak":
        return verdict(shown == 1, "all of the time")
    if claim.row == "bubble":
        return verdict(shown == 0, "no pipeline stages are marked")
    if key:
        return of_share(shown, key, facts)
    if claim.row == "launch":
        return of_share(shown, "launch_idle", facts, 0.03)
    if claim.row == "synchronise":
        return of_share(shown, "sync_idle", facts, 0.03)
    if claim.row in ("data loading", "other idle", "between operators", "inefficiency", "memory-bound", "achieved", "recompute", "other compute"):
        return facts.part_of(claim.row, shown)
    return UNCHECKED, f"a bar named {claim.row}"


@rule(rf"^({fig.PERCENT}) of the (?:step|trace) (?:is )?exposed|^binds: ({fig.PERCENT}) of the (?:step|trace) is exposed")
def exposed(match, claim, facts):
    if "waiting and transfer" not in claim.words and facts.lonely() and "binds" not in claim.words:
        return MISLEADING, f"{fig.percent(facts.share('exposed_comm'))}, waiting for absent ranks included"
    return of_share(fig.share(match[1] or match[2]), "exposed_comm", facts)


@rule(rf"^({fig.PERCENT}) of (?:its time|the transfers) hidden")
def hidden(match, claim, facts):
    raw = facts.share("hidden")
    if raw is None:
        return UNCHECKED, "no communication of a device; requests of the host were taken for it"
    if "transfers" in claim.words and facts.lonely():
        return MISLEADING, f"{fig.percent(raw)} of waiting and transfer"
    candidates = [raw, facts.hidden_transfers()]
    if any(c is not None and abs(fig.share(match[1]) - c) <= 0.01 for c in candidates):
        return TRUE, f"{fig.percent(candidates[1])} of transfers, {fig.percent(raw)} of communication"
    return UNCHECKED, f"{fig.percent(candidates[1])} of transfers, {fig.percent(raw)} of communication"


@rule(rf"^({fig.PERCENT}) of its time is waiting")
def waiting(match, claim, facts):
    found = facts.run.waiting(*(facts.window[1:] if facts.window else ()))
    if not found:
        return (FALSE if len(facts.run.ranks) < 2 else UNCHECKED), "operations of several ranks do not pair by position"
    waits, transfers = sum(found["waiting"]), sum(found["transfer"])
    raw = waits / (waits + transfers)
    return verdict(abs(fig.share(match[1]) - raw) < 0.02, fig.percent(raw))


@rule(rf"^({fig.PERCENT}) of the (?:step|trace) in operators of the processor")
def in_operators(match, claim, facts):
    return of_share(fig.share(match[1]), "compute", facts)


@rule(rf"^({fig.PERCENT})$", "figures/In operators")
def busy_operators(match, claim, facts):
    return of_share(fig.share(match[1]), "compute", facts)


@rule(r"^link ([\d.]+) ([kMGT])B/s")
def link_rate(match, claim, facts):
    device = next(iter(facts.run.devices()), None)
    known = device_peaks.link_of(device)
    rate = float(match[1]) * fig.PREFIXES[match[2]]
    return (UNCHECKED, f"{device}: no data sheet here") if not known else verdict(fig.near(rate, known, 0.05), f"{known / 1e9:g} GB/s of a direction of {device}")


@rule(r"^(?:no|No) collectives|[Nn]othing (?:in this trace )?was recognised as a collective|^one rank.*no collectives|nobody to talk to")
def no_collectives(match, claim, facts):
    kernels, requests = facts.communication()
    return verdict(not kernels and not requests, f"{kernels} communication kernels, {requests} requests")


@rule(r"^waiting cannot be told apart$")
def not_apart(match, claim, facts):
    listed = all(r.lists_groups for r in facts.run.ranks)
    return verdict(facts.lonely() or not listed, f"{len(facts.run.ranks)} of {facts.run.world()} ranks, groups {'listed' if listed else 'not listed'}")


@rule(r"not all of their ranks are in the trace|other ranks are not in the trace")
def absent_ranks(match, claim, facts):
    return verdict(facts.lonely(), f"{len(facts.run.ranks)} of {facts.run.world()} ranks")


@rule(r"the file does not say which ranks take part")
def unknown_members(match, claim, facts):
    listed = any(r.lists_groups for r in facts.run.ranks)
    return verdict(not listed, "the file lists the ranks of its groups" if listed else f"{len(facts.run.ranks)} ranks, and no list of a group's")


@rule(r"^none in this step, (\d+) in the trace|^(\d+) requests(?: in the step|$|;)|Only the requests of (\d+) collectives|^(?:All )?(\d+) collectives")
def counted(match, claim, facts):
    shown = int(next(g for g in match.groups() if g))
    counts = facts.collective_counts()
    return verdict(shown in counts.values(), ", ".join(f"{k} {v}" for k, v in counts.items()))


@rule(r"the file does not say how many bytes they move")
def no_bytes(match, claim, facts):
    known = sum(1 for r in facts.run.ranks for q in r.requests if q[3])
    return verdict(not known, f"{known} requests with a number of elements")


# What to do, and the finding that it is about.
ADVICE = (
    (r"^Captured graphs, a compiler|^Look at what the program does", r"waits for work"),
    (r"^Avoid \.item|^What the device did then may not be in the file|^Memory that is freed waits", r"synchronising calls"),
    (r"^More loader", r"waits for data"),
    (r"^Pinned memory", r"^Copies"),
    (r"^Fusing them", r"^Many kernels"),
    (r"^Later steps do not have it", r"starts up"),
    (r"^Compute with whole tensors", r"^Values of tensors"),
    (r"^Let it run beside computation", r"^Transfers"),
    (r"^Open the files of all ranks together", r"^Communication"),
    (r"^PYTORCH_CUDA_ALLOC_CONF", r"^Far more memory"),
    (r"^Keep losses as numbers", r"^Memory grows"),
    (r"^Look at what rank|^Check its clock", r"for rank \d+|until rank \d+"),
)


@rule("|".join(words for words, _ in ADVICE), "What (stands out|would help)")
def advice_of_finding(match, claim, facts):
    about = next(row for words, row in ADVICE if re.search(words, claim.words))
    if re.search(about, claim.row):
        return TRUE, "stands with its finding"
    return MISLEADING, f"reads as what to do about: {claim.row}"


@rule(r"^No device's work is in this trace")
def no_device(match, claim, facts):
    return verdict(not facts.device_work, "device work is in the file" if facts.device_work else "no device work")


@rule(r"^kernels run above the peak: no roof is drawn|so there is no rate|Open the files of all ranks|Avoid \.item|CUDA graphs, torch|More loader|Pinned memory|Fusing them|Look at what rank|^Fill in|^To record what is missing|^binds$|^then |^HFU|costs nothing worth naming|make room|^(memory|FLOPs|steps|steps, memory): |^FLOPs, of a PyTorch program|^Call the profiler's step|^Put a range round|^Record the program with its steps|^A memory snapshot has none|^Add a memory snapshot|^Open What-if|^All steps$|^Step \d+ · |_record_memory_history|^Traces recorded by Fourwalls|^Open the run's profile|^bus bandwidth|^Record the device|^\d+(\.\d+)? [kMG]?B$|^Choose")
def advice(match, claim, facts):
    if "profile_memory" in claim.words and facts.memory_in_file():
        return FALSE, facts.memory_in_file()
    return NO_CLAIM, ""


@rule(rf"^(?:the others wait for )?({fig.PERCENT}) of (?:step (\d+)|the whole trace) \(({fig.TIME})\)")
def finding(match, claim, facts):
    return facts.finding(claim.row, fig.share(match[1]), match[2], fig.time_ns(match[3]))


@rule(rf"^the longest gap takes ({fig.TIME})")
def longest_gap(match, claim, facts):
    return facts.longest_gap(fig.time_ns(match[1]))


@rule(r"^(?:The|Many|Communication|Transfers|Rank|Ranks|Copies|Memory|Values|Far|Pipeline|Few|Micro-batches|Experts)\b", "/heading")
def heading(match, claim, facts):
    return facts.heading(claim.words)


@rule(rf"^(?:calls|copies|kernels): (\d+)(?: per (?:step and )?rank| per step)?$|^(\d+) kernels?(?: per step| per rank| per step and rank)?$|launches cover ({fig.PERCENT})|^mostly |it comes last in (\d+) of (\d+)")
def finding_detail(match, claim, facts):
    return facts.detail(match, claim)


@rule(r"^(\S+) at (\S+):(\d+)$", "What (stands out|would help)")
def source_line(match, claim, facts):
    name = f"{match[2]}({match[3]}): {match[1]}"
    known = any(name in each for rank in facts.run.ranks for each in rank.ranges)
    return (TRUE if known else UNCHECKED), name if known else "no such function was read here"


@rule(r"[Nn]othing (in this trace )?is known to be work of a device, or of a job without one")
def threads_only(match, claim, facts):
    operators = any(c in rank.categories for rank in facts.run.ranks for c in ("cpu_op", "Operator", "kernel", "Kernel"))
    return verdict(not operators and not facts.device_work, "operators are in the file" if operators else "threads only")


@rule(r"What the device did then may not be in the file|since the start$")
def doubt(match, claim, facts):
    return NO_CLAIM, ""


@rule(rf"FLOPs known for ({fig.PERCENT}) of the matrix")
def covered_products(match, claim, facts):
    part = facts.covered()[1]
    raw = f"{fig.percent(part)} of the time in kernels of products"
    return (UNCHECKED, raw) if part is None else verdict(abs(fig.share(match[1]) - part) <= 0.03, raw)


@rule(r"^no device was recorded$")
def no_device(match, claim, facts):
    return verdict(not facts.device_work, "no work of a device" if not facts.device_work else "work of a device is in the file")


@rule(r"^the trace does not name its device$")
def unnamed(match, claim, facts):
    return verdict(not facts.run.devices(), ", ".join(facts.run.devices()) or "the file names none")


@rule(r"No training step is predicted: (no optimizer's step|no backward pass|neither a backward pass nor an optimizer's step) was found")
def no_training(match, claim, facts):
    has = {what: any(r.has.get(what) for r in facts.run.ranks) for what in ("backward", "optimizer")}
    raw = ", ".join(f"{'a' if seen else 'no'} {what}" for what, seen in has.items()) + " by the names of operators"
    if facts.run.only_memory():
        return MISLEADING, "a memory snapshot does not say what ran"
    wanted = {"no o": ("backward",), "no b": ("optimizer",), "neit": ()}[match[1][:4]]
    return verdict([what for what, seen in has.items() if seen] == list(wanted), raw)


@rule(r"No training step is predicted: a memory snapshot does not say what ran")
def only_memory(match, claim, facts):
    return verdict(facts.run.only_memory(), "a snapshot" if facts.run.only_memory() else "it is no snapshot")


@rule(r"say how much they compute, but no kernel is known to be theirs")
def unlinked_flops(match, claim, facts):
    known = sum(1 for r in facts.run.ranks for p in r.products if p[2])
    return verdict(known and not facts.flops_ran(), f"{known} products with shapes, {'some' if facts.flops_ran() else 'none'} launched a kernel of a product")


@rule(r"^Nothing is predicted: (?:too little|no rates are known of the device \((.*)\))|^Fill them in under What if|^For steps and kernels|prof = |prof\.|^profile the same run")
def no_prediction(match, claim, facts):
    known = match[1] and device_peaks.peaks_of(match[1])
    return (FALSE, "its data sheet is known") if known else (NO_CLAIM, "")


@rule(rf"^Nothing stands out(?: but the kernels, which run far below the peak)?: computation takes ({fig.PERCENT})")
def nothing_stands_out(match, claim, facts):
    if any(facts.share(key) and facts.share(key) > 0.06 for key in ("exposed_comm", "exposed_copy")):
        return FALSE, f"exposed {fig.percent(facts.share('exposed_comm'))}, copies {fig.percent(facts.share('exposed_copy'))}"
    return of_share(fig.share(match[1]), "compute", facts)


@rule(rf"^Computation takes ({fig.PERCENT}) of")
def computation_takes(match, claim, facts):
    return of_share(fig.share(match[1]), "compute", facts)


@rule(rf"^For ({fig.PERCENT}) the device is idle")
def idle_for(match, claim, facts):
    return of_share(fig.share(match[1]), "idle", facts)


@rule(r"^This step has no collectives; others")
def other_steps(match, claim, facts):
    counts = facts.collective_counts()
    inside = counts.get("kernels in the step", 0) + counts.get("requests in the step", 0)
    return verdict(not inside and counts["kernels"] + counts["requests"] > 0, ", ".join(f"{k} {v}" for k, v in counts.items()))


@rule(r"^no rate known for (\w+) on (.*)")
def no_rate(match, claim, facts):
    known = device_peaks.peaks_of(match[2].rstrip("…"))
    return (UNCHECKED, "no data sheet here") if known is None else verdict(match[1] not in known, ", ".join(known))


@rule(r"^shapes are known, but not which|^Shapes are known, but not which")
def not_linked(match, claim, facts):
    known = sum(1 for r in facts.run.ranks for p in r.products if p[2])
    return verdict(known and not facts.flops_ran(), f"{known} products with shapes")


@rule(r"in (\d+) operations?, no rank is late more often than by chance")
def nobody_late(match, claim, facts):
    found = facts.run.waiting(*(facts.window[1:] if facts.window else ())) or facts.run.waiting()
    return (UNCHECKED, "operations do not pair by position") if not found else (TRUE, f"last to arrive, by place: {dict(found['last'])}")


@rule(r"^the trace has (?:(\d+) of (\d+) ranks|rank \d+ of (\d+))")
def has_ranks(match, claim, facts):
    right = int(match[1] or 1) == len(facts.run.ranks) and int(match[2] or match[3]) == facts.run.world()
    return verdict(right, f"{len(facts.run.ranks)} of {facts.run.world()}")


@rule(r"no data ?sheet of (.*)")
def no_datasheet(match, claim, facts):
    known = device_peaks.peaks_of(match[1])
    return (MISLEADING if known else TRUE), "known here" if known else "none known here either"


@rule(rf"^({fig.PERCENT}) of the (?:step|trace) is computation")
def computation(match, claim, facts):
    return of_share(fig.share(match[1]), "compute", facts)


@rule(rf"^({fig.PERCENT}) between operators")
def between(match, claim, facts):
    return MISLEADING if any(r.kind == "chrome" for r in facts.run.ranks) else UNCHECKED, "no device: time in which no slice of a thread is open"


@rule(rf"({fig.PERCENT}) idle$")
def idle(match, claim, facts):
    return of_share(fig.share(match[1]), "idle", facts)


@rule(rf"({fig.PERCENT}) avoidable, most of it idle|({fig.PERCENT}) (?:avoidable, most in|lost to)")
def avoidable(match, claim, facts):
    shown, busy = fig.share(match[1] or match[2]), facts.share("compute")
    if busy is None:
        return facts.no_window()
    return verdict(shown <= 1 and shown >= -0.001 and (not match[1] or shown >= facts.share("idle") - 0.01), f"idle {fig.percent(facts.share('idle'))}, compute {fig.percent(busy)}")


@rule(r"no operator says how much it computes|No operator of this trace says|FLOPs or peak unknown|without FLOPs")
def no_flops(match, claim, facts):
    known = sum(1 for r in facts.run.ranks for p in r.products if p[2])
    if known and any(r.work for r in facts.run.ranks) and "peak" not in claim.words:
        return FALSE, f"{known} matrix products with shapes"
    return TRUE, f"{known} matrix products with shapes"


@rule(r"(does not say which network|Without a specification|a snapshot tells of memory only|memory snapshot|nothing can be predicted|^Without training steps|samples per step unknown|operators by time, bytes unknown|^this trace has no measured|Nothing in this trace tells|^No work of a device is in this trace|^Nothing is predicted: no machine among)")
def nothing_known(match, claim, facts):
    if "snapshot" in claim.words and "beside the trace" not in claim.words and not facts.run.only_memory():
        return FALSE, "it is no snapshot"
    if "no measured" in claim.words or claim.words.startswith("Without training"):
        return verdict(not facts.run.job_steps(), f"{len(facts.run.job_steps())} steps are marked")
    return TRUE, ""


@rule(r"^[Ii]nferred: (.*?)\.?$")
def inferred(match, claim, facts):
    return facts.inferred(match[1])


@rule(rf"({fig.PERCENT}|under 1 %) of ({fig.SIZE})")
def of_capacity(match, claim, facts):
    raw = {r.device_bytes for r in facts.run.ranks if r.device_bytes}
    if not raw:
        return FALSE, "the file does not say the device's memory"
    capacity = next(iter(raw))
    part = max(facts.peaks(), default=0) / capacity
    near = match[1] == "under 1 %" and part < 0.01 or match[1] != "under 1 %" and abs(fig.share(match[1]) - part) < 0.006
    return verdict(near and fig.near(fig.size_bytes(match[2]), capacity), f"{fig.percent(part)} of {fig.gigabytes(capacity)}")


@rule(rf"({fig.SIZE}) capacity")
def capacity(match, claim, facts):
    raw = [r.device_bytes for r in facts.run.ranks if r.device_bytes]
    return verdict(any(fig.near(fig.size_bytes(match[1]), v) for v in raw), ", ".join(map(fig.gigabytes, set(raw))) or "not in the file")


@rule(r"^(Memory|Communication|Performance|Tuning)$", "figures/The wall")
def wall(match, claim, facts):
    parts = {"Communication": facts.share("exposed_comm"), "Performance": (facts.share("idle") or 0) + (facts.share("compute") or 0)}
    raw = f"exposed communication {fig.percent(parts['Communication'])}, idle {fig.percent(facts.share('idle'))}, compute {fig.percent(facts.share('compute'))}"
    if match[1] in parts and parts[match[1]] is not None and facts.device_work and facts.share("idle") is not None:
        return verdict(parts[match[1]] >= 0.02, raw)
    if not facts.device_work:
        return verdict(parts[match[1]] >= 0.02, raw) if parts.get(match[1]) is not None else facts.no_window()
    return UNCHECKED, raw


@rule(r"^rank (\d+)$|^nothing is lost")
def named_rank(match, claim, facts):
    return TRUE, ""


@rule(r"^(\d+) slices?$", "status")
def slices(match, claim, facts):
    files = {r.path: r.slices for r in facts.run.ranks}
    raw = sum(files.values())
    raw += sum(r.pairs for r in facts.run.ranks)
    if facts.run.ranks[0].kind not in ("kineto", "chrome") or any(r.asynchronous for r in facts.run.ranks):
        return (TRUE if fig.near(int(match[1]), raw, 0.02, 3) else UNCHECKED), f"{raw} counted here, other rows than kernels, copies, calls and ranges left out"
    return verdict(fig.near(int(match[1]), raw, 0.02, 3), f"{raw}")


@rule(r"^(\d+) ranks?$", "status")
def rank_count(match, claim, facts):
    return verdict(int(match[1]) == len(facts.run.ranks), f"{len(facts.run.ranks)}")


@rule(r"^no steps$", "status")
def no_steps(match, claim, facts):
    return verdict(not facts.has_steps(), f"{max((len(s) for s in facts.run.steps.values()), default=0)} marked")


@rule(r"^(\d+) steps?$", "status")
def step_count(match, claim, facts):
    steps = max((len(s) for s in facts.run.steps.values()), default=0)
    if not steps and facts.claimed:
        return verdict(int(match[1]) == len(facts.claimed), facts.steps_repeat()[1])
    if not steps:
        return verdict(int(match[1]) == 0, "no marks of steps")
    return verdict(int(match[1]) == steps, f"{steps} marked")


@rule(r"complete$|ends early|recovered|cut$", "status")
def completeness(match, claim, facts):
    cut = next((r.cut for r in facts.run.ranks if r.cut), None)
    said_complete = "complete" in claim.words and "not" not in claim.words
    if said_complete:
        return verdict(not cut, cut or "the file ends as it should")
    if "ends early" in claim.words:
        return verdict(bool(cut) or facts.left_open(), cut or "the list of events has no end" if facts.left_open() else "the file ends as it should")
    if facts.left_open():
        return TRUE, "the list of events has no end"
    unread = next((r.unread for r in facts.run.ranks if r.unread), None)
    return (TRUE, cut or unread) if cut or unread else (UNCHECKED, "the file itself ends as it should")


@rule(r"^(dropped|repaired|skipped) (\d+)|^opened in|^[\d.]+ MB$|clocks? |wall clock|^(device|predicted) clock", "status|chips")
def bookkeeping(match, claim, facts):
    return NO_CLAIM, ""


@rule(r"^(?:(\d+) × )?(.+)$", "chips")
def chip(match, claim, facts):
    devices = facts.run.devices()
    if match[2] in ("CPU", "accelerator", "Ascend NPU") and not devices:
        gpu = match[2] == "CPU" and any(r.work for r in facts.run.ranks)
        return (FALSE if gpu else TRUE), "work of a device is in the file" if gpu else "the file names no device"
    if match[2] in devices:
        return verdict(int(match[1] or 1) == devices[match[2]], f"{devices[match[2]]} × {match[2]}")
    if re.match(r"(rank \d+ of|recorded|predicted|synthetic)", claim.words):
        return UNCHECKED, ""
    return (FALSE, f"the file names {', '.join(devices) or 'no device'}") if match[1] else (UNCHECKED, ", ".join(devices))
