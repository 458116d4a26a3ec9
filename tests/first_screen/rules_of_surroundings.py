# SPDX-License-Identifier: Apache-2.0
"""The status line and the chips: how much was read, whether it is complete, and of which devices."""
import re

import screen_figures as fig
from rule_book import rule, verdict
from screen_facts import FALSE, NO_CLAIM, TRUE, UNCHECKED


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
