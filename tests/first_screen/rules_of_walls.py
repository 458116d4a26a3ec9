# SPDX-License-Identifier: Apache-2.0
"""What the four walls say of a trace, and what cannot be said of it."""
import device_peaks
import screen_figures as fig
from rule_book import of_share, rule, verdict
from screen_facts import FALSE, MISLEADING, NO_CLAIM, TRUE, UNCHECKED


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
