# SPDX-License-Identifier: Apache-2.0
"""The key figures, the steps that they are of, and the bars of the waterfall."""
import re

import device_peaks
import screen_figures as fig
from rule_book import of_share, rule, verdict
from screen_facts import FALSE, NO_CLAIM, TRUE, UNCHECKED


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
